//! Random Early Detection: marking of frames as Congestion Experienced.

use core::fmt;

use crate::units::Bytes;

/// A probability in millionths, from zero to one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PartsPerMillion(u32);

impl PartsPerMillion {
    /// Zero.
    pub const ZERO: Self = Self(0);
    /// One.
    pub const ONE: Self = Self(1_000_000);

    /// Returns `parts` millionths; `None` above one.
    pub const fn new(parts: u32) -> Option<Self> {
        if parts <= Self::ONE.0 {
            Some(Self(parts))
        } else {
            None
        }
    }

    /// Returns `percent` hundredths.
    ///
    /// # Panics
    ///
    /// Above 100; in a constant this fails to compile.
    pub const fn from_percent(percent: u32) -> Self {
        assert!(percent <= 100, "a probability is at most 100 %");
        Self(percent * 10_000)
    }

    /// The value in millionths.
    pub const fn get(self) -> u32 {
        self.0
    }
}

impl fmt::Display for PartsPerMillion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ppm", self.0)
    }
}

crate::named! {
    /// Moment at which a frame's backlog is compared with the thresholds.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub enum MarkAt {
        /// On admission, as in RED and DCQCN: the backlog ahead of the frame.
        Arrival => "arrival" (default),
        /// On departure: the backlog behind the frame. The receiver is notified of congestion one queue
        /// earlier.
        Departure => "departure",
        /// At no time: nothing is marked, and the thresholds have no effect.
        Never => "never",
    }
}

/// Probability that a frame with a backlog of x is marked (Lehal, Luangsomboon, Liebeherr: Network Calculus
/// Characterization of Congestion Control, section III-B; its third case prints K_max for K_min):
///
/// * 0 for x ≤ K_min,
/// * P_max · (x − K_min) / (K_max − K_min) between,
/// * 1 for x ≥ K_max.
///
/// x is the backlog of (egress port, priority) when the frame arrives or leaves, without the frame itself and without
/// frames already with the transmitter. With K_min = K_max every frame with at least that backlog is marked, and none
/// below.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RedConfig {
    /// K_min, at most K_max: nothing is marked up to here.
    pub kmin: Bytes,
    /// K_max, at least K_min: everything is marked from here on.
    pub kmax: Bytes,
    /// P_max, above zero: the probability just below K_max.
    pub pmax: PartsPerMillion,
    /// Moment at which the backlog is measured.
    pub at: MarkAt,
}

/// Reason for refusing marking thresholds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RedError {
    /// K_min is above K_max.
    #[error("kmin ({kmin}) must not be above kmax ({kmax})")]
    KminAboveKmax {
        /// K_min.
        kmin: Bytes,
        /// K_max.
        kmax: Bytes,
    },
    /// P_max is zero.
    #[error("pmax must be above zero; for a single threshold set kmin and kmax to the same value")]
    ZeroPmax,
}

impl RedConfig {
    /// Validates the thresholds. Used for files, commands and new switches.
    ///
    /// # Errors
    ///
    /// K_min is above K_max, or P_max is zero.
    pub fn check(&self) -> Result<(), RedError> {
        let (kmin, kmax) = (self.kmin, self.kmax);
        if kmin > kmax {
            return Err(RedError::KminAboveKmax { kmin, kmax });
        }
        if self.pmax == PartsPerMillion::ZERO {
            return Err(RedError::ZeroPmax);
        }
        Ok(())
    }

