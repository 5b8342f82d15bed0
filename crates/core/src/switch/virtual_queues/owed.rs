//! Debts to skipped frames, which go first when they may leave.
//!
//! Feedback and pauses change between any two frames. Turns alone can then skip a frame for ever: whenever its turn
//! comes it is blocked, and whenever it may leave the turn is another's. So skipped frames are remembered, for each
//! Level of each priority (a *pair*) of an egress:
//!
//! 1. When the round robin sends a frame, every waiting (Level, priority) pair that is currently held becomes owed: the
//!    Levels of its priority that its gate blocks, and all Levels of each priority that cannot send and that the turn
//!    leaves or skips.
//! 2. An owed pair that may leave precedes all turns, the one owed for longest first. One frame settles the debt. It
//!    moves no turn of Levels or priorities, so it makes no other pair owed.
//!
//! Without blocked frames no pair is owed, and only the turns, with their shares by weight, apply.
//!
//! **Bound** (Definition 4 of Karol, Golestani and Lee: the eligibility age of no packet grows indefinitely). Let n be
//! the number of pairs at an egress, and N = n·(F + 2). A pair that waits and may leave at N opportunities to send a
//! frame has sent one at the last of them at the latest, whichever pairs are blocked, released or refilled in between:
//!
//! * *Owed*, it sees each other pair go before it at most once, since a pair that becomes owed later comes later: n −
//!   1.
//! * *Not owed*, it was eligible whenever its own priority sent by turns, and its priority could send whenever it had
//!   the turn: otherwise it would be owed. So other Levels of its priority have one turn each before it, at most L
//!   frames together, and between two of these each other priority has one turn, at most P frames together: F = L + (L
//!   + 1)·P frames by turns. Each of these, and the state before, lets every other pair be owed once: (n − 1)·(F + 1).
//!
//! A turn of a priority is at most two of its quanta, one of a Level two of its quanta for each ingress port that waits
//! there. Within a pair, ingress ports and destinations take turns by ordinary deficit round robin.
//!
//! Priorities that [share by port](crate::config::Algorithm::Ports) take turns as one member, whose turn makes all held
//! ones owed. Of m such priorities and i ingress ports, a port with frames of the pair has a turn after at most 2·(i − 1)
//! quanta of others, and the pair one after at most 2·(m − 1) quanta of that port, each of which may take a turn:
//! G = 2·(m − 1)·(2·(i − 1) + 1) quanta, in frames. Then F = G + (G + 1)·P.
//!
//! **Releases.** A gate that names an ingress port blocks the others. The frames of that port then form a separate
//! pair. The bound holds for each release; the control plane chooses the port.

use super::{level_turn_index, Departure, Gate, VirtualQueues};
use crate::level::Level;
use crate::units::{PortId, Priority};

/// Time at which a pair became owed: a number that grows each time.
pub(super) type Since = u64;

/// Value for a pair that is not owed.
pub(super) const NEVER: Since = 0;

/// Reason why a frame leaves now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum By {
    Turns,
    /// A release names its ingress port: a turn only of that port.
    Name,
    /// Its pair is owed a frame, which uses no turn.
    Debt,
}

impl Gate {
    /// Returns true if the gate prefers frames from `ingress`.
    pub(super) fn names(self, ingress: PortId) -> bool {
        matches!(self, Self::OnlyFrom(named, _) | Self::FirstFrom(named, _) if named == ingress)
    }
}

