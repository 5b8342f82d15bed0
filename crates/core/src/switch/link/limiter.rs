//! Rate limits on frames accepted from a port: a token bucket. Used for control frames here, and for flooded frames in
//! admission.

use crate::units::{Duration, Instant, NANOS_PER_SECOND};

/// A bucket holds the frames of this time at the rate, so that such a burst is accepted at once.
const BURST: Duration = Duration::from_millis(50);
/// Minimum capacity of a bucket.
const BURST_FRAMES_MIN: u64 = 32;

/// A token bucket in the form of the generic cell rate algorithm (ITU-T I.371, annex A): its only
/// state is one time.
#[derive(Clone, Copy, Debug)]
pub(in crate::switch) struct Limiter {
    /// Nanoseconds between two frames at the rate; zero for no limit.
    interval: u64,
    /// Maximum distance of the time into the future.
    tolerance: u64,
    full_at: Instant,
}

impl Limiter {
    /// Allows `rate` frames per second; `None` for unlimited.
    pub(in crate::switch) fn new(rate: Option<u32>) -> Self {
        let interval = rate.map_or(0, |rate| NANOS_PER_SECOND / u64::from(rate.max(1)));
        Self {
            interval,
            tolerance: (BURST_FRAMES_MIN * interval).max(BURST.as_nanos()),
            full_at: Instant::ZERO,
        }
    }

    /// Counts one more frame and returns true if it is within the limit.
    #[inline]
    pub(in crate::switch) fn take(&mut self, now: Instant) -> bool {
        if self.interval == 0 {
            return true;
        }
        let from = self.full_at.max(now);
        let ahead = from.saturating_since(now).as_nanos();
        if ahead + self.interval > self.tolerance {
            return false;
        }
        self.full_at = from + Duration::from_nanos(self.interval);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn without_a_limit_everything_is_admitted() {
        let mut limiter = Limiter::new(None);
        assert!((0..100_000).all(|_| limiter.take(Instant::ZERO)));
    }

    #[test]
    fn a_bucket_at_a_low_rate_holds_exactly_its_least_number_of_frames() {
        let mut limiter = Limiter::new(Some(100));
        let taken = (0..2 * BURST_FRAMES_MIN).filter(|_| limiter.take(Instant::ZERO));
        assert_eq!(taken.count() as u64, BURST_FRAMES_MIN);
    }

    proptest! {
        /// In any span, at most the rate and one bucket are accepted, and frames at the rate always are.
        #[test]
        fn no_span_has_more_than_the_rate_and_a_bucket(
            rate in 100u32..2_000_000,
            gaps in prop::collection::vec(0u64..2_000_000, 1..400),
        ) {
            let mut limiter = Limiter::new(Some(rate));
            let mut now = Instant::ZERO + Duration::from_secs(1);
            let mut taken = Vec::new();
            for gap in gaps {
                now = now + Duration::from_nanos(gap);
                // As many at once as a fast port has in one batch.
                for _ in 0..64 {
                    if limiter.take(now) {
                        taken.push(now.as_nanos());
                    }
                }
            }
            // Every span that begins and ends with a frame.
            for (first, begin) in taken.iter().enumerate().step_by(17) {
                for (last, end) in taken.iter().enumerate().skip(first).step_by(13) {
                    let span = limiter.tolerance + (end - begin);
                    let most = span / limiter.interval + 1;
                    prop_assert!((last - first + 1) as u64 <= most);
                }
            }
            let step = Duration::from_nanos(limiter.interval);
            let mut now = now + Duration::from_secs(1);
            for _ in 0..1000 {
                prop_assert!(limiter.take(now));
                now = now + step;
            }
        }
    }
}
