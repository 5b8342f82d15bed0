//! Virtual queues by name: a slab that is allocated once, and a hash table over it.

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
    /// The destination address as a number.
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

/// Queues of one bucket if every frame were in a queue of its own: few are, and a table for all of them would
/// have each lookup read memory that no other one has read.
const QUEUES_OF_BUCKET: usize = 4;

/// All virtual queues; those in use and those that are free, by index.
#[derive(Debug)]
#[cfg_attr(feature = "testing", derive(Clone))]
pub(super) struct QueueSlab {
    pub(super) all: Records<VirtualQueue>,
    free: u32,
    buckets: Vec<u32>,
}

impl QueueSlab {
    /// Room for `capacity` queues.
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
            buckets: vec![NIL; capacity.div_ceil(QUEUES_OF_BUCKET).next_power_of_two()],
        }
    }

    /// See [`Records::touch`].
    pub(super) fn touch(&mut self) {
        self.all.touch();
    }

    /// The queue of a path and destination, if there is one.
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

    /// An empty queue, which must not exist yet. `None` when no room is left.
    pub(super) fn make(&mut self, path: u32, destination: u64, level: Level) -> Option<u32> {
        let bucket = self.bucket(path, destination);
        let index = self.all.free_or_new(self.free)?;
        let queue = self.all.get_mut(index as usize)?;
        self.free = queue.chain;
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

    /// Gives a queue back that takes no turns any more.
    pub(super) fn release(&mut self, index: u32) {
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
