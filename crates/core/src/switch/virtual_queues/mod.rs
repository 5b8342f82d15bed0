//! Virtual queues and the choice of the next frame.
//!
//! A frame waits in the virtual queue of its (egress, priority, ingress, destination). An egress takes turns between
//! the Levels that may leave, a Level between ingress ports (lanes), and a lane between its destinations; lanes and
//! destinations by deficit round robin. Levels that were skipped while they were blocked go first when they may leave
//! ([`owed`]). The choice is O(1) in the number of queues, and every frame that may leave again and again is reached
//! within a bound: no livelock.
//!
//! Turns between ingress ports come before those between destinations because a deadlock experiment must not depend on
//! the number of a neighbour's destinations. With one shared FIFO even an uncongested ring locks. Classes without
//! Levels have all their frames at Level 0.
//!
//! In addition to its queues, each (egress, priority) has a backlog and the rules of releases ([`EgressState`]).
//!
//! Design: docs/src/internals/design/core.md.

mod backlog;
mod egress;
mod fifo;
mod lanes;
mod lone;
mod owed;
mod queries;
mod slab;
mod turns;

use crate::frame::FrameHandle;
use crate::level::Level;
use crate::sets::PortSet;
use crate::units::{PortId, Priority, PRIORITY_COUNT};
use fifo::NodeSlab;
use lanes::{Group, Lane};
use lone::{LevelTurn, Lone};
use owed::{By, Since, NEVER};
use slab::QueueSlab;
use turns::{Turner, Turns, NIL};

pub(super) use backlog::{Backlog, Backlogged};
pub(super) use egress::{EgressState, ReleaseRule, WatchChange};
#[cfg(test)]
pub(super) use queries::Waiting;

#[derive(Debug)]
#[cfg_attr(feature = "testing", derive(Clone))]
pub(super) struct VirtualQueues {
    port_count: usize,
    quantum: u64,
    /// Index of each priority's Level 0 among the groups of an egress.
    first_group: [usize; PRIORITY_COUNT],
    groups_of_egress: usize,
    /// By (egress, priority).
    levels: Vec<LevelTurn>,
    /// By (egress, priority, Level).
    groups: Vec<Group>,
    /// By group that is owed a frame: the time since which it is owed.
    owed_since: Vec<Since>,
    /// Counts how often pairs became owed.
    passes: Since,
    /// By (egress, priority, Level) in order of first use, and ingress.
    lanes: Vec<Lane>,
    /// By (egress, priority): ingress ports with frames in lanes of Level 0.
    sources: Vec<PortSet>,
    queues: QueueSlab,
    nodes: NodeSlab,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) egress: PortId,
    pub(super) priority: Priority,
    pub(super) ingress: PortId,
    /// The destination address as a number.
    pub(super) destination: u64,
}

/// Frames of an (egress, priority) that may leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Gate {
    /// Frames at this Level and above (Transmit Eligibility Rule); Level 0 lets all pass.
    FromLevel(Level),
    /// Frames at this Level and above from one ingress port: a release of the Deadlock Breaker.
    OnlyFrom(PortId, Level),
    /// As `OnlyFrom`, but others while none of these waits.
    FirstFrom(PortId, Level),
    Shut,
}

impl Gate {
    pub(super) const ALL: Self = Self::FromLevel(Level::ZERO);
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Departure {
    pub(super) handle: FrameHandle,
    pub(super) length_bytes: u32,
    pub(super) ingress: PortId,
}

impl VirtualQueues {
    /// Makes room for `node_count` waiting frames; `quantum` is at least the longest frame; `depths` gives each
    /// priority's highest Level.
    pub(super) fn new(
        port_count: usize,
        depths: &[Level; PRIORITY_COUNT],
        node_count: usize,
        quantum: u64,
    ) -> Self {
        let mut first_group = [0; PRIORITY_COUNT];
        let mut groups_of_egress = 0;
        for (first, depth) in first_group.iter_mut().zip(depths) {
            *first = groups_of_egress;
            groups_of_egress += depth.index() + 1;
        }
        let group_count = port_count * groups_of_egress;
        Self {
            port_count,
            quantum,
            first_group,
            groups_of_egress,
            levels: vec![LevelTurn::default(); port_count * PRIORITY_COUNT],
            groups: vec![Group::EMPTY; group_count],
            owed_since: vec![NEVER; group_count],
            passes: NEVER,
            lanes: Vec::new(),
            sources: vec![PortSet::EMPTY; port_count * PRIORITY_COUNT],
            // A queue exists only while it holds a frame, so there are never more queues than frames.
            queues: QueueSlab::new(node_count),
            nodes: NodeSlab::new(node_count),
        }
    }

