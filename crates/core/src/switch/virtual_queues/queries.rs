//! Queries of waiting frames and of the next departure.

use super::lone::LevelTurn;
use super::{level_turn_index, Backlog, Gate, Place, VirtualQueues};
use crate::frame::FrameHandle;
use crate::level::Level;
use crate::sets::PortSet;
use crate::units::{PortId, Priority};

/// Frames that wait at an (egress, priority), divided by a gate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::switch) struct Waiting {
    pub(in crate::switch) eligible: Backlog,
    /// Frames that may not leave.
    pub(in crate::switch) held: Backlog,
}

impl VirtualQueues {
    /// Returns true if frames received on `ingress` wait at (`egress`, `priority`). O(Levels).
    pub(in crate::switch) fn has_frames_from(
        &self,
        egress: PortId,
        priority: Priority,
        ingress: PortId,
    ) -> bool {
        let first = self.group_index(egress, priority, Level::ZERO);
        let LevelTurn {
            mut waiting, lone, ..
        } = self.levels[level_turn_index(egress, priority)];
        if let Some(lone) = lone {
            return lone.ingress == ingress;
        }
        while waiting != 0 {
            let group = first + waiting.trailing_zeros() as usize;
            if self.frames_from(group, ingress) > 0 {
                return true;
            }
            waiting &= waiting - 1;
        }
        false
    }

    /// Returns the number of frames received on `ingress` that wait at (`egress`, `priority`). O(Levels).
    pub(in crate::switch) fn count_from(
        &self,
        egress: PortId,
        priority: Priority,
        ingress: PortId,
    ) -> u64 {
        let first = self.group_index(egress, priority, Level::ZERO);
        let turn = &self.levels[level_turn_index(egress, priority)];
        if let Some(lone) = turn.lone {
            return u64::from(lone.ingress == ingress);
        }
        let levels = (0..u32::BITS as usize).filter(|level| turn.waiting >> level & 1 == 1);
        levels
            .map(|level| self.frames_from(first + level, ingress))
            .sum()
    }

    /// Reads the memory that an arriving or departing frame reads first, for [`ahead`](crate::switch::ahead).
    #[inline]
    pub(in crate::switch) fn reads(&self, egress: PortId, priority: Priority) -> u64 {
        let turn = self.levels.get(level_turn_index(egress, priority));
        turn.map_or(0, |turn| u64::from(turn.waiting))
    }

    fn frames_from(&self, group: usize, ingress: PortId) -> u64 {
        let lane = self.lanes.get(self.groups[group].lane_of(ingress));
        lane.map_or(0, |lane| lane.frame_count)
    }

    /// Returns the highest Level, `from` or above, of frames received on `ingress` that wait in virtual queues.
    /// O(Levels).
    pub(super) fn highest_from(
        &self,
        egress: PortId,
        priority: Priority,
        ingress: PortId,
        from: Level,
    ) -> Option<Level> {
        let first = self.group_index(egress, priority, Level::ZERO);
        let turn = &self.levels[level_turn_index(egress, priority)];
        if let Some(lone) = turn.lone {
            return (lone.ingress == ingress && lone.level >= from).then_some(lone.level);
        }
        let mut waiting = turn.waiting & (u32::MAX << from.get());
        while waiting != 0 {
            let level = u32::BITS - 1 - waiting.leading_zeros();
            if self.frames_from(first + level as usize, ingress) > 0 {
                return Level::new(level as u8);
            }
            waiting &= !(1 << level);
        }
        None
    }

    /// Returns the first frame of a virtual queue. O(1).
    pub(in crate::switch) fn front(&self, place: &Place) -> Option<FrameHandle> {
        if let Some(lone) = self.lone_at(place) {
            return Some(lone.handle);
        }
        let index = self.queues.find(self.path(place), place.destination)?;
        self.nodes.front(&self.queues.all[index as usize].frames)
    }

    /// Returns true when frames wait at (`egress`, `priority`) at `level`. O(1).
    pub(in crate::switch) fn waits_at(
        &self,
        egress: PortId,
        priority: Priority,
        level: Level,
    ) -> bool {
        self.levels[level_turn_index(egress, priority)].waiting & (1 << level.get()) != 0
    }

