//! The Deadlock Breaker's release (CLCM paper, section 3.3): for a while only the loop's frames leave by an egress, and
//! their ingress buffer has room for one more frame.

use crate::command::CommandError;
use crate::event::EventKind;
use crate::switch::virtual_queues::ReleaseRule;
use crate::switch::Switch;
use crate::units::{Bytes, Instant, PortId, Priority};

impl Switch {
    pub(in crate::switch) fn release(
        &mut self,
        now: Instant,
        ingress: PortId,
        egress: PortId,
        priority: Priority,
        [exclusive_until, until]: [Instant; 2],
        extra: Bytes,
    ) -> Result<(), CommandError> {
        self.port_mut(ingress)?;
        self.port_mut(egress)?;
        if self.with_levels.contains(priority) {
            self.check_loan(ingress, priority)?;
        } else {
            self.check_releasable(priority)?;
        }
        let past = self.port_mut(egress)?.egress[priority.index()].make_way(ingress);
        self.tell_release_ended(now, egress, priority, past);
        let out = self.port_mut(egress)?;
        let is_new = out.egress[priority.index()]
            .install_release(ingress, exclusive_until, until)
            .map_err(|holder| CommandError::ReleaseConflict {
                egress,
                priority,
                holder,
            })?;
        if is_new {
            out.counters.priority[priority.index()].releases += 1;
            self.push_event(
                now,
                EventKind::ReleaseStarted {
                    ingress,
                    egress,
                    priority,
                },
            );
        }
        self.lend_level(ingress, priority, exclusive_until);
        let extra = extra
            .max(self.config.frame_length_max)
            .round_up_to(self.config.cell);
        #[cfg(feature = "testing")]
        let extra = self.extra_of_release(extra);
        let change = self.ports[ingress.index()].ingress[priority.index()].raise(
            extra,
            exclusive_until,
            &mut self.pools,
        );
        self.note_pause_change(ingress, priority, change);
        self.lend_credits(ingress, priority);
        Ok(())
    }

    pub(in crate::switch) fn end_release(
        &mut self,
        now: Instant,
        port: PortId,
        priority: Priority,
    ) {
        let state = &mut self.ports[port.index()];
        let ended = state.egress[priority.index()].expire_release(now);
        let change = state.ingress[priority.index()].expire_raise(now, &mut self.pools);
        self.note_pause_change(port, priority, change);
        self.end_loan(now, port, priority);
        self.tell_release_ended(now, port, priority, ended);
    }

    pub(in crate::switch) fn tell_release_ended(
        &mut self,
        now: Instant,
        egress: PortId,
        priority: Priority,
        ended: Option<ReleaseRule>,
    ) {
        if let Some(rule) = ended {
            self.push_event(
                now,
                EventKind::ReleaseEnded {
                    ingress: rule.ingress,
                    egress,
                    priority,
                    released: rule.released,
                },
            );
        }
    }
}
