//! A loop that comes back as soon as its release ends is released for longer: a loop that persists would
//! else flap between locked and released.

use crate::units::{Duration, Instant};

/// The longest release, in release periods.
pub const BACK_OFF_MAX: u64 = 8;

/// How often the loop through one (egress, priority) came back.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct BackOff {
    last: Option<Release>,
}

#[derive(Clone, Copy, Debug)]
struct Release {
    /// In release periods: 1, 2, 4, …
    factor: u64,
    /// When the suspicion that it answered had begun.
    suspicion: Instant,
    until: Instant,
}

impl BackOff {
    /// For how long to release at `now`, in a suspicion that began at `suspicion`. It doubles when the
    /// release of the suspicion before ended less than `quiet` before this one began; within one suspicion
    /// it stays as it is.
    pub(super) fn period(
        &mut self,
        now: Instant,
        suspicion: Instant,
        base: Duration,
        quiet: Duration,
    ) -> Duration {
        let factor = match self.last {
            Some(last) if last.suspicion == suspicion => last.factor,
            Some(last) if suspicion.saturating_since(last.until) < quiet => {
                (last.factor * 2).min(BACK_OFF_MAX)
            }
            _ => 1,
        };
        let period = base.saturating_mul(factor);
        self.last = Some(Release {
            factor,
            suspicion,
            until: now + period,
        });
        period
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BASE: Duration = Duration::from_millis(50);
    const QUIET: Duration = Duration::from_millis(400);

    fn at(millis: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(millis)
    }

    #[test]
    fn doubles_while_the_loop_comes_back_and_begins_anew_after_a_quiet_time() {
        let mut back_off = BackOff::default();
        let mut now = 0;
        for factor in [1, 2, 4, 8, 8] {
            let period = back_off.period(at(now), at(now), BASE, QUIET);
            assert_eq!(period, BASE.saturating_mul(factor));
            let again = back_off.period(at(now + 20), at(now), BASE, QUIET);
            assert_eq!(again, period, "the same suspicion");
            now += 20 + 50 * factor + 399;
        }
        let later = at(now + 1000);
        assert_eq!(back_off.period(later, later, BASE, QUIET), BASE);
    }
}
