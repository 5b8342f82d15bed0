//! Virtual queues and the choice of the next frame.
//!
//! A frame waits in the virtual queue of its (egress, priority, ingress, destination). An egress takes
//! turns between ingress ports (lanes) and a lane between its destinations, both by deficit round robin
//! (Shreedhar and Varghese, SIGCOMM 1995). The quantum is never below the longest frame, so that the
//! choice is O(1) however many queues there are, and every waiting frame is reached: no livelock.
//!
//! Turns between ingress ports come first because a deadlock experiment must not depend on how many
//! destinations a neighbour has: with one shared FIFO even an uncongested ring locks.

use super::fifo::{Fifo, NodeSlab};
use super::hash::mix;
use crate::frame::FrameHandle;
use crate::units::{PortId, Priority, PRIORITY_COUNT};

const NIL: u32 = u32::MAX;

/// A ring of things that take turns: lanes of an egress, or virtual queues of a lane.
#[derive(Clone, Copy, Debug)]
struct Turns {
    head: u32,
    tail: u32,
}

impl Turns {
    const EMPTY: Self = Self {
        head: NIL,
        tail: NIL,
    };
}

/// Something that takes turns: its place in the ring and what it may still send in this turn.
trait Turner {
    fn next(&self) -> u32;
    fn set_next(&mut self, next: u32);
    fn deficit_mut(&mut self) -> &mut u64;
}

#[derive(Clone, Copy, Debug)]
struct Lane {
    queues: Turns,
    next: u32,
    deficit: u64,
    frame_count: u32,
}

#[derive(Clone, Copy, Debug)]
struct VirtualQueue {
    frames: Fifo,
    next: u32,
    deficit: u64,
    lane: u32,
    destination: u64,
    /// Next in the same hash bucket, or next free one.
    chain: u32,
}

impl Turner for Lane {
    fn next(&self) -> u32 {
        self.next
    }
    fn set_next(&mut self, next: u32) {
        self.next = next;
    }
    fn deficit_mut(&mut self) -> &mut u64 {
        &mut self.deficit
    }
}

impl Turner for VirtualQueue {
    fn next(&self) -> u32 {
        self.next
    }
    fn set_next(&mut self, next: u32) {
        self.next = next;
    }
    fn deficit_mut(&mut self) -> &mut u64 {
        &mut self.deficit
    }
}

/// All virtual queues of a switch.
#[derive(Debug)]
pub(super) struct VirtualQueues {
    port_count: usize,
    quantum: u64,
    /// By (egress, priority): lanes with frames.
    egresses: Vec<Turns>,
    /// By (egress, priority, ingress).
    lanes: Vec<Lane>,
    queues: Vec<VirtualQueue>,
    free: u32,
    buckets: Vec<u32>,
    nodes: NodeSlab,
}

/// A frame that left its virtual queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Departure {
    pub(super) handle: FrameHandle,
    pub(super) length_bytes: u32,
    pub(super) ingress: PortId,
}

impl VirtualQueues {
    /// Room for `node_count` waiting frames; `quantum` is at least the longest frame.
    pub(super) fn new(port_count: usize, node_count: usize, quantum: u64) -> Self {
        let lane = Lane {
            queues: Turns::EMPTY,
            next: NIL,
            deficit: 0,
            frame_count: 0,
        };
        // A queue exists only while it holds a frame, so there are never more queues than frames.
        let queues = (0..node_count)
            .map(|index| VirtualQueue {
                frames: Fifo::EMPTY,
                next: NIL,
                deficit: 0,
                lane: 0,
                destination: 0,
                chain: if index + 1 < node_count {
                    index as u32 + 1
                } else {
                    NIL
                },
            })
            .collect();
        Self {
            port_count,
            quantum,
            egresses: vec![Turns::EMPTY; port_count * PRIORITY_COUNT],
            lanes: vec![lane; port_count * PRIORITY_COUNT * port_count],
            queues,
            free: if node_count == 0 { NIL } else { 0 },
            buckets: vec![NIL; node_count.next_power_of_two()],
            nodes: NodeSlab::new(node_count),
        }
    }

