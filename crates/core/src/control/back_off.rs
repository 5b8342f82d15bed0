//! Backoff for loops that return. A loop that closes again as soon as its release ends would flap between locked and
//! released: its frames are preferred for a while after the release, longer each time.

use crate::units::{Duration, Instant};

/// The longest preference, in release periods.
pub const BACK_OFF_MAX: u64 = 16;

/// Backoff of the preference for one (egress, priority) whose loop returned.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct BackOff {
    last: Option<Release>,
}

#[derive(Clone, Copy, Debug)]
struct Release {
    /// The preference in release periods: 0, 1, 2, 4, …
    factor: u64,
    /// Start of the suspicion that it answered.
    suspicion: Instant,
    until: Instant,
}

impl BackOff {
    /// Returns how long the loop's frames are preferred after a release at `now`, in a suspicion that began at
    /// `suspicion`. Zero the first time; doubles if the release and preference of the previous suspicion ended less
    /// than `quiet` before this one began. Constant within one suspicion.
    pub(super) fn preference(
        &mut self,
        now: Instant,
        suspicion: Instant,
        base: Duration,
        quiet: Duration,
    ) -> Duration {
        let factor = match self.last {
            Some(last) if last.suspicion == suspicion => last.factor,
            Some(last) if suspicion.saturating_since(last.until) < quiet => {
                (last.factor * 2).clamp(1, BACK_OFF_MAX)
            }
            _ => 0,
        };
        let preference = base.saturating_mul(factor);
        self.last = Some(Release {
            factor,
            suspicion,
            until: now + base + preference,
        });
        preference
    }
}

#[cfg(feature = "testing")]
#[path = "digest/back_off.rs"]
mod digest;

#[cfg(test)]
mod tests {
    use super::*;

    const BASE: Duration = Duration::from_millis(50);
    const QUIET: Duration = Duration::from_millis(400);

    fn at(millis: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(millis)
    }

    #[test]
    fn doubles_while_the_loop_returns_and_resets_after_a_quiet_time() {
        let mut back_off = BackOff::default();
        let mut now = 0;
        for factor in [0, 1, 2, 4, 8, 16, 16] {
            let preference = back_off.preference(at(now), at(now), BASE, QUIET);
            assert_eq!(preference, BASE.saturating_mul(factor));
            let again = back_off.preference(at(now + 20), at(now), BASE, QUIET);
            assert_eq!(again, preference, "the same suspicion");
            now += 20 + 50 * (1 + factor) + 399;
        }
        let later = at(now + 1000);
        let preference = back_off.preference(later, later, BASE, QUIET);
        assert_eq!(preference, Duration::ZERO);
    }
}
