//! Spans of pauses, from repeated readings of the switch's [`PauseGauges`].

use weir_core::switch::PauseGauges;
use weir_core::{Duration, Instant};

/// An observed pause.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// Its start, as recorded by the switch core.
    pub from: Instant,
    /// Its end; `None` if it lasts.
    pub to: Option<Instant>,
    /// Earlier pauses that began and ended between two readings, and were followed by another one there: their times
    /// are unknown.
    pub unseen: u64,
    /// Their total time, including the rest of the previous pause.
    pub unseen_time: Duration,
}

/// Follows the pauses of one (port, priority) in one direction.
///
/// A reading has the exact start and end of the last pause. Of several pauses between two readings the last one becomes
/// a span, and the others are counted.
#[derive(Clone, Debug, Default)]
pub struct Spans {
    last: Option<(Instant, PauseGauges)>,
    spans: Vec<Span>,
}

impl Spans {
    /// Adds a reading of time `at`. A pause in progress at the first reading is a span; earlier ones are not.
    pub fn read(&mut self, at: Instant, gauges: PauseGauges) {
        let (before, previous) = match self.last.replace((at, gauges)) {
            Some((before, previous)) => (before, previous),
            None => {
                if gauges.active {
                    self.begin(&gauges, 0, Duration::ZERO);
                }
                return;
            }
        };
        let mut previous = previous;
        if gauges.begun < previous.begun || gauges.total < previous.total {
            // The switch was restarted and counts from zero.
            self.end(previous.active.then_some(before));
            previous = PauseGauges::default();
        }
        let begun = gauges.begun - previous.begun;
        if begun == 0 {
            if !gauges.active {
                self.end(gauges.last_ended);
            }
            return;
        }
        // Time of the pauses before the last one, since the previous reading.
        let began = gauges.last_began.unwrap_or(at);
        let ended = if gauges.active {
            at
        } else {
            gauges.last_ended.unwrap_or(at)
        };
        let since = gauges.total.saturating_sub(previous.total);
        let rest = since.saturating_sub(ended.saturating_since(began));
        if begun == 1 {
            self.end(previous.active.then_some(before + rest));
            self.begin(&gauges, 0, Duration::ZERO);
        } else {
            self.end(previous.active.then_some(before));
            self.begin(&gauges, begun - 1, rest);
        }
        if !gauges.active {
            self.end(gauges.last_ended);
        }
    }

    fn begin(&mut self, gauges: &PauseGauges, unseen: u64, unseen_time: Duration) {
        let Some(from) = gauges.last_began else {
            return;
        };
        self.spans.push(Span {
            from,
            to: None,
            unseen,
            unseen_time,
        });
    }

    fn end(&mut self, at: Option<Instant>) {
        if let Some(last) = self.spans.last_mut() {
            last.to = last.to.or(at);
        }
    }

    /// The spans, oldest first.
    pub fn spans(&self) -> &[Span] {
        &self.spans
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(nanos: u64) -> Instant {
        Instant::from_nanos(nanos)
    }

    /// The gauges of these pauses at `now`, when the last one may still be in progress.
    fn gauges(pauses: &[(u64, u64)], now: u64) -> PauseGauges {
        let begun: Vec<_> = pauses.iter().filter(|(from, _)| *from <= now).collect();
        let length = |(from, to): &&(u64, u64)| now.min(*to) - from;
        let ended = begun.iter().map(|(_, to)| *to).filter(|to| *to <= now);
        PauseGauges {
            begun: begun.len() as u64,
            active: begun.last().is_some_and(|(_, to)| *to > now),
            last_began: begun.last().map(|(from, _)| at(*from)),
            last_ended: ended.max().map(at),
            total: Duration::from_nanos(begun.iter().map(length).sum()),
            longest: Duration::ZERO,
        }
    }

    fn read(pauses: &[(u64, u64)], readings: &[u64]) -> Vec<(u64, Option<u64>, u64, u64)> {
        let mut spans = Spans::default();
        for now in readings {
            spans.read(at(*now), gauges(pauses, *now));
        }
        let spans = spans.spans().iter().map(|span| {
            let to = span.to.map(Instant::as_nanos);
            let unseen = (span.unseen, span.unseen_time.as_nanos());
            (span.from.as_nanos(), to, unseen.0, unseen.1)
        });
        spans.collect()
    }

    #[test]
    fn one_pause_between_two_readings_is_exact() {
        let pauses = [(5, 12), (17, 23), (31, 60)];
        assert_eq!(
            read(&pauses, &[0, 10, 20, 30, 40]),
            [(5, Some(12), 0, 0), (17, Some(23), 0, 0), (31, None, 0, 0)]
        );
        assert_eq!(
            read(&pauses, &[20, 100]),
            [(17, Some(23), 0, 0), (31, Some(60), 0, 0)],
            "what was over before the first reading is none of the record's"
        );
    }

    #[test]
    fn several_pauses_between_two_readings_are_counted_with_their_time() {
        let pauses = [(5, 12), (13, 14), (15, 18), (19, 25)];
        assert_eq!(
            read(&pauses, &[0, 10, 30]),
            [(5, Some(10), 0, 0), (19, Some(25), 2, 2 + 1 + 3)]
        );
    }
}
