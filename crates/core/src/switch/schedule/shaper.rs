//! One port's line: when the next frame may start.

use crate::units::{BitRate, Bytes, Duration, Instant, LINE_OVERHEAD, NANOS_PER_SECOND};

/// A virtual line of fixed rate. Frames go out back to back; a late caller may catch up by at most
/// `burst`, and control frames that go out at once push later frames back.
#[derive(Debug)]
#[cfg_attr(feature = "testing", derive(Clone))]
pub(in crate::switch) struct Shaper {
    line: LineTime,
    burst: Duration,
    free_at: Instant,
}

/// The time that a frame occupies a line of one rate, without a division, which would take longer
/// than all the other work for the frame's departure.
///
/// ⌈n ÷ rate⌉ with n = 8·10⁹ × bytes is ⌊x ÷ rate⌋ with x = n + rate − 1, and for x below 2⁶² that
/// is ⌊m·x ÷ 2^(62+l)⌋ with 2^(l−1) < rate ≤ 2^l and m = ⌊2^(62+l) ÷ rate⌋ + 1 (Granlund and
/// Montgomery, Division by Invariant Integers using Multiplication, PLDI 1994, theorem 4.2).
#[derive(Debug)]
#[cfg_attr(feature = "testing", derive(Clone))]
struct LineTime {
    rate: BitRate,
    /// m; zero for rates at which x could be 2⁶² or more.
    multiplier: u64,
    /// 62 + l.
    shift: u32,
}

impl LineTime {
    /// Range of the multiplication: lengths up to here, with [`LINE_OVERHEAD`].
    const SHORT: u64 = 1 << 17;

    fn new(rate: BitRate) -> Self {
        let l = u64::BITS - (rate.get() - 1).leading_zeros();
        let shift = 62 + l;
        // At most 2⁶³ + 1. 8·10⁹ × SHORT is below 2⁵¹, so that x is below 2⁶² up to this rate.
        let multiplier = ((1u128 << shift) / u128::from(rate.get()) + 1) as u64;
        Self {
            rate,
            multiplier: if l <= 61 { multiplier } else { 0 },
            shift,
        }
    }

    /// Returns the time for a frame of `length`, including the gap between two frames.
    #[inline]
    fn time_for(&self, length: Bytes) -> Duration {
        let bytes = length + LINE_OVERHEAD;
        if bytes.get() > Self::SHORT || self.multiplier == 0 {
            return self.divided(bytes);
        }
        let x = bytes.get() * (8 * NANOS_PER_SECOND) + (self.rate.get() - 1);
        let product = u128::from(x) * u128::from(self.multiplier);
        Duration::from_nanos((product >> self.shift) as u64)
    }

    #[cold]
    fn divided(&self, bytes: Bytes) -> Duration {
        self.rate.time_for(bytes)
    }
}

impl Shaper {
    /// Creates a line that lets a caller catch up if it is late by no more than `burst`.
    pub(in crate::switch) fn new(rate: BitRate, burst: Duration) -> Self {
        Self {
            line: LineTime::new(rate),
            burst,
            free_at: Instant::ZERO,
        }
    }

    pub(in crate::switch) fn free_at(&self) -> Instant {
        self.free_at
    }

    /// Marks the line as busy at least until then.
    pub(in crate::switch) fn occupy(&mut self, until: Instant) {
        self.free_at = self.free_at.max(until);
    }

    /// Accounts for a frame of `length` that starts at `now`.
    #[inline]
    pub(in crate::switch) fn book(&mut self, now: Instant, length: Bytes) {
        let earliest = Instant::from_nanos(now.as_nanos().saturating_sub(self.burst.as_nanos()));
        self.free_at = self.free_at.max(earliest) + self.line.time_for(length);
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
        // Around powers of two, those of networks, and any.
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
            bytes in prop_oneof![0..200_000u64, 131_000..131_100u64, any::<u64>()],
        ) {
            let rate = BitRate::new(rate.max(1)).unwrap();
            let length = Bytes::new(bytes);
            let divided = rate.time_for(length + LINE_OVERHEAD);
            prop_assert_eq!(LineTime::new(rate).time_for(length), divided);
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
