//! What happens next: a queue of events by time, first in first out at the same moment.

use weir_core::Instant;

const BUCKET_COUNT: usize = u64::BITS as usize + 1;

/// A radix heap (Ahuja, Mehlhorn, Orlin and Tarjan: Faster Algorithms for the Shortest Path Problem, JACM
/// 1990): time only goes forward, so an event lies in the bucket of the highest bit in which its moment
/// differs from now, and moves down at most once for each bit.
///
/// Events of one moment always share a bucket and keep their order there: the queue is stable, and a run
/// depends on nothing but what was pushed. Push is O(1), pop amortised O(bits that the delay has).
#[derive(Debug)]
pub struct EventQueue<T> {
    buckets: [Vec<(u64, T)>; BUCKET_COUNT],
    /// Bit b: bucket b holds something.
    occupied: u128,
    /// The moment of the last event that was taken.
    now: u64,
    /// How many of the first bucket are taken.
    taken: usize,
    len: usize,
    spare: Vec<(u64, T)>,
}

impl<T: Copy> EventQueue<T> {
    /// Empty, at the epoch.
    pub fn new() -> Self {
        Self {
            buckets: std::array::from_fn(|_| Vec::new()),
            occupied: 0,
            now: 0,
            taken: 0,
            len: 0,
            spare: Vec::new(),
        }
    }

    /// Events that wait.
    pub fn len(&self) -> usize {
        self.len
    }

    /// True when none waits.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// `event` happens at `at`; at once when that is past.
    #[inline]
    pub fn push(&mut self, at: Instant, event: T) {
        let at = at.as_nanos().max(self.now);
        let bucket = self.bucket_of(at);
        self.buckets[bucket].push((at, event));
        self.occupied |= 1 << bucket;
        self.len += 1;
    }

    /// The next event, if it is due at `limit` or before.
    #[inline]
    pub fn pop_until(&mut self, limit: Instant) -> Option<(Instant, T)> {
        if self.taken == self.buckets[0].len() && !self.refill(limit.as_nanos()) {
            return None;
        }
        let (at, event) = self.buckets[0][self.taken];
        if at > limit.as_nanos() {
            return None;
        }
        self.taken += 1;
        self.len -= 1;
        Some((Instant::from_nanos(at), event))
    }

    fn bucket_of(&self, at: u64) -> usize {
        (u64::BITS - (at ^ self.now).leading_zeros()) as usize
    }

    /// Moves time on to the next event and what is due then to the first bucket; false when that is after
    /// `limit`, or there is none.
    fn refill(&mut self, limit: u64) -> bool {
        self.buckets[0].clear();
        self.taken = 0;
        self.occupied &= !1;
        if self.occupied == 0 {
            return false;
        }
        let bucket = self.occupied.trailing_zeros() as usize;
        let times = self.buckets[bucket].iter().map(|(at, _)| *at);
        let Some(next) = times.min().filter(|at| *at <= limit) else {
            return false;
        };
        self.now = next;
        let mut events =
            std::mem::replace(&mut self.buckets[bucket], std::mem::take(&mut self.spare));
        self.occupied &= !(1 << bucket);
        for (at, event) in events.drain(..) {
            let bucket = self.bucket_of(at);
            self.buckets[bucket].push((at, event));
            self.occupied |= 1 << bucket;
        }
        self.spare = events;
        true
    }
}

impl<T: Copy> Default for EventQueue<T> {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Against a list that is sorted by time and, at one time, by arrival.
        #[test]
        fn gives_what_a_stable_sort_gives(
            steps in prop::collection::vec((prop::option::weighted(0.6, prop_oneof![0u64..4, 0u64..3000, any::<u32>().prop_map(u64::from)]), 0u64..500), 1..300),
        ) {
            let mut queue = EventQueue::new();
            let mut model: VecDeque<(u64, usize)> = VecDeque::new();
            let mut now = 0;
            for (number, (delay, ahead)) in steps.into_iter().enumerate() {
                if let Some(delay) = delay {
                    queue.push(Instant::from_nanos(now + delay), number);
                    let place = model.partition_point(|(at, _)| *at <= now + delay);
                    model.insert(place, (now + delay, number));
                } else {
                    let limit = now + ahead;
                    let wanted = model.front().copied().filter(|(at, _)| *at <= limit);
                    if wanted.is_some() {
                        model.pop_front();
                    }
                    let got = queue.pop_until(Instant::from_nanos(limit));
                    prop_assert_eq!(got.map(|(at, event)| (at.as_nanos(), event)), wanted);
                    now = wanted.map_or(now, |(at, _)| at);
                }
                prop_assert_eq!(queue.len(), model.len());
            }
        }
    }
}
