//! Flap damping of a link, with the arithmetic of RFC 2439 (section 4.5): each time that the link goes down adds to a
//! penalty, which halves in each half-life. A link whose penalty reaches one threshold counts as down until the penalty
//! has fallen below another one.

use crate::units::{Duration, Instant};

/// Penalty for a link that goes down.
pub const FLAP_PENALTY: u32 = 1_000;

/// Settings of the damping of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DampingConfig {
    /// Time in which a penalty halves.
    pub half_life: Duration,
    /// Penalty from which on the link is suppressed.
    pub suppress: u32,
    /// Penalty below which it is used again.
    pub reuse: u32,
    /// Longest time for which a link that has stopped flapping is suppressed.
    pub max_suppress: Duration,
}

impl DampingConfig {
    /// The highest penalty: it takes [`max_suppress`](Self::max_suppress) to fall to the threshold of reuse.
    pub fn ceiling(&self) -> f64 {
        f64::from(self.reuse) / self.decay(self.max_suppress)
    }

    /// The part of a penalty that is left after `time`.
    fn decay(&self, time: Duration) -> f64 {
        (-time.as_secs_f64() / self.half_life.as_secs_f64()).exp2()
    }
}

/// State of the damping of a link.
#[derive(Clone, Copy, Debug, Default)]
pub struct FlapDamping {
    penalty: f64,
    /// Time of `penalty`.
    at: Instant,
    is_suppressed: bool,
}

impl FlapDamping {
    /// Counts a link that went down at `now`.
    pub fn note_down(&mut self, now: Instant, config: &DampingConfig) {
        let penalty = self.penalty(now, config) + f64::from(FLAP_PENALTY);
        self.penalty = penalty.min(config.ceiling());
        self.at = now;
        self.is_suppressed |= self.penalty >= f64::from(config.suppress);
    }

    /// Returns true if the link counts as down at `now`.
    pub fn is_suppressed(&mut self, now: Instant, config: &DampingConfig) -> bool {
        self.is_suppressed &= self.penalty(now, config) >= f64::from(config.reuse);
        self.is_suppressed
    }

    /// Returns the time from `now` until a suppressed link is used again, if it does not go down meanwhile.
    pub fn reused_after(&self, now: Instant, config: &DampingConfig) -> Duration {
        let half_lives = (self.penalty(now, config) / f64::from(config.reuse)).log2();
        let nanos = half_lives.max(0.0) * config.half_life.as_nanos() as f64;
        Duration::from_nanos(nanos.ceil() as u64)
    }

    /// Returns the penalty at `now`.
    pub fn penalty(&self, now: Instant, config: &DampingConfig) -> f64 {
        self.penalty * config.decay(now.saturating_since(self.at))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CONFIG: DampingConfig = DampingConfig {
        half_life: Duration::from_secs(5),
        suppress: 2_000,
        reuse: 1_000,
        max_suppress: Duration::from_secs(20),
    };

    fn at(millis: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(millis)
    }

    fn near(seen: f64, expected: f64) -> bool {
        (seen - expected).abs() < 1e-6 * expected
    }

    #[test]
    fn a_penalty_halves_in_each_half_life() {
        let mut damping = FlapDamping::default();
        damping.note_down(at(0), &CONFIG);
        for (millis, expected) in [
            (0, 1_000.0),
            (5_000, 500.0),
            (10_000, 250.0),
            (2_500, 707.106_781),
        ] {
            assert!(
                near(damping.penalty(at(millis), &CONFIG), expected),
                "{millis} ms"
            );
        }
        damping.note_down(at(5_000), &CONFIG);
        assert!(near(damping.penalty(at(5_000), &CONFIG), 1_500.0));
        assert!(!damping.is_suppressed(at(5_000), &CONFIG));
    }

    #[test]
    fn a_link_is_suppressed_at_one_threshold_and_used_again_below_the_other() {
        let mut damping = FlapDamping::default();
        for millis in [0, 1_000, 2_000] {
            assert!(!damping.is_suppressed(at(millis), &CONFIG));
            damping.note_down(at(millis), &CONFIG);
        }
        // 1000 · (1 + 2^-0.2 + 2^-0.4)
        assert!(near(damping.penalty(at(2_000), &CONFIG), 2_628.408_8));
        assert!(damping.is_suppressed(at(2_000), &CONFIG));
        let left = damping.reused_after(at(2_000), &CONFIG);
        assert!(near(left.as_secs_f64(), 6.970_948_5), "{left:?}");
        // Below 2000 after 2 s, and below 1000 after 5 s · log2(2.6284) = 6.971 s.
        assert!(damping.is_suppressed(at(4_500), &CONFIG));
        assert!(damping.is_suppressed(at(2_000 + 6_970), &CONFIG));
        assert!(!damping.is_suppressed(at(2_000 + 6_972), &CONFIG));
        // Used again: the next time down starts from what is left of the penalty.
        damping.note_down(at(8_973), &CONFIG);
        assert!(!damping.is_suppressed(at(8_973), &CONFIG));
        damping.note_down(at(8_974), &CONFIG);
        assert!(damping.is_suppressed(at(8_974), &CONFIG));
    }

    #[test]
    fn no_link_is_suppressed_for_longer_than_the_longest_time() {
        let mut damping = FlapDamping::default();
        (0..1_000).for_each(|millis| damping.note_down(at(millis), &CONFIG));
        assert!(near(damping.penalty(at(999), &CONFIG), 16_000.0));
        assert!(damping.is_suppressed(at(999 + 19_999), &CONFIG));
        assert!(!damping.is_suppressed(at(999 + 20_001), &CONFIG));
    }
}