    pub(super) fn touch(&mut self) {
        self.queues.touch();
        self.nodes.touch();
        let lane_count = self.groups.len() * self.port_count;
        self.lanes.reserve_exact(lane_count - self.lanes.len());
    }

    pub(super) fn room(&self) -> usize {
        self.nodes.free_count()
    }

    /// Appends a frame to its virtual queue, which is at `level`. Returns false if there is no [room](Self::room).
    #[inline(always)]
    pub(super) fn push(
        &mut self,
        place: Place,
        level: Level,
        handle: FrameHandle,
        length_bytes: u32,
    ) -> bool {
        let turn = &mut self.levels[level_turn_index(place.egress, place.priority)];
        if turn.waiting == 0 {
            let (destination, ingress) = (place.destination, place.ingress);
            if let Some(lone) = Lone::new(destination, ingress, level, handle, length_bytes) {
                let has_room = self.nodes.reserve();
                if has_room {
                    turn.park(lone);
                }
                return has_room;
            }
        }
        self.push_beside_others(place, level, handle, length_bytes)
    }

    /// Moves the frame that waited alone into its virtual queue before adding another.
    #[inline(never)]
    fn push_beside_others(
        &mut self,
        place: Place,
        level: Level,
        handle: FrameHandle,
        length_bytes: u32,
    ) -> bool {
        self.queue_lone(place.egress, place.priority);
        self.push_queued(&place, level, handle, length_bytes)
    }

    fn queue_lone(&mut self, egress: PortId, priority: Priority) {
        let turn = &mut self.levels[level_turn_index(egress, priority)];
        let Some(lone) = turn.withdraw() else {
            return;
        };
        let place = Place {
            egress,
            priority,
            ingress: lone.ingress,
            destination: lone.destination,
        };
        self.nodes.unreserve();
        let queued = self.push_queued(&place, lone.level, lone.handle, lone.length_bytes());
        debug_assert!(queued, "room was reserved");
    }

    fn push_queued(
        &mut self,
        place: &Place,
        level: Level,
        handle: FrameHandle,
        length_bytes: u32,
    ) -> bool {
        let path = self.path(place);
        let found = self.queues.find(path, place.destination);
        let made = || self.queues.make(path, place.destination, level);
        let Some(index) = found.or_else(made) else {
            return false;
        };
        let queue = &mut self.queues.all[index as usize];
        debug_assert_eq!(
            queue.level, level,
            "all frames to a destination have one Level"
        );
        if !self.nodes.push(&mut queue.frames, handle, length_bytes) {
            if queue.backlog == Backlog::NONE {
                self.queues.release(index);
            }
            return false;
        }
        let frame = Backlog::of(length_bytes);
        queue.backlog += frame;
        if queue.backlog.frames == 1 {
            self.attach(place, index);
        } else {
            let lane = self.lane_index(place.egress, place.priority, level, place.ingress);
            self.lanes[lane].frame_count += 1;
            let group = self.group_index(place.egress, place.priority, level);
            self.groups[group].backlog += frame;
        }
        true
    }

    /// Moves a virtual queue, if it exists, to another Level with all its frames. O(1).
    pub(super) fn lift(&mut self, place: &Place, to: Level) {
        if let Some(lone) = self.lone_at(place) {
            let turn = &mut self.levels[level_turn_index(place.egress, place.priority)];
            turn.park(lone.lifted(to));
            return;
        }
        if let Some(index) = self.queues.find(self.path(place), place.destination) {
            self.detach(place, index);
            self.queues.all[index as usize].level = to;
            self.attach(place, index);
        }
    }

    /// Removes `handle` if it is the first of its virtual queue; returns its length in bytes. The queue's turn starts
    /// again. O(1).
    pub(super) fn remove_front(&mut self, place: &Place, handle: FrameHandle) -> Option<u32> {
        if let Some(lone) = self.lone_at(place) {
            if lone.handle != handle {
                return None;
            }
            let turn = &mut self.levels[level_turn_index(place.egress, place.priority)];
            turn.withdraw();
            turn.owed = 0;
            self.nodes.unreserve();
            return Some(lone.length_bytes());
        }
        let index = self.queues.find(self.path(place), place.destination)?;
        let frames = &self.queues.all[index as usize].frames;
        if self.nodes.front(frames) != Some(handle) {
            return None;
        }
        self.detach(place, index);
        let queue = &mut self.queues.all[index as usize];
        let (_, length_bytes) = self.nodes.pop(&mut queue.frames)?;
        queue.backlog -= Backlog::of(length_bytes);
        if queue.backlog == Backlog::NONE {
            self.queues.release(index);
        } else {
            self.attach(place, index);
        }
        Some(length_bytes)
    }

