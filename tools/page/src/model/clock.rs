//! Offset between a switch's clock and the local one.
//!
//! A switch reports times on its machine's monotonic clock. Each answer bounds the offset. The remote clock was read
//! after the request was sent and before the answer arrived, so ours minus theirs is at least `sent - theirs` and at
//! most `received - theirs`. The true offset lies in the intersection of these intervals. As clocks drift apart, an
//! interval grows by [`DRIFT`] at both ends with time, so old ones matter less. The middle of the intersection is the
//! estimate, and half its width the uncertainty. This bound does not depend on how the round trip is divided between
//! request and answer.

/// Maximum drift between two quartz clocks, in nanoseconds per second: 50 ppm each, and the same for clocks that are being
/// disciplined.
pub const DRIFT: i64 = 200_000;

/// One answer; all times in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sample {
    /// Local time before the request was sent.
    pub sent: i64,
    /// Local time after the answer had arrived.
    pub received: i64,
    /// Remote clock read in between, or at most `stale` before.
    pub theirs: i64,
    /// Maximum age of `theirs` when the request was sent.
    pub stale: i64,
}

/// Local minus remote clock, and its maximum error.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Offset {
    /// Offset in nanoseconds.
    pub nanos: i64,
    /// Maximum error in nanoseconds.
    pub uncertainty: i64,
}

impl Offset {
    /// Converts a remote time into a local one.
    pub fn to_ours(self, theirs: u64) -> i64 {
        i64::try_from(theirs)
            .unwrap_or(i64::MAX)
            .saturating_add(self.nanos)
    }
}

/// Estimate from all answers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Estimate {
    known: Option<Interval>,
    /// Number of detected jumps of the remote clock.
    pub jumps: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Interval {
    low: i64,
    high: i64,
    /// Local time of the estimate.
    at: i64,
}

impl Estimate {
    /// Adds an answer. If no drift explains it, the machine was restarted, and earlier answers are discarded.
    pub fn add(&mut self, sample: Sample) {
        let low = sample.sent.saturating_sub(sample.stale);
        let fresh = Interval {
            low: low.saturating_sub(sample.theirs),
            high: sample.received.saturating_sub(sample.theirs),
            at: low,
        };
        if fresh.low > fresh.high {
            return;
        }
        // The clocks may have drifted apart since theirs was read.
        let fresh = fresh.at_time(sample.received);
        let Some(before) = self.known else {
            self.known = Some(fresh);
            return;
        };
        let wider = before.at_time(sample.received);
        let both = Interval {
            low: wider.low.max(fresh.low),
            high: wider.high.min(fresh.high),
            at: fresh.at,
        };
        if both.low > both.high {
            self.jumps += 1;
            self.known = Some(fresh);
        } else {
            self.known = Some(both);
        }
    }

    /// Returns the offset at local time `now`; `None` before the first answer.
    pub fn offset(&self, now: i64) -> Option<Offset> {
        let interval = self.known?.at_time(now);
        let half = interval.high.saturating_sub(interval.low) / 2;
        Some(Offset {
            nanos: interval.low.saturating_add(half),
            uncertainty: half.saturating_add(1),
        })
    }

    /// Returns true unless the two clocks are known to differ.
    pub fn may_be_the_same(&self) -> bool {
        self.known
            .is_none_or(|interval| interval.low <= 0 && interval.high >= 0)
    }
}

impl Interval {
    fn at_time(self, now: i64) -> Self {
        let seconds = now.saturating_sub(self.at).max(0) / 1_000_000;
        let drift = seconds.saturating_mul(DRIFT) / 1_000;
        Self {
            low: self.low.saturating_sub(drift),
            high: self.high.saturating_add(drift),
            at: now.max(self.at),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const SECOND: i64 = 1_000_000_000;

    fn sample(sent: i64, received: i64, theirs: i64) -> Sample {
        Sample {
            sent,
            received,
            theirs,
            stale: 0,
        }
    }

    #[test]
    fn intervals_that_overlap_tell_more_than_each() {
        let mut estimate = Estimate::default();
        assert_eq!(estimate.offset(0), None);
        // The true offset is 1,000; the first answer was slow on the way back, the second request on the way there.
        estimate.add(sample(10_000, 10_900, 9_100));
        assert_eq!(
            estimate.offset(10_900).unwrap(),
            Offset {
                nanos: 1_350,
                uncertainty: 451
            }
        );
        estimate.add(sample(20_000, 20_900, 19_800));
        let both = estimate.offset(20_900).unwrap();
        assert_eq!(
            both,
            Offset {
                nanos: 1_000,
                uncertainty: 101
            }
        );
        // The uncertainty grows with time.
        assert_eq!(
            estimate.offset(20_900 + SECOND).unwrap().uncertainty,
            101 + DRIFT
        );
        assert_eq!(estimate.jumps, 0);
    }

    #[test]
    fn a_machine_that_was_started_again_has_another_clock() {
        let mut estimate = Estimate::default();
        estimate.add(sample(100 * SECOND, 100 * SECOND + 500, 40 * SECOND));
        estimate.add(sample(200 * SECOND, 200 * SECOND + 500, 3 * SECOND));
        assert_eq!(estimate.jumps, 1);
        let offset = estimate.offset(200 * SECOND + 500).unwrap();
        assert!((offset.nanos - 197 * SECOND).abs() <= offset.uncertainty);
        assert!(!estimate.may_be_the_same());
    }

    proptest! {
        /// For any delays and maximum drift, the true offset is within the bound.
        #[test]
        fn the_bound_holds(
            offset in -1_000_000_000_000_i64..1_000_000_000_000,
            drift in -DRIFT..DRIFT,
            polls in proptest::collection::vec((1_i64..2_000_000_000, 0_i64..50_000_000, 0_i64..50_000_000, 0_i64..250_000_000), 1..40),
        ) {
            let (mut now, mut estimate) = (5_000_000_000_i64, Estimate::default());
            let truth = |now: i64| offset + (i128::from(now) * i128::from(drift) / i128::from(SECOND)) as i64;
            for (pause, there, back, age) in polls {
                now += pause;
                let (sent, read) = (now, now + there);
                now = read + back;
                // Older than the request by at most `stale`.
                let of = read - age;
                estimate.add(Sample { sent, received: now, theirs: of - truth(of), stale: 250_000_000 });
                let told = estimate.offset(now).unwrap();
                prop_assert!((told.nanos - truth(now)).abs() <= told.uncertainty + 1_000, "{told:?} {}", truth(now));
                prop_assert_eq!(estimate.jumps, 0);
            }
        }

        #[test]
        fn no_answer_overflows(sent: i64, received: i64, theirs: i64, now: i64) {
            let mut estimate = Estimate::default();
            estimate.add(sample(sent, received, theirs));
            estimate.add(sample(theirs, sent, received));
            let _ = estimate.offset(now);
        }
    }
}
