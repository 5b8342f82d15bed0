//! Backlog counts.

use core::ops::{AddAssign, SubAssign};

use crate::units::{Bytes, Instant};

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

/// Lossless (egress, priority) pairs with frames: without any, nothing stalls, and nothing needs to be sampled.
#[derive(Debug, Default)]
#[cfg_attr(feature = "testing", derive(Clone))]
pub(in crate::switch) struct Backlogged {
    pub(in crate::switch) pairs: usize,
    /// Number of times at which the first pair began to hold frames, and the last of these times.
    pub(in crate::switch) spans: u64,
    pub(in crate::switch) since: Instant,
}

impl Backlogged {
    /// Notes that a pair begins to hold frames. Returns true if it is the only one.
    #[inline(always)]
    pub(in crate::switch) fn begin(&mut self, now: Instant) -> bool {
        self.pairs += 1;
        if self.pairs == 1 {
            self.spans += 1;
            self.since = now;
        }
        self.pairs == 1
    }

    /// Notes that a pair has no more frames.
    #[inline]
    pub(in crate::switch) fn end(&mut self) {
        self.pairs -= 1;
    }
}
