//! What a switch's clock says when ours says something else.
//!
//! A switch tells moments on its machine's monotonic clock. Each answer bounds how far that is from ours: the clock that the
//! answer names was read after we had sent the request and before we had the answer. So ours minus theirs is at least
//! `sent - theirs` and at most `received - theirs`. What holds for all answers is where these intervals overlap; the oldest
//! are worth less and less, as two clocks drift apart: an interval grows by [`DRIFT`] at both ends with time. Its middle is
//! the estimate, half its width the uncertainty: a bound, whatever part of the round trip the way back takes.

/// Two quartz clocks drift apart by less, in nanoseconds for each second: 50 millionths each, and as much for a clock that is
/// being disciplined.
pub const DRIFT: i64 = 200_000;

/// One answer; all times in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sample {
    /// On our clock, before the request was sent.
    pub sent: i64,
    /// On our clock, after the answer had come.
    pub received: i64,
    /// What the other clock said in between, or at most `stale` before.
    pub theirs: i64,
    /// How old `theirs` may have been when the request was sent.
    pub stale: i64,
}

/// Ours minus theirs, and how wrong that may be.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Offset {
    /// Nanoseconds.
    pub nanos: i64,
    /// At most so many nanoseconds more or less.
    pub uncertainty: i64,
}

impl Offset {
    /// A moment of their clock on ours.
    pub fn to_ours(self, theirs: u64) -> i64 {
        i64::try_from(theirs)
            .unwrap_or(i64::MAX)
            .saturating_add(self.nanos)
    }
}

/// What all answers together say.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Estimate {
    known: Option<Interval>,
    /// How often the other clock was seen to have jumped.
    pub jumps: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Interval {
    low: i64,
    high: i64,
    /// When, on our clock.
    at: i64,
}

impl Estimate {
    /// Takes one more answer. One that no drift explains is of a machine that has been started again: what was known before
    /// is forgotten.
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
        // The two may have drifted apart since theirs was read.
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

    /// What is known at `now` on our clock; `None` before the first answer.
    pub fn offset(&self, now: i64) -> Option<Offset> {
        let interval = self.known?.at_time(now);
        let half = interval.high.saturating_sub(interval.low) / 2;
        Some(Offset {
            nanos: interval.low.saturating_add(half),
            uncertainty: half.saturating_add(1),
        })
    }

    /// True unless the two clocks are known to differ.
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
        // The truth is 1,000; the first answer was slow on the way back, the second on the way there.
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
        // Knowledge gets old.
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
        /// Whatever the delays, and with clocks that drift as far apart as they may: the truth is within the bound.
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
                // Older than the request at most by `stale`.
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
