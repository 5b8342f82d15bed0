//! Frames of classes with an age limit, by the time of arrival.

use crate::frame::{Frame, FrameHandle};
use crate::switch::records::Records;
use crate::switch::Switch;
use crate::units::{Duration, Instant, MacAddress, PortId, Priority, PRIORITY_COUNT};

const NIL: u32 = u32::MAX;

/// A frame above its age limit, and where it may wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::switch) struct Expired {
    pub(in crate::switch) handle: FrameHandle,
    pub(in crate::switch) destination: MacAddress,
    /// `None` for a flooded frame, which may wait at any port.
    pub(in crate::switch) egress: Option<PortId>,
}

#[derive(Clone, Copy, Debug)]
struct Slot {
    since: Instant,
    destination: MacAddress,
    egress: Option<PortId>,
    /// Neighbours in the list of its priority; in no list while `priority` is `None`.
    priority: Option<Priority>,
    older: u32,
    newer: u32,
}

#[derive(Clone, Copy, Debug)]
struct List {
    limit: Option<Duration>,
    oldest: u32,
    newest: u32,
}

/// One list for each priority, oldest frame first. All operations are O(1).
#[derive(Debug)]
#[cfg_attr(feature = "testing", derive(Clone))]
pub(in crate::switch) struct Ages {
    lists: [List; PRIORITY_COUNT],
    slots: Records<Slot>,
}

impl Ages {
    /// Uses no memory if no class has a limit.
    pub(in crate::switch) fn new(
        limits: [Option<Duration>; PRIORITY_COUNT],
        frame_count: usize,
    ) -> Self {
        let any = limits.iter().any(Option::is_some);
        let slot = Slot {
            since: Instant::ZERO,
            destination: MacAddress::default(),
            egress: None,
            priority: None,
            older: NIL,
            newer: NIL,
        };
        Self {
            lists: limits.map(|limit| List {
                limit,
                oldest: NIL,
                newest: NIL,
            }),
            slots: Records::new(if any { frame_count } else { 0 }, slot),
        }
    }

    /// Returns true if a class has a limit.
    #[inline]
    pub(in crate::switch) fn is_on(&self) -> bool {
        self.slots.capacity() > 0
    }

    pub(in crate::switch) fn touch(&mut self) {
        self.slots.touch();
    }

    /// Adds an arriving frame; does nothing for a class without a limit.
    pub(in crate::switch) fn enter(
        &mut self,
        now: Instant,
        priority: Priority,
        handle: FrameHandle,
        destination: MacAddress,
        egress: Option<PortId>,
    ) {
        let list = &mut self.lists[priority.index()];
        if list.limit.is_none() {
            return;
        }
        let Some(slot) = self.slots.reach(handle.index()) else {
            return;
        };
        debug_assert!(slot.priority.is_none(), "a frame enters twice");
        *slot = Slot {
            since: now,
            destination,
            egress,
            priority: Some(priority),
            older: list.newest,
            newer: NIL,
        };
        match self.slots.get_mut(list.newest as usize) {
            Some(before) => before.newer = handle.0,
            None => list.oldest = handle.0,
        }
        list.newest = handle.0;
    }

    /// Removes a frame that has left the switch, or is about to.
    #[inline(never)]
    pub(in crate::switch) fn leave(&mut self, handle: FrameHandle) {
        let Some(slot) = self.slots.get_mut(handle.index()) else {
            return;
        };
        let Some(priority) = slot.priority.take() else {
            return;
        };
        let (older, newer) = (slot.older, slot.newer);
        let list = &mut self.lists[priority.index()];
        match self.slots.get_mut(older as usize) {
            Some(before) => before.newer = newer,
            None => list.oldest = newer,
        }
        match self.slots.get_mut(newer as usize) {
            Some(after) => after.older = older,
            None => list.newest = older,
        }
    }

    /// The time at which the next frame reaches its limit. O(priorities).
    pub(in crate::switch) fn next(&self) -> Option<Instant> {
        if !self.is_on() {
            return None;
        }
        self.lists
            .iter()
            .filter_map(|list| Some(self.slots.get(list.oldest as usize)?.since + list.limit?))
            .min()
    }

    /// Takes one frame of `priority` that has waited for its limit or longer.
    pub(in crate::switch) fn take_expired(
        &mut self,
        now: Instant,
        priority: Priority,
    ) -> Option<Expired> {
        let list = &self.lists[priority.index()];
        let (limit, oldest) = (list.limit?, list.oldest);
        let slot = self.slots.get(oldest as usize)?;
        if slot.since + limit > now {
            return None;
        }
        let expired = Expired {
            handle: FrameHandle(oldest),
            destination: slot.destination,
            egress: slot.egress,
        };
        self.leave(expired.handle);
        Some(expired)
    }
}

impl Switch {
    /// Notes the age of an admitted frame; `only` is its one egress port.
    pub(in crate::switch) fn note_age(
        &mut self,
        now: Instant,
        frame: &Frame,
        only: Option<PortId>,
    ) {
        if !self.ages.is_on() {
            return;
        }
        self.ages
            .enter(now, frame.priority, frame.handle, frame.destination, only);
        if self.ages.next().is_some() {
            self.ready.note_timers();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const P3: Priority = Priority::ALL[3];
    const LIMIT: Duration = Duration::from_millis(10);

    fn at(millis: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(millis)
    }

    fn ages() -> Ages {
        let mut limits = [None; PRIORITY_COUNT];
        limits[P3.index()] = Some(LIMIT);
        Ages::new(limits, 8)
    }

    fn enter(ages: &mut Ages, millis: u64, handle: u32) {
        let egress = Some(PortId::new(1));
        ages.enter(
            at(millis),
            P3,
            FrameHandle(handle),
            MacAddress::default(),
            egress,
        );
    }

    #[test]
    fn frames_expire_in_the_order_they_came() {
        let mut ages = ages();
        assert_eq!(ages.next(), None);
        for handle in [3, 1, 5] {
            enter(&mut ages, u64::from(handle) + 10, handle);
        }
        // Entered out of handle order; the list keeps the order of entry.
        ages.leave(FrameHandle(1));
        assert_eq!(ages.next(), Some(at(23)));
        assert_eq!(ages.take_expired(at(22), P3), None);
        let expired: Vec<u32> = std::iter::from_fn(|| ages.take_expired(at(30), P3))
            .map(|expired| expired.handle.0)
            .collect();
        assert_eq!(expired, [3, 5]);
        assert_eq!(ages.next(), None);
        enter(&mut ages, 40, 3);
        ages.leave(FrameHandle(3));
        ages.leave(FrameHandle(3));
        assert_eq!(ages.next(), None);
    }

    #[test]
    fn classes_without_a_limit_are_not_watched() {
        let mut ages = ages();
        ages.enter(
            at(0),
            Priority::ALL[4],
            FrameHandle(1),
            MacAddress::default(),
            None,
        );
        assert_eq!(ages.next(), None);
        assert_eq!(ages.take_expired(at(1000), Priority::ALL[4]), None);
    }
}