    /// Iterates over destinations of frames at (`egress`, `priority`) from `ingress`, as numbers. One may appear at
    /// several Levels. O(Levels) and O(1) for each item.
    pub(in crate::switch) fn destinations_from(
        &self,
        egress: PortId,
        priority: Priority,
        ingress: PortId,
    ) -> impl Iterator<Item = u64> + '_ {
        let first = self.group_index(egress, priority, Level::ZERO);
        let LevelTurn { waiting, lone, .. } = self.levels[level_turn_index(egress, priority)];
        let lone = lone.filter(|lone| lone.ingress == ingress);
        let queued = (0..u32::BITS as usize)
            .filter(move |level| waiting & (1 << level) != 0)
            .flat_map(move |level| {
                let lane = self.lanes.get(self.groups[first + level].lane_of(ingress));
                lane.into_iter()
                    .flat_map(|lane| lane.queues.iter(&self.queues.all))
            })
            .map(|index| self.queues.all[index as usize].destination());
        lone.map(|lone| lone.destination).into_iter().chain(queued)
    }

    /// Returns true when a frame of (`egress`, `priority`) may leave through `gate`.
    pub(in crate::switch) fn may_leave(
        &self,
        egress: PortId,
        priority: Priority,
        gate: Gate,
    ) -> bool {
        match self.settled(egress, priority, gate) {
            Gate::OnlyFrom(ingress, from) => {
                self.highest_from(egress, priority, ingress, from).is_some()
            }
            gate => self.choose_level(egress, priority, gate).is_some(),
        }
    }

    /// Divides the frames of (`egress`, `priority`) by whether they may leave through `gate`, a gate by Level.
    /// O(Levels).
    pub(in crate::switch) fn waiting(
        &self,
        egress: PortId,
        priority: Priority,
        gate: Gate,
    ) -> Waiting {
        let held = match gate {
            Gate::FromLevel(from) | Gate::OnlyFrom(_, from) | Gate::FirstFrom(_, from) => {
                !(u32::MAX << from.get())
            }
            Gate::Shut => u32::MAX,
        };
        let mut sums = Waiting {
            eligible: Backlog::NONE,
            held: Backlog::NONE,
        };
        let first = self.group_index(egress, priority, Level::ZERO);
        let LevelTurn {
            mut waiting, lone, ..
        } = self.levels[level_turn_index(egress, priority)];
        if let Some(lone) = lone {
            let is_held = held & (1 << lone.level.get()) != 0;
            let sum = if is_held {
                &mut sums.held
            } else {
                &mut sums.eligible
            };
            *sum += Backlog::of(lone.length_bytes());
            return sums;
        }
        while waiting != 0 {
            let level = waiting.trailing_zeros();
            let sum = if held & (1 << level) != 0 {
                &mut sums.held
            } else {
                &mut sums.eligible
            };
            *sum += self.groups[first + level as usize].backlog;
            waiting &= waiting - 1;
        }
        sums
    }

    /// Returns the length in bytes of the frame that [`pop`](Self::pop) would return.
    pub(in crate::switch) fn next_length(
        &self,
        egress: PortId,
        priority: Priority,
        gate: Gate,
    ) -> Option<u32> {
        if let Some(lone) = &self.levels[level_turn_index(egress, priority)].lone {
            return lone.passes(gate).then(|| lone.length_bytes());
        }
        let gate = self.settled(egress, priority, gate);
        let (_, lane_index) = self.choose_lane(egress, priority, gate)?;
        self.first_length(lane_index)
    }

    /// Adds the ingress ports with frames at Level 0 of (`egress`, `priority`) to `ports`.
    pub(in crate::switch) fn add_sources(
        &self,
        egress: PortId,
        priority: Priority,
        ports: &mut PortSet,
    ) {
        if let Some(lone) = &self.levels[level_turn_index(egress, priority)].lone {
            ports.insert(lone.ingress);
            return;
        }
        ports.insert_all(&self.sources[level_turn_index(egress, priority)]);
    }

    /// Returns the length in bytes of the frame that [`pop_from`](Self::pop_from) would return.
    pub(in crate::switch) fn next_length_from(
        &self,
        egress: PortId,
        priority: Priority,
        ingress: PortId,
    ) -> Option<u32> {
        if let Some(lone) = &self.levels[level_turn_index(egress, priority)].lone {
            return (lone.ingress == ingress).then(|| lone.length_bytes());
        }
        let waits = self.sources[level_turn_index(egress, priority)].contains(ingress);
        let lane = || self.lane_index(egress, priority, Level::ZERO, ingress);
        waits.then(|| self.first_length(lane()))?
    }

    /// Returns the length in bytes of the frame of a lane whose turn it is within the lane.
    pub(super) fn first_length(&self, lane_index: usize) -> Option<u32> {
        let queue = self.lanes.get(lane_index)?.queues.head();
        self.nodes
            .front_length(&self.queues.all.get(queue as usize)?.frames)
    }

    /// Reduces `gate` to its effect on the frames that wait now; never [`Gate::FirstFrom`].
    #[inline(always)]
    pub(super) fn settled(&self, egress: PortId, priority: Priority, gate: Gate) -> Gate {
        match gate {
            Gate::FirstFrom(ingress, from)
                if self.highest_from(egress, priority, ingress, from).is_some() =>
            {
                Gate::OnlyFrom(ingress, from)
            }
            Gate::FirstFrom(_, from) => Gate::FromLevel(from),
            gate => gate,
        }
    }

    /// Returns the Level that is owed a frame, or whose turn it is, among those that may leave.
    pub(super) fn choose_level(
        &self,
        egress: PortId,
        priority: Priority,
        gate: Gate,
    ) -> Option<Level> {
        let Gate::FromLevel(from) = gate else {
            return None;
        };
        let turn = &self.levels[level_turn_index(egress, priority)];
        match turn.owed_from(from) {
            0 => turn.choose(from),
            owed => Level::new(self.longest_owed(egress, priority, owed)),
        }
    }

    #[inline(always)]
    pub(super) fn choose_lane(
        &self,
        egress: PortId,
        priority: Priority,
        gate: Gate,
    ) -> Option<(Level, usize)> {
        if let Gate::OnlyFrom(ingress, from) = gate {
            let level = self.highest_from(egress, priority, ingress, from)?;
            return Some((level, self.lane_index(egress, priority, level, ingress)));
        }
        let level = self.choose_level(egress, priority, gate)?;
        let group = &self.groups[self.group_index(egress, priority, level)];
        Some((level, group.lanes.head() as usize))
    }
}