    /// How many more frames can wait.
    pub(super) fn room(&self) -> usize {
        self.nodes.free_count()
    }

    /// Appends a frame. False when there is no [room](Self::room).
    pub(super) fn push(
        &mut self,
        egress: PortId,
        priority: Priority,
        ingress: PortId,
        destination: u64,
        handle: FrameHandle,
        length_bytes: u32,
    ) -> bool {
        let lane_index = self.lane_index(egress, priority, ingress);
        let Some(queue_index) = self.find_or_make(lane_index, destination) else {
            return false;
        };
        let queue = &mut self.queues[queue_index as usize];
        let was_empty = queue.frames.is_empty();
        if !self.nodes.push(&mut queue.frames, handle, length_bytes) {
            if was_empty {
                self.release_queue(queue_index);
            }
            return false;
        }
        if was_empty {
            let lane = &mut self.lanes[lane_index as usize];
            append(&mut lane.queues, &mut self.queues, queue_index);
        }
        let lane = &mut self.lanes[lane_index as usize];
        lane.frame_count += 1;
        if lane.frame_count == 1 {
            let egress_index = egress.index() * PRIORITY_COUNT + priority.index();
            append(
                &mut self.egresses[egress_index],
                &mut self.lanes,
                lane_index,
            );
        }
        true
    }

    /// True when frames that came in by `ingress` wait at (`egress`, `priority`).
    pub(super) fn has_frames_from(
        &self,
        egress: PortId,
        priority: Priority,
        ingress: PortId,
    ) -> bool {
        self.lanes[self.lane_index(egress, priority, ingress) as usize].frame_count > 0
    }

    /// Length in bytes of the frame that [`pop`](Self::pop) would give.
    pub(super) fn next_length(
        &self,
        egress: PortId,
        priority: Priority,
        only_from: Option<PortId>,
    ) -> Option<u32> {
        let lane_index = match only_from {
            Some(ingress) => self.lane_index(egress, priority, ingress),
            None => self.egresses[egress.index() * PRIORITY_COUNT + priority.index()].head,
        };
        let lane = self.lanes.get(lane_index as usize)?;
        let queue = self.queues.get(lane.queues.head as usize)?;
        self.nodes.front_length(&queue.frames)
    }

    /// Takes the next frame of (`egress`, `priority`); with `only_from`, of that ingress port alone.
    pub(super) fn pop(
        &mut self,
        egress: PortId,
        priority: Priority,
        only_from: Option<PortId>,
    ) -> Option<Departure> {
        let egress_index = egress.index() * PRIORITY_COUNT + priority.index();
        let lane_index = match only_from {
            Some(ingress) => self.lane_index(egress, priority, ingress),
            None => self.egresses[egress_index].head,
        };
        let lane = self.lanes.get_mut(lane_index as usize)?;
        let queue_index = lane.queues.head;
        let queue = self.queues.get_mut(queue_index as usize)?;
        let (handle, length_bytes) = self.nodes.pop(&mut queue.frames)?;
        let length = u64::from(length_bytes);

        spend(&mut queue.deficit, length, self.quantum);
        let queue_left = self.nodes.front_length(&queue.frames);
        lane.frame_count -= 1;
        spend(&mut lane.deficit, length, self.quantum);
        let (lane_empty, lane_deficit) = (lane.frame_count == 0, lane.deficit);

        let deficit = queue.deficit;
        match queue_left {
            None => {
                remove_head(&mut lane.queues, &mut self.queues);
                self.release_queue(queue_index);
            }
            Some(next) if deficit < u64::from(next) => {
                rotate(&mut lane.queues, &mut self.queues);
            }
            Some(_) => {}
        }
        let next_of_lane = self
            .queues
            .get(self.lanes[lane_index as usize].queues.head as usize)
            .and_then(|queue| self.nodes.front_length(&queue.frames));

        let turns = &mut self.egresses[egress_index];
        if lane_empty {
            remove(turns, &mut self.lanes, lane_index);
        } else if turns.head == lane_index
            && next_of_lane.is_some_and(|next| lane_deficit < u64::from(next))
        {
            rotate(turns, &mut self.lanes);
        }
        Some(Departure {
            handle,
            length_bytes,
            ingress: PortId::new((lane_index as usize % self.port_count) as u8),
        })
    }

