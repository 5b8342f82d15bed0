//! Frames that are given up: before they wait, or where they wait.

use crate::counters::DropReason;
use crate::frame::Discarded;
use crate::switch::port::Port;
use crate::switch::virtual_queues::Gate;
use crate::switch::Switch;
use crate::units::{Bytes, Instant, PortId, Priority};

impl Switch {
    /// A frame that the switch has given up where it waited: its handle is the caller's again, and it does not come by
    /// [`complete`](Self::complete).
    ///
    /// To be asked until it gives `None` after [`handle_timeout`](Self::handle_timeout) and after
    /// [`apply`](Self::apply): time gives up frames, and so do commands. A caller that forgets it runs out of handles.
    #[must_use = "the handle is the caller's again"]
    pub fn poll_discarded(&mut self) -> Option<Discarded> {
        self.discarded.pop_front()
    }

    /// Drops the frame of (`egress`, `priority`) whose turn it is, whatever holds it; false when none
    /// waits. O(1).
    pub(in crate::switch) fn drop_head(
        &mut self,
        now: Instant,
        egress: PortId,
        priority: Priority,
        reason: DropReason,
    ) -> bool {
        self.drop_head_through(now, egress, priority, Gate::ALL, reason)
    }

    /// The same for the frame whose turn it is among those that `gate` lets out.
    pub(super) fn drop_head_through(
        &mut self,
        now: Instant,
        egress: PortId,
        priority: Priority,
        gate: Gate,
        reason: DropReason,
    ) -> bool {
        let Some(departure) = self.queues.pop(egress, priority, gate) else {
            return false;
        };
        let state = &mut self.ports[egress.index()];
        state.count_egress_drop(priority, reason);
        let length = Bytes::new(u64::from(departure.length_bytes));
        if state.egress[priority.index()].note_discard(length) {
            self.note_empty(egress, priority);
        }
        self.count_drop(departure.ingress, reason);
        if let Some(handle) = self.complete(now, egress, departure.handle) {
            self.discarded.push_back(Discarded {
                handle,
                ingress: departure.ingress,
                priority,
                reason,
            });
        }
        true
    }
}

impl Port {
    /// Why frames for this egress are dropped on arrival, if they are.
    #[inline]
    pub(in crate::switch) fn refusal(&self, priority: Priority) -> Option<DropReason> {
        debug_assert_eq!(
            self.refuses.contains(priority),
            self.why_refused(priority).is_some(),
            "settled after every change"
        );
        if self.refuses.contains(priority) {
            self.why_refused(priority)
        } else {
            None
        }
    }

    /// The same from what it follows from: see [`settle_arrivals`](Self::settle_arrivals).
    #[cold]
    pub(in crate::switch) fn why_refused(&self, priority: Priority) -> Option<DropReason> {
        if self.storms.drops(priority) {
            Some(DropReason::Storm)
        } else if self.heads[priority.index()].is_stalled() {
            Some(DropReason::Lifetime)
        } else if self.gone {
            Some(DropReason::PortDown)
        } else {
            None
        }
    }

    /// Counts a copy that was dropped at or before this egress.
    #[cold]
    pub(in crate::switch) fn count_egress_drop(&mut self, priority: Priority, reason: DropReason) {
        let counters = &mut self.counters.priority[priority.index()];
        match reason {
            DropReason::Storm => counters.storm_dropped += 1,
            DropReason::Lifetime => counters.lifetime_dropped += 1,
            _ => {}
        }
    }
}
