//! The Loop Breaker's traffic release (CLCM paper, section 3.2.3): frames of the loop leave although the neighbour
//! pauses them, up to a given amount.

use crate::command::CommandError;
use crate::event::EventKind;
use crate::switch::Switch;
use crate::units::{Bytes, Duration, Instant, PortId, Priority};

impl Switch {
    pub(in crate::switch) fn begin_traffic_release(
        &mut self,
        now: Instant,
        ingress: PortId,
        egress: PortId,
        priority: Priority,
        amount: Bytes,
        period: Duration,
    ) -> Result<(), CommandError> {
        self.check_releasable(priority)?;
        self.port_mut(ingress)?;
        if self.port_mut(egress)?.sends_by_credits(priority) {
            return Err(CommandError::HasCredits(priority, egress));
        }
        self.end_traffic_release(now, egress, priority, false);
        let state = self.port_mut(egress)?;
        state.forced.insert(priority);
        state.settle_departures();
        state.egress[priority.index()].force(ingress, amount, now + period);
        Ok(())
    }

    /// Ends those of `port` that are complete, expired, or unnecessary because the pause is over.
    #[cold]
    #[inline(never)]
    pub(in crate::switch) fn end_traffic_releases(&mut self, now: Instant, port: PortId) {
        let forced = self.ports[port.index()].forced;
        for priority in forced.iter() {
            let state = &self.ports[port.index()];
            let paused = state.pause_received.is_paused(now, priority);
            self.end_traffic_release(now, port, priority, paused);
        }
    }

    pub(in crate::switch) fn end_traffic_release(
        &mut self,
        now: Instant,
        egress: PortId,
        priority: Priority,
        needed: bool,
    ) {
        let state = &mut self.ports[egress.index()];
        if let Some(forced) = state.egress[priority.index()].expire_forced(now, needed) {
            state.forced.remove(priority);
            state.settle_departures();
            self.push_event(
                now,
                EventKind::TrafficReleaseEnded {
                    ingress: forced.ingress,
                    egress,
                    priority,
                    released: forced.released,
                },
            );
        }
    }
}