    fn lane_index(&self, egress: PortId, priority: Priority, ingress: PortId) -> u32 {
        ((egress.index() * PRIORITY_COUNT + priority.index()) * self.port_count + ingress.index())
            as u32
    }

    fn bucket(&self, lane: u32, destination: u64) -> usize {
        mix(destination ^ (u64::from(lane) << 48)) as usize & (self.buckets.len() - 1)
    }

    fn find_or_make(&mut self, lane: u32, destination: u64) -> Option<u32> {
        let bucket = self.bucket(lane, destination);
        let mut index = self.buckets[bucket];
        while let Some(queue) = self.queues.get(index as usize) {
            if queue.lane == lane && queue.destination == destination {
                return Some(index);
            }
            index = queue.chain;
        }
        let index = self.free;
        let queue = self.queues.get_mut(index as usize)?;
        self.free = queue.chain;
        *queue = VirtualQueue {
            frames: Fifo::EMPTY,
            next: NIL,
            deficit: 0,
            lane,
            destination,
            chain: self.buckets[bucket],
        };
        self.buckets[bucket] = index;
        Some(index)
    }

    fn release_queue(&mut self, index: u32) {
        let queue = self.queues[index as usize];
        let bucket = self.bucket(queue.lane, queue.destination);
        if self.buckets[bucket] == index {
            self.buckets[bucket] = queue.chain;
        } else {
            let mut at = self.buckets[bucket];
            while let Some(other) = self.queues.get_mut(at as usize) {
                if other.chain == index {
                    other.chain = queue.chain;
                    break;
                }
                at = other.chain;
            }
        }
        self.queues[index as usize].chain = self.free;
        self.free = index;
    }
}

/// Takes `length` off a deficit, opening a new turn when it does not reach.
fn spend(deficit: &mut u64, length: u64, quantum: u64) {
    debug_assert!(length <= quantum, "a frame longer than the quantum");
    if *deficit < length {
        *deficit += quantum;
    }
    *deficit = deficit.saturating_sub(length);
}

fn append<T: Turner>(turns: &mut Turns, all: &mut [T], index: u32) {
    all[index as usize].set_next(NIL);
    *all[index as usize].deficit_mut() = 0;
    link_last(turns, all, index);
}

fn link_last<T: Turner>(turns: &mut Turns, all: &mut [T], index: u32) {
    match all.get_mut(turns.tail as usize) {
        Some(tail) => tail.set_next(index),
        None => turns.head = index,
    }
    turns.tail = index;
}

fn remove_head<T: Turner>(turns: &mut Turns, all: &mut [T]) {
    let head = turns.head;
    turns.head = all[head as usize].next();
    if turns.head == NIL {
        turns.tail = NIL;
    }
    all[head as usize].set_next(NIL);
}

/// The head's turn is over: it goes to the end, keeping what it did not use.
fn rotate<T: Turner>(turns: &mut Turns, all: &mut [T]) {
    if turns.head == turns.tail {
        return;
    }
    let head = turns.head;
    remove_head(turns, all);
    link_last(turns, all, head);
}