    /// Takes the next frame of (`egress`, `priority`) that may leave through `gate`.
    #[inline(always)]
    pub(super) fn pop(
        &mut self,
        egress: PortId,
        priority: Priority,
        gate: Gate,
    ) -> Option<Departure> {
        let turn = &mut self.levels[level_turn_index(egress, priority)];
        if let Some(lone) = turn.lone {
            let departure = turn.release(lone, gate)?;
            self.nodes.unreserve();
            return Some(departure);
        }
        self.pop_queued(egress, priority, gate)
    }

    #[inline(never)]
    fn pop_queued(&mut self, egress: PortId, priority: Priority, gate: Gate) -> Option<Departure> {
        let turn = &self.levels[level_turn_index(egress, priority)];
        if gate != Gate::ALL || turn.owes() {
            return self.pop_beside_held(egress, priority, gate);
        }
        let level = turn.choose(Level::ZERO)?;
        let group = &self.groups[self.group_index(egress, priority, level)];
        let lane_index = group.lanes.head() as usize;
        self.take(egress, priority, level, lane_index, By::Turns)
    }

    /// Takes the next frame received on `ingress` of (`egress`, `priority`), a priority without Levels that no gate
    /// holds, for turns between ingress ports over several priorities.
    pub(super) fn pop_from(
        &mut self,
        egress: PortId,
        priority: Priority,
        ingress: PortId,
    ) -> Option<Departure> {
        let turn = &mut self.levels[level_turn_index(egress, priority)];
        if let Some(lone) = turn.lone.filter(|lone| lone.ingress == ingress) {
            let departure = turn.release(lone, Gate::ALL)?;
            self.nodes.unreserve();
            return Some(departure);
        }
        // No release is in force, or no longer.
        turn.named_since = NEVER;
        let lane_index = self.lane_index(egress, priority, Level::ZERO, ingress);
        self.take(egress, priority, Level::ZERO, lane_index, By::Turns)
    }

    #[inline(always)]
    fn take(
        &mut self,
        egress: PortId,
        priority: Priority,
        level: Level,
        lane_index: usize,
        by: By,
    ) -> Option<Departure> {
        let group_index = self.group_index(egress, priority, level);
        let group = self.groups.get_mut(group_index)?;
        let turn = self.levels.get_mut(level_turn_index(egress, priority))?;
        if by == By::Turns {
            turn.begin(level, group.lane_count.into());
        }
        let lane = self.lanes.get_mut(lane_index)?;
        let queue_index = lane.queues.head();
        let queue = self.queues.all.get_mut(queue_index as usize)?;
        let (handle, length_bytes) = self.nodes.pop(&mut queue.frames)?;
        let length = u64::from(length_bytes);
        let frame = Backlog::of(length_bytes);
        group.backlog -= frame;
        lane.frame_count -= 1;
        let was_head = group.lanes.head() as usize == lane_index;
        let ends_turns = was_head && by != By::Debt;

        // An empty queue or lane loses the rest of its turn.
        if lane.frame_count == 0 {
            lane.queues = Turns::EMPTY;
            self.queues.release(queue_index);
            if level == Level::ZERO {
                let ingress = PortId::new((lane_index - group.first_lane as usize) as u8);
                let sources = self.sources.get_mut(level_turn_index(egress, priority))?;
                sources.remove(ingress);
            }
            group.remove_lane(&mut self.lanes, lane_index, turn, level);
            if ends_turns {
                turn.end_of_lane();
            }
        } else {
            queue.backlog -= frame;
            queue.turn_mut().spend(length, self.quantum);
            lane.turn.spend(length, self.quantum);
            match self.nodes.front_length(&queue.frames) {
                None => {
                    lane.queues.remove(&mut self.queues.all, queue_index);
                    self.queues.release(queue_index);
                }
                Some(next) if queue.turn().deficit() < u64::from(next) => {
                    lane.queues.rotate(&mut self.queues.all);
                }
                Some(_) => {}
            }
            if was_head {
                let deficit = lane.turn.deficit();
                let first = self.queues.all.get(lane.queues.head() as usize)?;
                let next = u64::from(self.nodes.front_length(&first.frames)?);
                group.begun = deficit >= next;
                if !group.begun {
                    group.lanes.rotate(&mut self.lanes);
                    if ends_turns {
                        turn.end_of_lane();
                    }
                }
            }
        }
        Some(Departure {
            handle,
            length_bytes,
            ingress: PortId::new((lane_index - group.first_lane as usize) as u8),
        })
    }

