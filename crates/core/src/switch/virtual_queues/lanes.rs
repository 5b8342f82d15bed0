//! Turns between ingress ports, and between the destinations of one of them.

use super::lone::LevelTurn;
use super::turns::{Turn, Turner, Turns, NIL};
use super::Backlog;
use crate::level::Level;
use crate::units::PortId;

/// The frames of one (egress, priority, Level, ingress).
#[derive(Clone, Copy, Debug)]
pub(super) struct Lane {
    pub(super) queues: Turns,
    pub(super) turn: Turn,
    pub(super) frame_count: u64,
}

/// The lanes of one (egress, priority, Level).
#[derive(Clone, Copy, Debug)]
pub(super) struct Group {
    pub(super) lanes: Turns,
    /// Index of its first lane, one for each ingress port; [`NIL`] before the first one is needed. Most priorities of
    /// most switches never need one.
    pub(super) first_lane: u32,
    pub(super) lane_count: u16,
    pub(super) begun: bool,
    pub(super) backlog: Backlog,
}

impl Lane {
    pub(super) const EMPTY: Self = Self {
        queues: Turns::EMPTY,
        turn: Turn::NONE,
        frame_count: 0,
    };
}

impl Group {
    pub(super) const EMPTY: Self = Self {
        lanes: Turns::EMPTY,
        first_lane: NIL,
        lane_count: 0,
        begun: false,
        backlog: Backlog::NONE,
    };

    /// Returns the lane of `ingress`; an index beyond all lanes if the group has none yet.
    #[inline(always)]
    pub(super) fn lane_of(&self, ingress: PortId) -> usize {
        self.first_lane as usize + ingress.index()
    }

    pub(super) fn remove_lane(
        &mut self,
        lanes: &mut [Lane],
        lane_index: usize,
        turn: &mut LevelTurn,
        level: Level,
    ) {
        self.begun &= self.lanes.head() != lane_index as u32;
        self.lanes.remove(lanes, lane_index as u32);
        self.lane_count -= 1;
        if self.lane_count == 0 {
            turn.note_empty(level);
        }
    }
}

impl Turner for Lane {
    fn turn(&self) -> &Turn {
        &self.turn
    }
    fn turn_mut(&mut self) -> &mut Turn {
        &mut self.turn
    }
}