    /// Returns true if a frame with this `backlog` is marked. `draw` returns a number that is uniform over all of
    /// `u32`, and is called only between the thresholds. Exact to the 2^-32 granularity of a draw.
    pub(crate) fn marks(&self, backlog: Bytes, draw: impl FnOnce() -> u32) -> bool {
        if backlog >= self.kmax {
            return true;
        }
        if backlog <= self.kmin {
            return false;
        }
        // draw / 2^32 < pmax / 10^6 · above / span, multiplied out: at most 32 + 64 + 20 bits.
        let above = u128::from((backlog - self.kmin).get());
        let span = u128::from((self.kmax - self.kmin).get());
        let millionths = u128::from(PartsPerMillion::ONE.0);
        u128::from(draw()) * span * millionths < (u128::from(self.pmax.0) * above) << 32
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::SplitMix64;
    use proptest::prelude::*;

    const DRAWS: u64 = 1 << 32;

    /// Returns how many of the 2^32 draws mark at `backlog`: all below a bound, found by bisection.
    fn marking_draws(red: &RedConfig, backlog: u64) -> u64 {
        let marks = |draw: u64| red.marks(Bytes::new(backlog), || draw as u32);
        let (mut low, mut high) = (0, DRAWS);
        while low < high {
            let middle = (low + high) / 2;
            if marks(middle) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        low
    }

    /// The paper's formula in integers: the least number of draws that is not below 2^32 · p(x).
    fn expected_draws(red: &RedConfig, backlog: u64) -> u64 {
        let (kmin, kmax) = (red.kmin.get(), red.kmax.get());
        if backlog >= kmax {
            return DRAWS;
        }
        if backlog <= kmin {
            return 0;
        }
        let numerator = u128::from(red.pmax.get()) * u128::from(backlog - kmin) * u128::from(DRAWS);
        let denominator = 1_000_000 * u128::from(kmax - kmin);
        numerator.div_ceil(denominator) as u64
    }

    fn red(kmin: u64, kmax: u64, pmax: u32) -> RedConfig {
        RedConfig {
            kmin: Bytes::new(kmin),
            kmax: Bytes::new(kmax),
            pmax: PartsPerMillion::new(pmax).unwrap(),
            at: MarkAt::Arrival,
        }
    }

    #[test]
    fn the_boundaries_are_exact() {
        let red = red(1_000, 3_000, 1_000_000);
        let never = |backlog| red.marks(Bytes::new(backlog), || panic!("nothing to draw for"));
        assert!(!never(0) && !never(1_000));
        assert!(never(3_000) && never(u64::MAX));
        assert_eq!(marking_draws(&red, 1_001), DRAWS.div_ceil(2_000));
        assert_eq!(marking_draws(&red, 2_000), DRAWS / 2);
        assert!(marking_draws(&red, 2_999) < DRAWS);
    }

    #[test]
    fn equal_thresholds_are_a_step() {
        let red = red(2_000, 2_000, 1);
        let marks = |backlog| red.marks(Bytes::new(backlog), || panic!("nothing to draw for"));
        assert_eq!([1_999, 2_000].map(marks), [false, true]);
    }

    /// Over many draws with a fixed seed the share of marks is p within four standard deviations, 4 · sqrt(p(1 − p) /
    /// n).
    #[test]
    fn the_share_of_marks_is_the_probability() {
        const FRAMES: u32 = 1_000_000;
        let red = red(10_000, 50_000, 200_000);
        for (backlog, p) in [(11_000, 0.005), (30_000, 0.1), (49_999, 0.199_995)] {
            let mut random = SplitMix64::new(1);
            let count = |_: &u32| red.marks(Bytes::new(backlog), || random.next_u32());
            let marked = (0..FRAMES).filter(count).count();
            let share = marked as f64 / f64::from(FRAMES);
            let deviation = (p * (1.0 - p) / f64::from(FRAMES)).sqrt();
            assert!(
                (share - p).abs() < 4.0 * deviation,
                "{backlog}: {share} for {p}"
            );
        }
    }

    proptest! {
        #[test]
        fn every_probability_is_the_papers(
            kmin in 0..1u64 << 40,
            span in 0..1u64 << 40,
            at in 0..1u64 << 41,
            pmax in 1..=1_000_000u32,
        ) {
            let red = red(kmin, kmin + span, pmax);
            prop_assert_eq!(marking_draws(&red, at), expected_draws(&red, at));
        }

        #[test]
        fn no_size_overflows(kmin: u64, kmax: u64, at: u64, pmax in 1..=1_000_000u32, draw: u32) {
            let red = red(kmin.min(kmax), kmax.max(kmin), pmax);
            let _ = red.marks(Bytes::new(at), || draw);
        }
    }
}