impl VirtualQueues {
    /// [`pop`](Self::pop) for the case that a gate blocks some frames, or some are owed. O(Levels) for those that
    /// become owed.
    #[inline(never)]
    pub(super) fn pop_beside_held(
        &mut self,
        egress: PortId,
        priority: Priority,
        gate: Gate,
    ) -> Option<Departure> {
        if let Gate::FromLevel(_) = gate {
            // No release is in force, or no longer.
            self.levels[level_turn_index(egress, priority)].named_since = NEVER;
        }
        let gate = self.settled(egress, priority, gate);
        let (level, lane_index) = self.choose_lane(egress, priority, gate)?;
        if self.lanes.get(lane_index)?.frame_count == 0 {
            return None;
        }
        let lane_count = self.groups[self.group_index(egress, priority, level)].lane_count;
        let turn = &mut self.levels[level_turn_index(egress, priority)];
        let (by, held) = match (turn.settle(level, gate), gate) {
            (false, _) => (By::Debt, 0),
            (true, Gate::FromLevel(from)) => (By::Turns, turn.waiting & !(u32::MAX << from.get())),
            (true, _) => {
                // The other ports' frames at this Level, and all other Levels.
                let beside = u32::from(lane_count > 1) << level.get();
                (By::Name, beside | turn.waiting & !(1 << level.get()))
            }
        };
        self.owe(egress, priority, held);
        self.take(egress, priority, level, lane_index, by)
    }

    /// Notes that the turn has skipped (`egress`, `priority`), whose rule is `gate`. O(Levels) when pairs become owed.
    pub(in crate::switch) fn pass_over(&mut self, egress: PortId, priority: Priority, gate: Gate) {
        let waiting = self.levels[level_turn_index(egress, priority)].waiting;
        self.owe(egress, priority, waiting);
        let (Gate::OnlyFrom(named, _) | Gate::FirstFrom(named, _)) = gate else {
            return;
        };
        if self.has_frames_from(egress, priority, named) {
            let turn = &mut self.levels[level_turn_index(egress, priority)];
            if turn.named_since == NEVER {
                self.passes += 1;
                turn.named_since = self.passes;
            }
        }
    }

    /// Makes those of `levels` owed that are not yet.
    pub(super) fn owe(&mut self, egress: PortId, priority: Priority, levels: u32) {
        let first = self.group_index(egress, priority, Level::ZERO);
        let turn = &mut self.levels[level_turn_index(egress, priority)];
        let mut new = levels & !turn.owed;
        if new == 0 {
            return;
        }
        turn.owed |= new;
        self.passes += 1;
        while new != 0 {
            self.owed_since[first + new.trailing_zeros() as usize] = self.passes;
            new &= new - 1;
        }
    }

    /// Returns the Level of `owed`, a non-empty set, that has been owed for longest. O(Levels).
    #[cold]
    pub(super) fn longest_owed(&self, egress: PortId, priority: Priority, owed: u32) -> u8 {
        let first = self.group_index(egress, priority, Level::ZERO);
        let mut longest = owed.trailing_zeros();
        let mut rest = owed & owed.wrapping_sub(1);
        while rest != 0 {
            let level = rest.trailing_zeros();
            if self.owed_since[first + level as usize] < self.owed_since[first + longest as usize] {
                longest = level;
            }
            rest &= rest - 1;
        }
        longest as u8
    }

    /// Returns the time since which the frame that [`pop`](Self::pop) would return has been owed; `None` if it would
    /// leave by turns, or there is none.
    pub(in crate::switch) fn owed_since(
        &self,
        egress: PortId,
        priority: Priority,
        gate: Gate,
    ) -> Option<Since> {
        let turn = &self.levels[level_turn_index(egress, priority)];
        if turn.owed == 0 && turn.named_since == NEVER {
            return None;
        }
        self.next_length(egress, priority, gate)?;
        if turn.lone.is_some_and(|lone| gate.names(lone.ingress)) {
            return Some(turn.named_since).filter(|since| *since != NEVER);
        }
        let since = match self.settled(egress, priority, gate) {
            Gate::OnlyFrom(..) => turn.named_since,
            Gate::FromLevel(from) => {
                let owed = turn.owed_from(from);
                if owed == 0 {
                    return None;
                }
                let level = self.longest_owed(egress, priority, owed);
                let first = self.group_index(egress, priority, Level::ZERO);
                self.owed_since[first + usize::from(level)]
            }
            Gate::FirstFrom(..) | Gate::Shut => NEVER,
        };
        Some(since).filter(|since| *since != NEVER)
    }
}
