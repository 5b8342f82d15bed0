//! Compact sample of a switch's lossless classes at one moment, without names.

use std::sync::Arc;

use weir_api::daemon::{FlightLevels, FlightPortSample};
use weir_core::switch::PriorityGauges;
use weir_core::{Bytes, Instant, PortId, Priority};
use weir_dataplane::messages::{PortSnapshot, Snapshot};

use crate::control::info::SwitchInfo;

/// One sample.
#[derive(Clone, Debug)]
pub struct Sample {
    /// When the dataplane took it.
    pub at: Instant,
    pub(super) held_frames: u64,
    priorities: Vec<(Priority, Arc<[PortState]>)>,
}

/// State of one port and priority; sizes above 4 GiB, which no buffer reaches, are clipped.
#[derive(Clone, Debug)]
pub(super) struct PortState {
    ingress: u32,
    egress: u32,
    xoff: u32,
    xon: u32,
    tx_bytes: u64,
    forced_bytes: u64,
    release_ingress: Option<PortId>,
    levels: Option<Levels>,
    pausing: bool,
    paused: bool,
    suspected: bool,
}

#[derive(Clone, Copy, Debug)]
struct Levels {
    sent: u8,
    received: u8,
    held: u32,
}

impl Sample {
    /// Samples the lossless classes of `snapshot`. O(ports) for each class.
    pub fn new(info: &SwitchInfo, snapshot: &Snapshot) -> Self {
        let of = |priority| {
            snapshot
                .ports
                .iter()
                .map(|port| PortState::new(port, priority))
                .collect()
        };
        Self {
            at: snapshot.at,
            held_frames: snapshot.held_frames,
            priorities: info
                .lossless()
                .map(|priority| (priority, of(priority)))
                .collect(),
        }
    }

    /// Returns the states of all ports in one priority; `None` for a lossy class.
    pub(super) fn of(&self, priority: Priority) -> Option<&Arc<[PortState]>> {
        self.priorities
            .iter()
            .find(|(of, _)| *of == priority)
            .map(|(_, states)| states)
    }
}

impl PortState {
    fn new(port: &PortSnapshot, priority: Priority) -> Self {
        let gauges: &PriorityGauges = &port.gauges[priority.index()];
        let counters = &port.counters.priority[priority.index()];
        Self {
            ingress: cut(gauges.ingress),
            egress: cut(gauges.egress),
            xoff: cut(gauges.xoff),
            xon: cut(gauges.xon),
            tx_bytes: counters.tx_bytes,
            forced_bytes: counters.forced_bytes,
            release_ingress: gauges.release_ingress,
            levels: gauges.levels.as_ref().map(|levels| Levels {
                sent: levels.feedback_sent.get(),
                received: levels.feedback_received.get(),
                held: cut(levels.held),
            }),
            pausing: gauges.pausing,
            paused: gauges.paused,
            suspected: gauges.suspected,
        }
    }

    pub(super) fn is_busy(&self) -> bool {
        self.ingress > 0
            || self.egress > 0
            || self.pausing
            || self.paused
            || self.suspected
            || self.release_ingress.is_some()
    }

    pub(super) fn to_api(&self, info: &SwitchInfo) -> FlightPortSample {
        FlightPortSample {
            ingress_bytes: self.ingress.into(),
            egress_bytes: self.egress.into(),
            xoff_bytes: self.xoff.into(),
            xon_bytes: self.xon.into(),
            tx_bytes_total: self.tx_bytes,
            forced_bytes_total: self.forced_bytes,
            pausing: self.pausing,
            paused: self.paused,
            suspected: self.suspected,
            release_ingress: self.release_ingress.map(|port| info.port_name(port)),
            levels: self.levels.map(|levels| FlightLevels {
                feedback_sent: levels.sent,
                feedback_received: levels.received,
                held_bytes: levels.held.into(),
            }),
        }
    }
}

fn cut(bytes: Bytes) -> u32 {
    u32::try_from(bytes.get()).unwrap_or(u32::MAX)
}
