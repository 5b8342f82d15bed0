//! Spans of time in which one end of a link pauses one priority of the other, in one direction.

use crate::units::{Duration, Instant};

/// Pauses of one priority in one direction, for [`gauges`](crate::Switch::gauges). A span begins with a pause while
/// none is in force. Later pauses prolong it. It ends with a resume, or when the time of the last pause is over.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PauseGauges {
    /// Number of spans begun.
    pub begun: u64,
    /// True during a span.
    pub active: bool,
    /// Start of the last span.
    pub last_began: Option<Instant>,
    /// End of the last completed span.
    pub last_ended: Option<Instant>,
    /// Total time, including the present span so far.
    pub total: Duration,
    /// Longest span, including the present one.
    pub longest: Duration,
}

/// Input of the pause gauges. Updated when a pause is sent or received; an expired span is closed by the next reader,
/// with its time of expiry.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::switch) struct PauseSpans {
    gauges: PauseGauges,
    /// End of the present span unless another pause changes it.
    until: Instant,
}

impl PauseSpans {
    /// Pauses the priority from `now` until `until`; resumes it if that is past.
    pub(in crate::switch) fn hold(&mut self, now: Instant, until: Instant) {
        if self.gauges.active && self.until <= now {
            self.end(self.until);
        }
        let holds = until > now;
        if holds && !self.gauges.active {
            self.gauges.active = true;
            self.gauges.begun += 1;
            self.gauges.last_began = Some(now);
        } else if !holds && self.gauges.active {
            self.end(now);
        }
        self.until = until;
    }

    pub(in crate::switch) fn at(mut self, now: Instant) -> PauseGauges {
        if self.gauges.active {
            if self.until <= now {
                self.end(self.until);
            } else {
                self.count(now);
            }
        }
        self.gauges
    }

    fn end(&mut self, at: Instant) {
        self.count(at);
        self.gauges.active = false;
        self.gauges.last_ended = Some(at);
    }

    fn count(&mut self, at: Instant) {
        let gauges = &mut self.gauges;
        let began = gauges.last_began.unwrap_or(at);
        let lasted = at.saturating_since(began);
        gauges.total += lasted;
        gauges.longest = gauges.longest.max(lasted);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn at(nanos: u64) -> Instant {
        Instant::from_nanos(nanos)
    }

    /// The slow model: spans computed from the complete history, each with the time up to which it lasts.
    fn model(told: &[(u64, u64)], now: u64) -> PauseGauges {
        let mut spans: Vec<(u64, u64)> = Vec::new();
        for (told_at, until) in told {
            match spans.last_mut() {
                Some((_, end)) if *end > *told_at => *end = *until,
                _ if until > told_at => spans.push((*told_at, *until)),
                _ => {}
            }
        }
        let lengths = || spans.iter().map(|(began, end)| end.min(&now) - began);
        let ended = spans.iter().map(|(_, end)| *end).filter(|end| *end <= now);
        PauseGauges {
            begun: spans.len() as u64,
            active: spans.iter().any(|(_, end)| *end > now),
            last_began: spans.last().map(|(began, _)| at(*began)),
            last_ended: ended.max().map(at),
            total: Duration::from_nanos(lengths().sum()),
            longest: Duration::from_nanos(lengths().max().unwrap_or(0)),
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(1000))]

        /// Pauses, refreshes and resumes at random times, some exactly when the previous one expires.
        #[test]
        fn spans_equal_those_of_a_full_list(
            steps in prop::collection::vec((0..12u64, prop_oneof![Just(0), 1..20u64], any::<bool>()), 1..60),
        ) {
            let (mut spans, mut told) = (PauseSpans::default(), Vec::new());
            let (mut now, mut until) = (1, 0);
            for (later, pause, at_expiry) in steps {
                now = if at_expiry { now.max(until) } else { now + later };
                until = now + pause;
                spans.hold(at(now), at(until));
                told.push((now, until));
                for seen in [now, now + 1, now + 7, now + 40] {
                    prop_assert_eq!(spans.at(at(seen)), model(&told, seen));
                }
            }
        }
    }

    #[test]
    fn a_pause_ends_when_it_expires_not_when_it_is_read() {
        let mut spans = PauseSpans::default();
        spans.hold(at(10), at(30));
        spans.hold(at(20), at(50));
        let shown = spans.at(at(1_000));
        assert_eq!((shown.begun, shown.active), (1, false));
        assert_eq!(shown.total, Duration::from_nanos(40));
        assert_eq!(shown.last_ended, Some(at(50)));
        // The next span starts at its own beginning.
        spans.hold(at(2_000), at(2_010));
        let shown = spans.at(at(2_005));
        assert_eq!((shown.begun, shown.active), (2, true));
        assert_eq!(shown.total, Duration::from_nanos(45));
        assert_eq!(shown.longest, Duration::from_nanos(40));
        assert_eq!(shown.last_began, Some(at(2_000)));
        assert_eq!(shown.last_ended, Some(at(50)));
    }
}