/// Takes a member out wherever it stands. O(members), but only a release rule empties a lane that is
/// not at the head.
fn remove<T: Turner>(turns: &mut Turns, all: &mut [T], index: u32) {
    if turns.head == index {
        remove_head(turns, all);
        return;
    }
    let mut at = turns.head;
    while at != NIL {
        let next = all[at as usize].next();
        if next == index {
            let after = all[index as usize].next();
            all[at as usize].set_next(after);
            if turns.tail == index {
                turns.tail = at;
            }
            all[index as usize].set_next(NIL);
            return;
        }
        at = next;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const P3: Priority = Priority::ALL[3];

    fn port(number: u8) -> PortId {
        PortId::new(number)
    }

    fn push(queues: &mut VirtualQueues, ingress: u8, destination: u64, id: u32, length: u32) {
        assert!(queues.push(
            port(0),
            P3,
            port(ingress),
            destination,
            FrameHandle(id),
            length
        ));
    }

    fn drain(queues: &mut VirtualQueues, count: usize) -> Vec<(u8, u32)> {
        (0..count)
            .map(|_| queues.pop(port(0), P3, None).unwrap())
            .map(|departure| (departure.ingress.get(), departure.handle.0))
            .collect()
    }

    #[test]
    fn ingress_ports_take_turns_however_many_destinations_they_have() {
        let mut queues = VirtualQueues::new(3, 64, 1500);
        for n in 0..8 {
            push(&mut queues, 1, u64::from(n), n, 1500);
        }
        for n in 100..104 {
            push(&mut queues, 2, 7, n, 1500);
        }
        let order: Vec<u8> = drain(&mut queues, 8)
            .iter()
            .map(|(from, _)| *from)
            .collect();
        assert_eq!(order, [1, 2, 1, 2, 1, 2, 1, 2]);
    }

    #[test]
    fn turns_are_fair_in_bytes() {
        let mut queues = VirtualQueues::new(3, 512, 1500);
        for n in 0..200 {
            push(&mut queues, 1, 1, n, 300);
            push(&mut queues, 2, 1, 1000 + n, 1500);
        }
        let mut bytes = [0u64; 3];
        for _ in 0..120 {
            let departure = queues.pop(port(0), P3, None).unwrap();
            bytes[departure.ingress.index()] += u64::from(departure.length_bytes);
        }
        assert!(bytes[1].abs_diff(bytes[2]) <= 2 * 1500, "{bytes:?}");
    }

    #[test]
    fn a_release_rule_lets_one_ingress_out_and_keeps_the_rest() {
        let mut queues = VirtualQueues::new(4, 64, 1500);
        for n in 0..3 {
            push(&mut queues, 1, 1, n, 100);
            push(&mut queues, 2, 1, 10 + n, 100);
            push(&mut queues, 3, 1, 20 + n, 100);
        }
        let only = Some(port(2));
        for n in 0..3 {
            assert_eq!(queues.next_length(port(0), P3, only), Some(100));
            let departure = queues.pop(port(0), P3, only).unwrap();
            assert_eq!(departure.handle, FrameHandle(10 + n));
        }
        assert_eq!(queues.pop(port(0), P3, only), None);
        assert!(!queues.has_frames_from(port(0), P3, port(2)));
        let mut left = drain(&mut queues, 6);
        left.sort_unstable();
        assert_eq!(left, [(1, 0), (1, 1), (1, 2), (3, 20), (3, 21), (3, 22)]);
        assert_eq!(queues.pop(port(0), P3, None), None);
        assert_eq!(queues.room(), 64);
    }

    #[test]
    fn refuses_beyond_its_room_and_recovers() {
        let mut queues = VirtualQueues::new(2, 2, 1500);
        push(&mut queues, 1, 1, 0, 100);
        push(&mut queues, 1, 2, 1, 100);
        assert!(!queues.push(port(0), P3, port(1), 3, FrameHandle(2), 100));
        assert!(!queues.push(port(0), P3, port(1), 1, FrameHandle(2), 100));
        drain(&mut queues, 2);
        push(&mut queues, 1, 3, 2, 100);
        assert_eq!(drain(&mut queues, 1), [(1, 2)]);
    }
}
