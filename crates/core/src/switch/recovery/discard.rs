//! Frames that are dropped after admission: before they wait, or in their queue.

use super::Outage;
use crate::counters::DropReason;
use crate::frame::{Discarded, FrameHandle};
use crate::switch::port::Port;
use crate::switch::virtual_queues::{Gate, Place};
use crate::switch::Switch;
use crate::units::{Bytes, Instant, PortId, Priority};

impl Switch {
    /// Returns a frame that was dropped in its queue: its handle is the caller's again, and is not passed to
    /// [`complete`](Self::complete).
    ///
    /// Call until `None` after [`handle_timeout`](Self::handle_timeout), [`apply`](Self::apply) and
    /// [`receive`](Self::receive): timers, commands and addresses that move drop frames. Otherwise the caller runs out
    /// of handles.
    #[must_use = "the handle is the caller's again"]
    pub fn poll_discarded(&mut self) -> Option<Discarded> {
        self.discarded.pop_front()
    }

    /// Drops the next frame of (`egress`, `priority`), even if it is blocked; returns false if none waits. O(1).
    pub(in crate::switch) fn drop_head(
        &mut self,
        now: Instant,
        egress: PortId,
        priority: Priority,
        reason: DropReason,
    ) -> bool {
        self.drop_head_through(now, egress, priority, Gate::ALL, reason)
    }

    /// Drops the next frame among those that `gate` lets leave.
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
        self.count_data_drop(departure.ingress, priority, reason);
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

impl Switch {
    /// The reason why a frame from `ingress` for `egress` is dropped on arrival, if it is.
    #[inline(always)]
    pub(in crate::switch) fn refusal(
        &self,
        ingress: PortId,
        egress: PortId,
        priority: Priority,
    ) -> Option<DropReason> {
        let state = &self.ports[egress.index()];
        debug_assert_eq!(
            state.refuses.contains(priority),
            state.may_refuse(priority),
            "settled after every change"
        );
        if state.refuses.contains(priority) {
            self.why_refused(ingress, egress, priority)
        } else {
            None
        }
    }

    #[cold]
    fn why_refused(
        &self,
        ingress: PortId,
        egress: PortId,
        priority: Priority,
    ) -> Option<DropReason> {
        let reason = self.ports[egress.index()].why_refused(priority);
        reason.or_else(|| {
            self.crowds_others(ingress, egress, priority)
                .then_some(DropReason::PortDown)
        })
    }

    /// Drops the frame at the front of a virtual queue; returns false if it is empty. O(1).
    pub(super) fn drop_front(&mut self, now: Instant, place: &Place, reason: DropReason) -> bool {
        let front = self.queues.front(place);
        let dropped = front.is_some_and(|handle| self.take_if_front(now, place, handle, reason));
        if dropped {
            self.count_data_drop(place.ingress, place.priority, reason);
        }
        dropped
    }

    /// Drops `handle` if it is at the front of its virtual queue. The caller counts the drop at the ingress port.
    pub(super) fn take_if_front(
        &mut self,
        now: Instant,
        place: &Place,
        handle: FrameHandle,
        reason: DropReason,
    ) -> bool {
        let Some(length) = self.queues.remove_front(place, handle) else {
            return false;
        };
        let (egress, priority) = (place.egress, place.priority);
        let state = &mut self.ports[egress.index()];
        state.heads[priority.index()].note_first(now);
        if state.egress[priority.index()].note_discard(Bytes::new(u64::from(length))) {
            self.note_empty(egress, priority);
        }
        if let Some(handle) = self.complete(now, egress, handle) {
            self.discarded.push_back(Discarded {
                handle,
                ingress: place.ingress,
                priority,
                reason,
            });
        }
        true
    }
}

impl Port {
    /// The reason why all frames for this egress are dropped on arrival, if they are.
    #[cold]
    pub(in crate::switch) fn why_refused(&self, priority: Priority) -> Option<DropReason> {
        if self.storms.drops(priority) {
            Some(DropReason::Storm)
        } else if self.heads[priority.index()].is_stalled() {
            Some(DropReason::Lifetime)
        } else if self.gone || self.takes_no_more() {
            Some(DropReason::PortDown)
        } else {
            None
        }
    }

    /// Returns true if its link has been down for too long, or its transmitter is stuck.
    pub(in crate::switch) fn takes_no_more(&self) -> bool {
        self.stuck || self.outage == Outage::Over
    }

    /// Returns true while frames for this egress may be dropped on arrival: see [`settle_arrivals`](Self::settle_arrivals).
    #[cold]
    pub(in crate::switch) fn may_refuse(&self, priority: Priority) -> bool {
        self.outage != Outage::None || self.why_refused(priority).is_some()
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
