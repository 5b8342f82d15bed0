//! Turns between ingress ports, and between the destinations of one of them.

use super::lone::LevelTurn;
use super::turns::{Turn, Turner, Turns};
use super::Backlog;
use crate::level::Level;

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
    pub(super) lane_count: u32,
    /// The first lane has sent in its turn.
    pub(super) begun: bool,
    pub(super) backlog: Backlog,
}

impl Group {
    /// Takes a lane without frames out of the turns.
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
