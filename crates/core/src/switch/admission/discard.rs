//! Frames that are dropped at their egress: on arrival, or in their queue. A dropped frame gives its charge back.

use crate::counters::DropReason;
use crate::frame::{Discarded, FrameHandle};
use crate::switch::port::Port;
use crate::switch::virtual_queues::{Gate, Place};
use crate::switch::Switch;
use crate::units::{Bytes, Instant, MacAddress, PortId, Priority};

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
        egress: PortId,
        priority: Priority,
        reason: DropReason,
    ) -> bool {
        self.drop_head_through(egress, priority, Gate::ALL, reason)
    }

    /// Drops the next frame among those that `gate` lets leave.
    pub(in crate::switch) fn drop_head_through(
        &mut self,
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
        if let Some(handle) = self.complete(departure.handle) {
            self.discarded.push_back(Discarded {
                handle,
                ingress: departure.ingress,
                priority,
                reason,
            });
        }
        true
    }

    /// The reason why a frame from `ingress` for `egress` is dropped on arrival, if it is.
    #[inline(always)]
    pub(in crate::switch) fn refusal(
        &self,
        ingress: PortId,
        egress: PortId,
        priority: Priority,
    ) -> Option<DropReason> {
        let state = &self.ports[egress.index()];
        debug_assert!(state.is_settled(priority), "settled after every change");
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
        let crowded = || {
            self.crowds_others(ingress, priority)
                .then_some(DropReason::PortDown)
        };
        self.ports[egress.index()].refusals[priority.index()].or_else(crowded)
    }

    /// Returns true if a lossy frame from `ingress` for a link that is down would take room from frames for other
    /// ports.
    #[cold]
    pub(in crate::switch) fn crowds_others(&self, ingress: PortId, priority: Priority) -> bool {
        let buffer = &self.ports[ingress.index()].ingress[priority.index()];
        !self.lossless.contains(priority) && buffer.is_half_full(&self.pools)
    }

    /// Drops the frames for `address` that wait at a port whose link is down: the address has moved to another port. If
    /// the link is up they simply leave. O(frames), and O(ports × priorities).
    #[cold]
    pub(super) fn drop_moved(&mut self, now: Instant, egress: PortId, address: MacAddress) {
        let state = &self.ports[egress.index()];
        if state.up {
            return;
        }
        for priority in state.waiting.iter() {
            for ingress in (0..self.ports.len()).filter_map(PortId::from_index) {
                let place = Place {
                    egress,
                    priority,
                    ingress,
                    destination: address.to_u64(),
                };
                while self.drop_front(now, &place, DropReason::PortDown) {}
            }
        }
    }

    /// Notes that an egress has dropped its last frame.
    fn note_empty(&mut self, egress: PortId, priority: Priority) {
        self.ports[egress.index()].waiting.remove(priority);
        if self.lossless.contains(priority) {
            self.backlogged.end();
        }
    }

    /// Drops the frame at the front of a virtual queue; returns false if it is empty. O(1).
    fn drop_front(&mut self, now: Instant, place: &Place, reason: DropReason) -> bool {
        let front = self.queues.front(place);
        let dropped = front.is_some_and(|handle| self.take_if_front(now, place, handle, reason));
        if dropped {
            self.count_data_drop(place.ingress, place.priority, reason);
        }
        dropped
    }

    /// Drops `handle` if it is at the front of its virtual queue. The caller counts the drop at the ingress port.
    pub(in crate::switch) fn take_if_front(
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
        if let Some(handle) = self.complete(handle) {
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
    /// Counts a copy that was dropped at or before this egress.
    #[cold]
    pub(super) fn count_egress_drop(&mut self, priority: Priority, reason: DropReason) {
        let counters = &mut self.counters.priority[priority.index()];
        match reason {
            DropReason::Storm => counters.storm_dropped += 1,
            DropReason::Lifetime => counters.lifetime_dropped += 1,
            _ => {}
        }
    }
}
