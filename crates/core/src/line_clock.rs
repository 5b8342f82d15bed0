//! Times at which a line is free, to a fraction of a nanosecond.

use crate::units::{BitRate, Bytes, Instant, NANOS_PER_SECOND};

/// The time at which a line of one rate is free.
///
/// Few frames occupy a line for a whole number of nanoseconds: 1,500 B at 800 Gbit/s take 15.24. If each were rounded
/// up, the line would carry 750 Gbit/s. The clock therefore keeps the exact time, so that consecutive frames take the
/// exact sum of their times, and rounds up only the returned value.
///
/// ```
/// use weir_core::{BitRate, Bytes, Instant, LineClock};
///
/// let mut line = LineClock::new(BitRate::from_mbit(800_000));
/// for _ in 0..25 {
///     line.book(Instant::ZERO, Bytes::new(1524));
/// }
/// assert_eq!(line.free_at(), Instant::from_nanos(381));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LineClock {
    rate: BitRate,
    free_at: Instant,
    /// By how much longer the line could be busy and still be free at `free_at`, in nanoseconds ÷ rate. Always below the
    /// rate: less than a nanosecond.
    slack: u64,
}

impl LineClock {
    /// Up to here, and at rates up to [`RATE_SHORT_MAX`](Self::RATE_SHORT_MAX), a frame's time needs no 128-bit division.
    pub(crate) const SHORT: Bytes = Bytes::new(1 << 17);
    /// See [`SHORT`](Self::SHORT).
    pub(crate) const RATE_SHORT_MAX: u64 = 1 << 61;

    /// Creates a line that has been free since the epoch.
    pub const fn new(rate: BitRate) -> Self {
        Self {
            rate,
            free_at: Instant::ZERO,
            slack: rate.get() - 1,
        }
    }

    /// The line's rate.
    pub const fn rate(&self) -> BitRate {
        self.rate
    }

    /// First whole nanosecond at which the line is free.
    pub const fn free_at(&self) -> Instant {
        self.free_at
    }

    /// Occupies the line at least until `until`.
    #[inline]
    pub fn occupy(&mut self, until: Instant) {
        (self.free_at, self.slack) = self.free_from(until);
    }

    /// Returns the moment at which the line is free, and its slack then, if it is busy until `until` at least.
    #[inline]
    fn free_from(&self, until: Instant) -> (Instant, u64) {
        match until > self.free_at {
            true => (until, self.rate.get() - 1),
            false => (self.free_at, self.slack),
        }
    }

    /// Sends `bytes` as soon as the line is free, but not before `earliest`. Returns the time at which it is free
    /// again.
    #[inline]
    pub fn book(&mut self, earliest: Instant, bytes: Bytes) -> Instant {
        let rate = self.rate.get();
        let is_short = bytes <= Self::SHORT && rate <= Self::RATE_SHORT_MAX;
        self.book_dividing(
            earliest,
            bytes,
            is_short.then_some(|dividend| dividend / rate),
        )
    }

    /// The same, where `divide` divides a number below 2⁶² by the rate; only for frames and rates that are
    /// [short](Self::SHORT).
    #[inline(always)]
    pub(crate) fn book_dividing(
        &mut self,
        earliest: Instant,
        bytes: Bytes,
        divide: Option<impl FnOnce(u64) -> u64>,
    ) -> Instant {
        let (free_at, slack) = self.free_from(earliest);
        // ⌈(n − early) ÷ rate⌉ with slack = rate − 1 − early is ⌊(n + slack) ÷ rate⌋, and the rest is the new slack.
        let nanos = if let Some(divide) = divide {
            let dividend = bytes.get() * (8 * NANOS_PER_SECOND) + slack;
            let nanos = divide(dividend);
            self.slack = dividend - nanos * self.rate.get();
            nanos
        } else {
            self.book_long(bytes, slack)
        };
        self.free_at = Instant::from_nanos(free_at.as_nanos().saturating_add(nanos));
        self.free_at
    }

    #[cold]
    fn book_long(&mut self, bytes: Bytes, slack: u64) -> u64 {
        let rate = u128::from(self.rate.get());
        let dividend =
            u128::from(bytes.get()) * u128::from(8 * NANOS_PER_SECOND) + u128::from(slack);
        self.slack = (dividend % rate) as u64;
        u64::try_from(dividend / rate).unwrap_or(u64::MAX)
    }

    /// Returns by how much the line is free before `free_at`, in nanoseconds ÷ rate.
    const fn early(&self) -> u64 {
        self.rate.get() - 1 - self.slack
    }

    /// Changes the rate. The time at which the line is free stays the same, to less than a bit's time.
    #[inline]
    pub fn set_rate(&mut self, rate: BitRate) {
        if rate != self.rate {
            let early = u128::from(self.early()) * u128::from(rate.get());
            let early = (early / u128::from(self.rate.get())) as u64;
            self.slack = rate.get() - 1 - early;
            self.rate = rate;
        }
    }
}

#[cfg(feature = "testing")]
impl LineClock {
    /// Adds the time at which the line is free; all past times are equal.
    pub(crate) fn digest(&self, digest: &mut crate::testing::Digest) {
        let now = digest.clock().now();
        digest.word(self.free_at.saturating_since(now).as_nanos());
        digest.word(if self.free_at < now { 0 } else { self.early() });
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn frames_back_to_back_take_the_exact_sum_of_their_times(
            rate in prop_oneof![(1..2_000_000u64).prop_map(|mbit| mbit * 1_000_000), 1..u64::MAX],
            lengths in prop::collection::vec(prop_oneof![60..10_000u64, 1..1u64 << 33], 1..50),
            start in 0..1_000_000u64,
        ) {
            let mut line = LineClock::new(BitRate::new(rate).unwrap());
            line.occupy(Instant::from_nanos(start));
            let mut bytes = 0u128;
            for length in lengths {
                bytes += u128::from(length);
                let exact = (bytes * 8_000_000_000).div_ceil(u128::from(rate));
                let Ok(exact) = u64::try_from(exact + u128::from(start)) else {
                    break;
                };
                // A caller comes at the first whole nanosecond at which the line is free, or waits for it.
                let earliest = if length % 2 == 0 { line.free_at() } else { Instant::ZERO };
                prop_assert_eq!(line.book(earliest, Bytes::new(length)), Instant::from_nanos(exact));
            }
        }

        #[test]
        fn another_rate_moves_the_line_by_less_than_a_nanosecond(
            rates in prop::collection::vec(1_000_000..2_000_000_000_000u64, 1..50),
        ) {
            let mut line = LineClock::new(BitRate::from_mbit(1));
            let mut exact = 0.0;
            for rate in &rates {
                line.set_rate(BitRate::new(*rate).unwrap());
                line.book(Instant::ZERO, Bytes::new(1524));
                exact += 1524.0 * 8e9 / *rate as f64;
            }
            let seen = line.free_at().as_nanos() as f64;
            // A bit's time is at most a microsecond, and a change of rate loses less than a bit of each rate.
            prop_assert!((seen - exact).abs() <= 1.0 + 1e-3, "{} for {}", seen, exact);
        }
    }

    #[test]
    fn a_line_that_was_idle_begins_at_a_whole_nanosecond() {
        let mut line = LineClock::new(BitRate::from_mbit(800_000));
        let at = Instant::from_nanos;
        assert_eq!(line.book(at(0), Bytes::new(1524)), at(16));
        assert_eq!(line.book(at(16), Bytes::new(1524)), at(31));
        assert_eq!(line.book(at(32), Bytes::new(1524)), at(48));
    }
}
