//! One port's line: the time at which the next frame may start.

use crate::line_clock::LineClock;
use crate::units::{BitRate, Bytes, Duration, Instant, LINE_OVERHEAD};

/// A virtual line of fixed rate. Frames leave back to back; a late caller may catch up by at most `burst`, and control
/// frames, which leave at once, delay later frames.
#[derive(Debug)]
#[cfg_attr(feature = "testing", derive(Clone))]
pub(in crate::switch) struct Shaper {
    line: LineClock,
    divider: Divider,
    burst: Duration,
}

/// Division by a rate without a division instruction, which would take longer than the rest of a frame's departure.
///
/// For x below 2⁶², ⌊x ÷ rate⌋ is ⌊m·x ÷ 2^(62+l)⌋ with 2^(l−1) < rate ≤ 2^l and m = ⌊2^(62+l) ÷ rate⌋ + 1 (Granlund and
/// Montgomery, Division by Invariant Integers using Multiplication, PLDI 1994, theorem 4.2). With l from 2 on, that is a part of
/// the product's upper half.
#[derive(Debug)]
#[cfg_attr(feature = "testing", derive(Clone))]
struct Divider {
    /// m, at most 2⁶³ + 1.
    multiplier: u64,
    /// l − 2.
    shift: u32,
    /// Frames up to this length take such a division; zero for rates at which none does.
    short: Bytes,
}

impl Divider {
    const fn new(rate: BitRate) -> Self {
        let l = u64::BITS - (rate.get() - 1).leading_zeros();
        if l < 2 || rate.get() > LineClock::RATE_SHORT_MAX {
            return Self {
                multiplier: 0,
                shift: 0,
                short: Bytes::ZERO,
            };
        }
        Self {
            multiplier: ((1u128 << (62 + l)) / rate.get() as u128 + 1) as u64,
            shift: l - 2,
            short: LineClock::SHORT,
        }
    }

    #[inline]
    fn divide(&self, x: u64) -> u64 {
        let product = u128::from(x) * u128::from(self.multiplier);
        (product >> u64::BITS) as u64 >> self.shift
    }
}

impl Shaper {
    /// Creates a line that lets a caller catch up by at most `burst`.
    pub(in crate::switch) fn new(rate: BitRate, burst: Duration) -> Self {
        Self {
            line: LineClock::new(rate),
            divider: Divider::new(rate),
            burst,
        }
    }

    pub(in crate::switch) fn free_at(&self) -> Instant {
        self.line.free_at()
    }

    /// Marks the line busy at least until then.
    pub(in crate::switch) fn occupy(&mut self, until: Instant) {
        self.line.occupy(until);
    }

    /// Accounts for a frame of `length` that starts at `now`.
    #[inline]
    pub(in crate::switch) fn book(&mut self, now: Instant, length: Bytes) {
        let earliest = Instant::from_nanos(now.as_nanos().saturating_sub(self.burst.as_nanos()));
        let bytes = length + LINE_OVERHEAD;
        let is_short = bytes <= self.divider.short;
        let divide = is_short.then_some(|x| self.divider.divide(x));
        self.line.book_dividing(earliest, bytes, divide);
    }
}

#[cfg(feature = "testing")]
#[path = "digest/shaper.rs"]
mod digest;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn rates() -> impl Strategy<Value = u64> {
        // Around powers of two, typical rates of networks, and any.
        prop_oneof![
            (0..64u32, -2..3i64).prop_map(|(power, off)| (1u64 << power).wrapping_add_signed(off)),
            (1..1_000_000u64).prop_map(|mbit| mbit * 1_000_000),
            1..u64::MAX,
        ]
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(20_000))]

        #[test]
        fn multiplying_gives_what_dividing_does(
            rate in rates(),
            lengths in prop::collection::vec(
                prop_oneof![0..200_000u64, 131_000..131_100u64, any::<u64>()],
                1..4,
            ),
        ) {
            let rate = BitRate::new(rate.max(1)).unwrap();
            let mut shaper = Shaper::new(rate, Duration::ZERO);
            let mut line = LineClock::new(rate);
            for length in lengths.into_iter().map(Bytes::new) {
                shaper.book(Instant::ZERO, length);
                line.book(Instant::ZERO, length + LINE_OVERHEAD);
                prop_assert_eq!(&shaper.line, &line);
            }
        }
    }

    #[test]
    fn a_busy_line_carries_its_rate() {
        let mut shaper = Shaper::new(BitRate::from_mbit(100), Duration::ZERO);
        let mut now = Instant::from_nanos(1_000_000);
        let start = now;
        for _ in 0..1000 {
            shaper.book(now, Bytes::new(1476));
            now = shaper.free_at();
        }
        assert_eq!(
            now.saturating_since(start),
            Duration::from_micros(120).saturating_mul(1000)
        );
    }

    #[test]
    fn a_late_caller_catches_up_by_the_burst_only() {
        let mut shaper = Shaper::new(BitRate::from_mbit(100), Duration::from_micros(240));
        let now = Instant::ZERO + Duration::from_secs(1);
        let mut back_to_back = 0;
        while shaper.free_at() <= now {
            shaper.book(now, Bytes::new(1476));
            back_to_back += 1;
        }
        assert_eq!(
            back_to_back, 3,
            "3000 B of credit and the frame in its own time"
        );
    }
}
