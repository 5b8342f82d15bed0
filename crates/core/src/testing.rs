//! Support for an explorer of all states: digests of a switch and of its control plane, and deliberate faults.
//!
//! Only with the feature `testing`. Without it nothing here is compiled, and a switch can neither be cloned nor made to
//! fail.

use core::fmt::{self, Write};

use crate::units::{Duration, Instant};

/// Representation of time in a digest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Clock {
    /// Time ends at this moment: all later times are equal.
    Stopped(Instant),
    /// Time goes on from this moment: times count by their distance from it.
    At(Instant),
}

impl Clock {
    /// Returns the present time.
    pub const fn now(self) -> Instant {
        match self {
            Self::Stopped(now) | Self::At(now) => now,
        }
    }
}

/// Deliberate faults, so that an explorer can show that it finds them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Faults {
    /// A pause and a Feedback are sent once and never refreshed.
    pub no_refresh: bool,
    /// A release makes no room for the frame of an MTU that it should let in (CLCM paper, section 3.3).
    pub release_without_frame: bool,
    /// The Level on arrival is that of equation (22) as printed, regardless of the Feedback that released the frame.
    pub level_as_printed: bool,
}

/// Deliberate faults of a receiver that gives credits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct CreditFaults {
    /// Credits are returned when a frame arrives, not when it has left.
    pub early_return: bool,
    /// A deficit is returned at the first CC_Update that shows it.
    pub deficit_at_once: bool,
    /// A CC_Update of another epoch counts like one of the present one.
    pub epoch_ignored: bool,
}

/// 128 bits that represent all state that decides a state machine's future. Two equivalent states have the same digest
/// regardless of the memory layout of their records and of their counters.
#[derive(Clone, Debug)]
pub struct Digest {
    clock: Clock,
    has_turns: bool,
    lanes: [u64; 2],
}

/// The finalizer of SplitMix64: a bijection that mixes all bits.
const fn mixed(mut word: u64) -> u64 {
    word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    word ^ (word >> 31)
}

impl Digest {
    /// The digest of nothing.
    pub const fn new(clock: Clock) -> Self {
        Self {
            clock,
            has_turns: true,
            lanes: [0x243f_6a88_85a3_08d3, 0x1319_8a2e_0370_7344],
        }
    }

    /// Returns the digest without the turns among waiting frames.
    #[must_use]
    pub const fn without_turns(self) -> Self {
        Self {
            has_turns: false,
            ..self
        }
    }

    /// Returns the representation of time.
    pub const fn clock(&self) -> Clock {
        self.clock
    }

    /// Adds a number.
    pub fn word(&mut self, word: impl Into<u64>) {
        let word = word.into();
        self.lanes[0] = mixed(
            self.lanes[0]
                .wrapping_add(word)
                .wrapping_mul(0x9e37_79b9_7f4a_7c15),
        );
        self.lanes[1] = mixed((self.lanes[1] ^ word).wrapping_add(0xd1b5_4a32_d192_ed03));
    }

    /// Adds the time at which something is due; all past times are equal.
    pub fn due(&mut self, at: Instant) {
        match self.clock {
            Clock::Stopped(now) => self.word(at > now),
            Clock::At(_) if at == Instant::FAR_FUTURE => self.word(u64::MAX),
            Clock::At(now) => self.word(at.saturating_since(now).as_nanos()),
        }
    }

    /// Adds the age of a past event; all ages above `most` are equal.
    pub fn past(&mut self, at: Instant, most: Duration) {
        if let Clock::At(now) = self.clock {
            self.word(now.saturating_since(at).min(most).as_nanos());
        }
    }

    /// Adds a number that counts only while time goes on.
    pub fn timed(&mut self, word: impl Into<u64>) {
        if let Clock::At(_) = self.clock {
            self.word(word);
        }
    }

    /// Adds a number that identifies a turn.
    pub fn turn(&mut self, word: impl Into<u64>) {
        if self.has_turns {
            self.word(word);
        }
    }

    /// Adds a value's debug output.
    pub fn text(&mut self, value: &impl fmt::Debug) {
        struct Writer<'a>(&'a mut Digest);
        impl Write for Writer<'_> {
            fn write_str(&mut self, text: &str) -> fmt::Result {
                for chunk in text.as_bytes().chunks(8) {
                    let mut bytes = [0; 8];
                    bytes[..chunk.len()].copy_from_slice(chunk);
                    self.0.word(u64::from_le_bytes(bytes));
                }
                Ok(())
            }
        }
        // This `Write` never fails.
        let _ = write!(Writer(self), "{value:?}");
    }

    /// Adds digests whose order is irrelevant.
    pub fn unordered(&mut self, parts: impl Iterator<Item = Self>) {
        let (mut sums, mut count) = ([0u64; 2], 0u64);
        for part in parts {
            count += 1;
            for (sum, lane) in sums.iter_mut().zip(part.lanes) {
                *sum = sum.wrapping_add(mixed(lane));
            }
        }
        for word in [count, sums[0], sums[1]] {
            self.word(word);
        }
    }

    /// The digest of everything added.
    pub const fn finish(&self) -> u128 {
        (self.lanes[0] as u128) << 64 | self.lanes[1] as u128
    }
}
