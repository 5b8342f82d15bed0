//! Later events of one place: millions of flows may begin at some time, each examined only then.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::Entry;

/// Entries by time, then by order of pushing. Pushing and taking are O(log entries).
#[derive(Debug)]
pub(super) struct Far<T> {
    heap: BinaryHeap<Reverse<Ranked<T>>>,
    /// Time of the first one: each turn reads it, and the heap is elsewhere in memory.
    first: u64,
    /// Entries pushed so far.
    pushed: u64,
}

/// An entry and the number of those pushed before.
#[derive(Debug)]
struct Ranked<T> {
    entry: Entry<T>,
    number: u64,
}

impl<T> Far<T> {
    pub(super) const fn new() -> Self {
        Self {
            heap: BinaryHeap::new(),
            first: u64::MAX,
            pushed: 0,
        }
    }

    #[inline]
    pub(super) fn push(&mut self, entry: Entry<T>) {
        let number = self.pushed;
        self.pushed += 1;
        self.first = self.first.min(entry.at);
        self.heap.push(Reverse(Ranked { entry, number }));
    }

    /// Time of the first one; the end of time if there is none.
    #[inline]
    pub(super) const fn first(&self) -> u64 {
        self.first
    }

    pub(super) fn take_before(&mut self, until: u64) -> Option<Entry<T>> {
        if self.first >= until {
            return None;
        }
        let Reverse(taken) = self.heap.pop()?;
        let next = self.heap.peek();
        self.first = next.map_or(u64::MAX, |Reverse(ranked)| ranked.entry.at);
        Some(taken.entry)
    }

    /// Changes all events but not their times. O(entries).
    pub(super) fn change_events(&mut self, change: &mut impl FnMut(&mut T)) {
        let mut ranked = std::mem::take(&mut self.heap).into_vec();
        for Reverse(ranked) in &mut ranked {
            change(&mut ranked.entry.event);
        }
        self.heap = ranked.into();
    }
}

impl<T> Ranked<T> {
    fn rank(&self) -> (u64, u64) {
        (self.entry.at, self.number)
    }
}

impl<T> Ord for Ranked<T> {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.rank().cmp(&other.rank())
    }
}

impl<T> PartialOrd for Ranked<T> {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl<T> PartialEq for Ranked<T> {
    fn eq(&self, other: &Self) -> bool {
        self.rank() == other.rank()
    }
}

impl<T> Eq for Ranked<T> {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_come_by_moment_and_then_as_they_were_pushed() {
        let mut far = Far::new();
        for (event, at) in [50, 20, 50, 70, 20, 50].into_iter().enumerate() {
            far.push(Entry {
                at,
                pushed_at: 0,
                source: 0,
                event,
            });
        }
        assert_eq!(far.first(), 20);
        let mut taken = Vec::new();
        while let Some(entry) = far.take_before(60) {
            taken.push(entry.event);
        }
        assert_eq!(taken, [1, 4, 0, 2, 5]);
        far.change_events(&mut |event| *event += 10);
        assert_eq!(far.take_before(71).map(|entry| entry.event), Some(13));
        assert_eq!(far.first(), u64::MAX);
    }
}
