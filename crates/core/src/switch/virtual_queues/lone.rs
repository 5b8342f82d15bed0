//! Turns of Levels at one (egress, priority), and a frame that waits there alone.
//!
//! A frame that arrives while none waits needs no virtual queue, lane or ring until another one arrives. It is
//! stored next to the turns, and leaves no other state behind. Without congestion most frames pass like that.

use core::num::NonZeroU32;

use super::owed::{Since, NEVER};
use super::{Departure, Gate};
use crate::frame::FrameHandle;
use crate::level::Level;
use crate::units::PortId;

/// The only frame of an (egress, priority).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Lone {
    /// The destination address as a number.
    pub(super) destination: u64,
    pub(super) handle: FrameHandle,
    length_bytes: NonZeroU32,
    pub(super) ingress: PortId,
    pub(super) level: Level,
}

#[derive(Clone, Copy, Debug, Default)]
#[repr(align(32))]
pub(super) struct LevelTurn {
    pub(super) waiting: u32,
    pub(super) owed: u32,
    lane_turns: u32,
    /// The waiting frame, if it is the only one and in no virtual queue.
    pub(super) lone: Option<Lone>,
    /// Time since which the port named by a release has been skipped; [`NEVER`] if it was not.
    pub(super) named_since: Since,
    current: u8,
}

impl Lone {
    /// Returns `None` for a frame without a byte, which waits in a virtual queue.
    #[inline]
    pub(super) fn new(
        destination: u64,
        ingress: PortId,
        level: Level,
        handle: FrameHandle,
        length_bytes: u32,
    ) -> Option<Self> {
        Some(Self {
            destination,
            handle,
            length_bytes: NonZeroU32::new(length_bytes)?,
            ingress,
            level,
        })
    }

    pub(super) fn lifted(self, level: Level) -> Self {
        Self { level, ..self }
    }

    pub(super) fn length_bytes(&self) -> u32 {
        self.length_bytes.get()
    }

    pub(super) fn passes(&self, gate: Gate) -> bool {
        match gate {
            Gate::FromLevel(from) => self.level >= from,
            Gate::OnlyFrom(ingress, from) => self.ingress == ingress && self.level >= from,
            // There is nothing to prefer: the frame is alone.
            Gate::FirstFrom(_, from) => self.level >= from,
            Gate::Shut => false,
        }
    }
}

impl LevelTurn {
    #[inline(always)]
    pub(super) fn owes(&self) -> bool {
        self.owed != 0 || self.named_since != NEVER
    }

    #[inline(always)]
    pub(super) fn owed_from(&self, from: Level) -> u32 {
        self.owed & (u32::MAX << from.get())
    }

    /// Settles the debt when a frame of `level` leaves through a settled gate. Returns true if it was not owed, and
    /// leaves by turns.
    #[inline(always)]
    pub(super) fn settle(&mut self, level: Level, gate: Gate) -> bool {
        if let Gate::OnlyFrom(..) = gate {
            return core::mem::take(&mut self.named_since) == NEVER;
        }
        let bit = 1 << level.get();
        let by_turns = self.owed & bit == 0;
        self.owed &= !bit;
        by_turns
    }

    #[inline(always)]
    pub(super) fn note_empty(&mut self, level: Level) {
        self.waiting &= !(1 << level.get());
        self.owed &= self.waiting;
    }

    /// Returns the Level whose turn it is among those from `from` on.
    pub(super) fn choose(&self, from: Level) -> Option<Level> {
        let eligible = self.waiting & (u32::MAX << from.get());
        if eligible == 0 {
            return None;
        }
        if self.lane_turns > 0 && eligible & (1 << self.current) != 0 {
            return Level::new(self.current);
        }
        let above = eligible & !(u32::MAX >> (31 - u32::from(self.current)));
        let next = if above != 0 { above } else { eligible };
        Level::new(next.trailing_zeros() as u8)
    }

    /// Begins the departure of a frame of `level` by turns; a new turn has one part for each lane.
    #[inline]
    pub(super) fn begin(&mut self, level: Level, lane_count: u32) {
        if self.current != level.get() || self.lane_turns == 0 {
            self.current = level.get();
            self.lane_turns = lane_count;
        }
    }

    #[inline]
    pub(super) fn end_of_lane(&mut self) {
        self.lane_turns = self.lane_turns.saturating_sub(1);
    }

    /// Ends the rest of a turn that a lane of `level` has lost.
    pub(super) fn end_of_lane_of(&mut self, level: Level) {
        if self.current == level.get() {
            self.end_of_lane();
        }
    }

    #[cfg(feature = "testing")]
    pub(super) fn digest(&self, digest: &mut crate::testing::Digest) {
        digest.word(self.waiting);
        digest.word(self.owed);
        digest.turn(self.lane_turns);
        digest.turn(self.current);
        digest.word(self.lone.is_some());
        if let Some(lone) = &self.lone {
            digest.word(lone.destination);
            digest.word(lone.length_bytes());
            digest.word(lone.ingress.get());
            digest.word(lone.level.get());
        }
    }

    /// Stores the only waiting frame.
    #[inline]
    pub(super) fn park(&mut self, lone: Lone) {
        self.waiting = 1 << lone.level.get();
        self.owed &= self.waiting;
        self.lone = Some(lone);
    }

    /// Removes the lone frame without a turn. Its debt remains, for when it is queued again.
    pub(super) fn withdraw(&mut self) -> Option<Lone> {
        let lone = self.lone.take()?;
        self.waiting = 0;
        Some(lone)
    }

    /// Removes the lone frame, if `gate` permits it: the turns are then as if it had been in a lane.
    #[inline(always)]
    pub(super) fn release(&mut self, lone: Lone, gate: Gate) -> Option<Departure> {
        match gate {
            Gate::FromLevel(from) if lone.level >= from => self.turn_of_lone(lone.level),
            gate => self.turn_through(gate, &lone)?,
        }
        self.lone = None;
        self.waiting = 0;
        self.owed = 0;
        Some(Departure {
            handle: lone.handle,
            length_bytes: lone.length_bytes(),
            ingress: lone.ingress,
        })
    }

    /// Takes the whole turn of a frame that waits alone, unless it is owed.
    #[inline(always)]
    fn turn_of_lone(&mut self, level: Level) {
        if self.owed == 0 {
            self.begin(level, 1);
            self.end_of_lane();
        }
    }

    /// Takes the turn of [`release`](Self::release) through a gate that names a port. `None` if the gate blocks
    /// everything.
    #[cold]
    fn turn_through(&mut self, gate: Gate, lone: &Lone) -> Option<()> {
        if !lone.passes(gate) {
            return None;
        }
        if !gate.names(lone.ingress) {
            self.turn_of_lone(lone.level);
        } else if self.settle(lone.level, Gate::OnlyFrom(lone.ingress, lone.level)) {
            self.end_of_lane();
        }
        Some(())
    }
}
