//! Beginnings and ends of pauses in both directions, and their causes.

use weir_core::switch::PauseGauges;
use weir_core::{Instant, PortId, Priority};
use weir_recording::timeline::Way;

use super::log::{Log, LogEntry};
use super::Network;

/// Maximum number of recorded beginnings and ends.
pub const PAUSES_MAX: usize = 500_000;

/// A pause of one (port, priority) in one direction has begun, or was ended by a resume. An expiry appears only in the
/// gauges of the next reading.
#[derive(Clone, Copy, Debug)]
pub struct Pause {
    /// The port.
    pub port: PortId,
    /// The priority.
    pub priority: Priority,
    /// The direction.
    pub way: Way,
    /// The switch's gauges of it.
    pub gauges: PauseGauges,
    /// Arrival at the neighbour of a pause that was sent.
    pub arrives: Option<Instant>,
    /// Port whose received pause filled the ingress buffer for which this pause was sent: of the ports paused at the
    /// priority, the one for which most frames of the buffer wait. `None` if none is paused: then the buffer fills because
    /// more arrives than leaves.
    pub cause: Option<PortId>,
}

impl Network {
    /// Records pauses from now on.
    pub(crate) fn record_pauses(&mut self) {
        self.pauses = Some(Log::new(PAUSES_MAX));
    }

    /// Recorded beginnings and ends of pauses.
    pub fn pauses(&self) -> &[LogEntry<Pause>] {
        self.pauses.as_ref().map_or(&[], Log::entries)
    }

    /// Beginnings and ends that were not recorded, since there were too many.
    pub fn pauses_overflow(&self) -> u64 {
        self.pauses.as_ref().map_or(0, Log::overflow)
    }

    /// A MAC control frame was received by `port`, or sent, and then reaches the neighbour at `arrives`.
    pub(super) fn note_pauses(&mut self, node: usize, port: PortId, arrives: Option<Instant>) {
        let Some(log) = &mut self.pauses else { return };
        let (now, switch) = (self.now, &self.nodes[node].switch);
        for priority in Priority::ALL {
            let gauges = switch.gauges(now, port, priority);
            // With Levels, control frames in the form of a pause are Feedback.
            if gauges.levels.is_some() {
                continue;
            }
            let (way, gauges) = match arrives {
                Some(_) => (Way::Sent, gauges.pauses_sent),
                None => (Way::Received, gauges.pauses_received),
            };
            let begins = gauges.active && gauges.last_began == Some(now);
            let ends = !gauges.active && gauges.last_ended == Some(now);
            if !begins && !ends {
                continue;
            }
            let ports = (0..switch.config().ports.len()).filter_map(PortId::from_index);
            let paused = ports.filter(|egress| {
                begins && way == Way::Sent && switch.gauges(now, *egress, priority).paused
            });
            let waiting =
                paused.map(|egress| (switch.waiting_between(port, egress, priority), egress));
            let most = waiting
                .filter(|(frames, _)| *frames > 0)
                .max_by_key(|(frames, egress)| (*frames, std::cmp::Reverse(*egress)));
            let pause = Pause {
                port,
                priority,
                way,
                gauges,
                arrives,
                cause: most.map(|(_, egress)| egress),
            };
            log.add(now, node, pause);
        }
    }
}
