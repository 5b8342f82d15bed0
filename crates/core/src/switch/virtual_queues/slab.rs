//! Virtual queues by key: a slab that is allocated once, and a hash table over it.

use super::backlog::Backlog;
use super::fifo::Fifo;
use super::turns::{Turn, Turner, NIL};
use crate::level::Level;
use crate::random::mix;
use crate::switch::records::Records;

/// The frames of one (egress, priority, ingress, destination). It exists only while it holds a frame.
#[derive(Clone, Copy, Debug)]
pub(super) struct VirtualQueue {
    pub(super) frames: Fifo,
    pub(super) backlog: Backlog,
    pub(super) level: Level,
    turn: Turn,
    /// (egress, priority, ingress) as one number.
    path: u32,
    destination: u64,
    /// Next in the same hash bucket, or next free one.
    chain: u32,
    bucket: u32,
}

impl VirtualQueue {
    pub(super) fn destination(&self) -> u64 {
        self.destination
    }
}

impl Turner for VirtualQueue {
    fn turn(&self) -> &Turn {
        &self.turn
    }
    fn turn_mut(&mut self) -> &mut Turn {
        &mut self.turn
    }
}

/// Queues per bucket if every frame were in a separate queue: few are, and a table for all of them would make each
/// lookup read uncached memory.
const QUEUES_OF_BUCKET: usize = 4;

/// Number of buckets for few frames: four cache lines.
const BUCKETS_MIN: usize = 64;

/// All virtual queues, used and free, by index.
#[derive(Debug)]
#[cfg_attr(feature = "testing", derive(Clone))]
pub(super) struct QueueSlab {
    pub(super) all: Records<VirtualQueue>,
    free: u32,
    count: usize,
    /// By bucket: the first queue. Doubled when there are as many queues, up to a bound.
    buckets: Vec<u32>,
}

/// Returns the number of buckets at the maximum number of queues: one for each frame.
fn bucket_count(queue_count: usize) -> usize {
    queue_count.div_ceil(QUEUES_OF_BUCKET).next_power_of_two()
}

impl QueueSlab {
    pub(super) fn new(capacity: usize) -> Self {
        let empty = VirtualQueue {
            frames: Fifo::EMPTY,
            backlog: Backlog::NONE,
            level: Level::ZERO,
            turn: Turn::NONE,
            path: 0,
            destination: 0,
            bucket: 0,
            chain: NIL,
        };
        Self {
            all: Records::new(capacity, empty),
            free: NIL,
            count: 0,
            buckets: vec![NIL; BUCKETS_MIN.min(bucket_count(capacity))],
        }
    }

    pub(super) fn touch(&mut self) {
        self.all.touch();
        self.deal_to(bucket_count(self.all.capacity()));
    }

    /// Doubles the buckets, if permitted.
    #[cold]
    fn add_buckets(&mut self) {
        if self.buckets.len() < bucket_count(self.all.capacity()) {
            self.deal_to(self.buckets.len() * 2);
        }
    }

    /// Distributes all queues over this many buckets, a power of two.
    #[cold]
    fn deal_to(&mut self, bucket_count: usize) {
        let before = core::mem::replace(&mut self.buckets, vec![NIL; bucket_count]);
        for first in before {
            let mut index = first;
            while let Some(queue) = self.all.get(index as usize) {
                let (next, bucket) = (queue.chain, self.bucket(queue.path, queue.destination));
                let queue = &mut self.all[index as usize];
                queue.chain = self.buckets[bucket];
                queue.bucket = bucket as u32;
                self.buckets[bucket] = index;
                index = next;
            }
        }
    }

    pub(super) fn find(&self, path: u32, destination: u64) -> Option<u32> {
        let mut index = self.buckets[self.bucket(path, destination)];
        while let Some(queue) = self.all.get(index as usize) {
            if queue.path == path && queue.destination == destination {
                return Some(index);
            }
            index = queue.chain;
        }
        None
    }

    /// Creates an empty queue, which must not exist yet. `None` if there is no room.
    pub(super) fn make(&mut self, path: u32, destination: u64, level: Level) -> Option<u32> {
        let index = self.all.free_or_new(self.free)?;
        if self.count >= self.buckets.len() {
            self.add_buckets();
        }
        let bucket = self.bucket(path, destination);
        let queue = self.all.get_mut(index as usize)?;
        self.free = queue.chain;
        self.count += 1;
        *queue = VirtualQueue {
            frames: Fifo::EMPTY,
            backlog: Backlog::NONE,
            level,
            turn: Turn::NONE,
            path,
            destination,
            chain: self.buckets[bucket],
            bucket: bucket as u32,
        };
        self.buckets[bucket] = index;
        Some(index)
    }

    /// Frees a queue that no longer takes turns.
    pub(super) fn release(&mut self, index: u32) {
        self.count -= 1;
        let (bucket, chain) = {
            let queue = &self.all[index as usize];
            (queue.bucket as usize, queue.chain)
        };
        if self.buckets[bucket] == index {
            self.buckets[bucket] = chain;
        } else {
            let mut at = self.buckets[bucket];
            while let Some(other) = self.all.get_mut(at as usize) {
                if other.chain == index {
                    other.chain = chain;
                    break;
                }
                at = other.chain;
            }
        }
        self.all[index as usize].chain = self.free;
        self.free = index;
    }

    fn bucket(&self, path: u32, destination: u64) -> usize {
        mix(destination ^ (u64::from(path) << 48) ^ u64::from(path)) as usize
            & (self.buckets.len() - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Both through several doublings, and with all buckets created at once.
    #[test]
    fn every_queue_is_found_with_any_number_of_buckets() {
        for is_touched in [false, true] {
            let mut slab = QueueSlab::new(2000);
            if is_touched {
                slab.touch();
            }
            let before = slab.buckets.len();
            assert_eq!(before, if is_touched { 512 } else { BUCKETS_MIN });
            let make =
                |slab: &mut QueueSlab, name: u32| slab.make(name % 7, u64::from(name), Level::ZERO);
            let made: Vec<u32> = (0..2000)
                .map(|name| make(&mut slab, name).expect("there is room"))
                .collect();
            assert_eq!(make(&mut slab, 2000), None);
            assert_eq!(slab.buckets.len(), 512, "and no more");
            let find = |slab: &QueueSlab, name: u32| slab.find(name % 7, u64::from(name));
            for (name, index) in (0..).zip(&made) {
                assert_eq!(find(&slab, name), Some(*index));
            }
            for index in made.iter().step_by(2) {
                slab.release(*index);
            }
            for (name, index) in (0..).zip(&made) {
                assert_eq!(find(&slab, name), (name % 2 == 1).then_some(*index));
            }
            assert!(make(&mut slab, 0).is_some());
        }
    }
}
