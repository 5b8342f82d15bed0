//! Backlog counts.

use core::ops::{AddAssign, SubAssign};

use crate::units::Bytes;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::switch) struct Backlog {
    pub(in crate::switch) frames: u64,
    pub(in crate::switch) bytes: Bytes,
}

impl Backlog {
    pub(in crate::switch) const NONE: Self = Self {
        frames: 0,
        bytes: Bytes::ZERO,
    };

    pub(in crate::switch) const fn of(length_bytes: u32) -> Self {
        Self {
            frames: 1,
            bytes: Bytes::new(length_bytes as u64),
        }
    }
}

impl AddAssign for Backlog {
    fn add_assign(&mut self, rhs: Self) {
        self.frames += rhs.frames;
        self.bytes += rhs.bytes;
    }
}

impl SubAssign for Backlog {
    fn sub_assign(&mut self, rhs: Self) {
        self.frames -= rhs.frames;
        self.bytes -= rhs.bytes;
    }
}