    /// Returns the frame that waits alone at an (egress, priority), if it is one of `place`.
    fn lone_at(&self, place: &Place) -> Option<Lone> {
        let lone = self.levels[level_turn_index(place.egress, place.priority)].lone;
        lone.filter(|lone| (lone.ingress, lone.destination) == (place.ingress, place.destination))
    }

    fn group_index(&self, egress: PortId, priority: Priority, level: Level) -> usize {
        egress.index() * self.groups_of_egress + self.first_group[priority.index()] + level.index()
    }

    fn lane_index(
        &self,
        egress: PortId,
        priority: Priority,
        level: Level,
        ingress: PortId,
    ) -> usize {
        self.groups[self.group_index(egress, priority, level)].lane_of(ingress)
    }

    #[cold]
    fn add_lanes(&mut self, group: usize) {
        let first = self.lanes.len();
        self.groups[group].first_lane = first as u32;
        self.lanes.resize(first + self.port_count, Lane::EMPTY);
    }

    /// Adds a queue with frames to the turns at its Level.
    fn attach(&mut self, place: &Place, index: u32) {
        let queue = &self.queues.all[index as usize];
        let (level, backlog) = (queue.level, queue.backlog);
        let group_index = self.group_index(place.egress, place.priority, level);
        if self.groups[group_index].first_lane == NIL {
            self.add_lanes(group_index);
        }
        let group = &mut self.groups[group_index];
        let lane_index = group.lane_of(place.ingress);
        let lane = &mut self.lanes[lane_index];
        lane.queues.append(&mut self.queues.all, index);
        let was_empty = lane.frame_count == 0;
        lane.frame_count += backlog.frames;
        group.backlog += backlog;
        if was_empty {
            group.lanes.append(&mut self.lanes, lane_index as u32);
            group.lane_count += 1;
            if level == Level::ZERO {
                let sources = &mut self.sources[level_turn_index(place.egress, place.priority)];
                sources.insert(place.ingress);
            }
            self.levels[level_turn_index(place.egress, place.priority)].waiting |= 1 << level.get();
        }
    }

    /// Removes a queue with frames from the turns of its Level. A turn of its lane that has begun ends if its rest is
    /// too short for the next frame: a lane that loses queues does not get longer turns.
    fn detach(&mut self, place: &Place, index: u32) {
        let queue = &self.queues.all[index as usize];
        let (level, backlog) = (queue.level, queue.backlog);
        let lane_index = self.lane_index(place.egress, place.priority, level, place.ingress);
        let group_index = self.group_index(place.egress, place.priority, level);
        let lane = &mut self.lanes[lane_index];
        lane.queues.remove(&mut self.queues.all, index);
        lane.frame_count -= backlog.frames;
        let is_empty = lane.frame_count == 0;
        let deficit = lane.turn.deficit();
        let next = self.first_length(lane_index).map(u64::from);
        let group = &mut self.groups[group_index];
        group.backlog -= backlog;
        let turn = &mut self.levels[level_turn_index(place.egress, place.priority)];
        let is_head = group.lanes.head() as usize == lane_index;
        let ends = group.begun && is_head && next.is_none_or(|next| deficit < next);
        if is_empty {
            if level == Level::ZERO {
                let sources = &mut self.sources[level_turn_index(place.egress, place.priority)];
                sources.remove(place.ingress);
            }
            group.remove_lane(&mut self.lanes, lane_index, turn, level);
        } else if ends {
            group.lanes.rotate(&mut self.lanes);
            group.begun = false;
        }
        if ends {
            turn.end_of_lane_of(level);
        }
    }

    fn path(&self, place: &Place) -> u32 {
        (level_turn_index(place.egress, place.priority) * self.port_count + place.ingress.index())
            as u32
    }
}

fn level_turn_index(egress: PortId, priority: Priority) -> usize {
    egress.index() * PRIORITY_COUNT + priority.index()
}

#[cfg(feature = "testing")]
mod digest;

#[cfg(test)]
mod tests;

#[cfg(test)]
mod eligibility_age_tests;
