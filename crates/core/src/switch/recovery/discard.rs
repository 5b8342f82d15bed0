//! Frames that are given up: before they wait, or where they wait.

use super::Outage;
use crate::counters::DropReason;
use crate::frame::{Discarded, FrameHandle};
use crate::switch::port::Port;
use crate::switch::virtual_queues::{Gate, Place};
use crate::switch::Switch;
use crate::units::{Bytes, Instant, PortId, Priority};

impl Switch {
    /// A frame that the switch has given up where it waited: its handle is the caller's again, and it does not come by
    /// [`complete`](Self::complete).
    ///
    /// To be asked until it gives `None` after [`handle_timeout`](Self::handle_timeout), [`apply`](Self::apply) and
    /// [`receive`](Self::receive): time gives up frames, and so do commands and addresses that move. A caller that forgets it
    /// runs out of handles.
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
    /// Why a frame from `ingress` for `egress` is dropped on arrival, if it is.
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

    /// Drops the frame at the front of a virtual queue; false when it holds none. O(1).
    pub(super) fn drop_front(&mut self, now: Instant, place: &Place, reason: DropReason) -> bool {
        let front = self.queues.front(place);
        let dropped = front.is_some_and(|handle| self.take_if_front(now, place, handle, reason));
        if dropped {
            self.count_data_drop(place.ingress, place.priority, reason);
        }
        dropped
    }

    /// Drops `handle` where it is at the front of its virtual queue. The drop is counted at its ingress port by the
    /// caller.
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
    /// Why all frames for this egress are dropped on arrival, if they are.
    #[cold]
    pub(in crate::switch) fn why_refused(&self, priority: Priority) -> Option<DropReason> {
        if self.storms.drops(priority) {
            Some(DropReason::Storm)
        } else if self.heads[priority.index()].is_stalled() {
            Some(DropReason::Lifetime)
        } else if self.gone || self.stuck || self.outage == Outage::Over {
            Some(DropReason::PortDown)
        } else {
            None
        }
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
