//! Transmit Feedback to a neighbour: contents and times. Frames released by a neighbour's Feedback are in
//! [`received`](super::received).
//!
//! Feedback f is sent as a pause time of 1 + f quanta followed at once by zero (section IV), so that a neighbour
//! without Levels does not stop. It is sent on every change and refreshed. Two things go beyond the paper:
//!
//! * Feedback D, which blocks everything, is sent as an ordinary XOFF to a neighbour that may be a regular one. Both
//!   kinds obey it, so that a regular neighbour's frames are not lost either.
//! * A Feedback that may have been lost is repeated not only by time, but also whenever part of the reserve for the
//!   round trip has arrived since it was sent (see `SwitchConfig::reserve`).

use crate::config::Neighbour;
use crate::level::Level;
use crate::units::{Bytes, Duration, Instant, Quanta};

/// A change is repeated after a sixteenth of the refresh interval, then an eighth, and so on up to the whole. A link
/// that loses a tenth of all frames therefore hardly ever delays a change by more than one interval.
const EARLY_REPEATS: u8 = 4;
/// Refreshes of Feedback 0 at the usual interval; later ones are [`CALM`] times less frequent.
const EAGER_REFRESHES: u8 = 8;
const CALM: u64 = 100;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::switch) struct Signal {
    pub(in crate::switch) quanta: Quanta,
    pub(in crate::switch) then_zero: bool,
    pub(in crate::switch) is_xoff: bool,
}

#[derive(Clone, Copy, Debug)]
pub(in crate::switch) struct Manner {
    pub(in crate::switch) neighbour: Neighbour,
    pub(in crate::switch) depth: Level,
    pub(in crate::switch) refresh: Duration,
    pub(in crate::switch) pause_time: Quanta,
    /// An XOFF is refreshed after half of it at the latest.
    pub(in crate::switch) pause_span: Duration,
}

#[derive(Debug)]
#[cfg_attr(feature = "testing", derive(Clone))]
pub(in crate::switch) struct FeedbackSent {
    /// The neighbour does not obey Feedback: none is ever sent.
    silent: bool,
    told: Level,
    holds: bool,
    repeat: bool,
    refresh_at: Instant,
    told_before: u8,
    arrived_since: Bytes,
}

impl FeedbackSent {
    /// The neighbour may have a Feedback from before our restart: the first one is due at once.
    pub(in crate::switch) fn new() -> Self {
        Self {
            silent: false,
            told: Level::ZERO,
            holds: false,
            repeat: false,
            refresh_at: Instant::ZERO,
            told_before: 0,
            arrived_since: Bytes::ZERO,
        }
    }

    /// For a class whose neighbours ignore Feedback.
    pub(in crate::switch) fn silent() -> Self {
        Self {
            silent: true,
            refresh_at: Instant::FAR_FUTURE,
            ..Self::new()
        }
    }

    pub(in crate::switch) fn told(&self) -> Level {
        self.told
    }

    pub(in crate::switch) fn refresh_at(&self) -> Instant {
        self.refresh_at
    }

    pub(in crate::switch) fn is_due(&self, feedback: Level) -> bool {
        !self.silent && (self.repeat || feedback != self.told)
    }

    /// Returns true if the last Feedback sent was 0 and no repeat is due.
    pub(in crate::switch) fn is_calm(&self) -> bool {
        self.told == Level::ZERO && !self.repeat
    }

    /// Counts an arrived frame of `cells` bytes; after `part` of the reserve a restricting Feedback is repeated.
    pub(in crate::switch) fn note_arrival(&mut self, cells: Bytes, part: Bytes) {
        if self.told > Level::ZERO {
            self.arrived_since += cells;
            self.repeat |= self.arrived_since >= part;
        }
    }

    /// Makes a refresh due at its time. Returns true if it is due.
    pub(in crate::switch) fn refresh(&mut self, now: Instant) -> bool {
        if self.refresh_at > now {
            return false;
        }
        self.refresh_at = Instant::FAR_FUTURE;
        self.repeat = true;
        true
    }

    /// Makes the Feedback due as if it had never been sent: the neighbour is another one, or the Feedback carries more
    /// information.
    pub(in crate::switch) fn tell_anew(&mut self) {
        self.repeat = true;
        self.told_before = 0;
    }

    pub(in crate::switch) fn take(
        &mut self,
        now: Instant,
        feedback: Level,
        manner: &Manner,
    ) -> Option<Signal> {
        if !self.is_due(feedback) {
            return None;
        }
        let held = self.holds;
        let nothing_passes = feedback == manner.depth;
        self.holds = nothing_passes && manner.neighbour != Neighbour::Enhanced;
        self.told_before = if feedback == self.told {
            self.told_before.saturating_add(1)
        } else {
            0
        };
        self.told = feedback;
        self.repeat = false;
        self.arrived_since = Bytes::ZERO;
        self.refresh_at = now + self.interval(manner);
        if self.holds {
            return Some(Signal {
                quanta: manner.pause_time,
                then_zero: false,
                is_xoff: true,
            });
        }
        match manner.neighbour {
            Neighbour::Regular => {
                // Nothing to refresh until the next XOFF.
                self.refresh_at = Instant::FAR_FUTURE;
                held.then_some(Signal {
                    quanta: Quanta::ZERO,
                    then_zero: false,
                    is_xoff: false,
                })
            }
            neighbour => Some(Signal {
                quanta: Quanta(1 + u16::from(feedback.get())),
                then_zero: neighbour == Neighbour::Unknown,
                is_xoff: false,
            }),
        }
    }

    fn interval(&self, manner: &Manner) -> Duration {
        let is_calm =
            self.told == Level::ZERO && self.told_before >= EARLY_REPEATS + EAGER_REFRESHES;
        if is_calm {
            return manner.refresh.saturating_mul(CALM);
        }
        let early = EARLY_REPEATS.saturating_sub(self.told_before);
        let interval = manner.refresh.divided_by(1 << early);
        if self.holds {
            return interval.min(manner.pause_span.divided_by(2));
        }
        interval
    }
}

#[cfg(feature = "testing")]
#[path = "digest/feedback.rs"]
mod digest;

#[cfg(test)]
mod tests {
    use super::*;

    const PAUSE: Quanta = Quanta(65_535);

    fn level(number: u8) -> Level {
        Level::new(number).unwrap()
    }

    fn at(millis: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(millis)
    }

    fn at_micros(micros: u64) -> Instant {
        Instant::ZERO + Duration::from_micros(micros)
    }

    fn manner(neighbour: Neighbour) -> Manner {
        Manner {
            neighbour,
            depth: level(3),
            refresh: Duration::from_millis(16),
            pause_time: PAUSE,
            pause_span: Duration::from_millis(8),
        }
    }

    fn signal(quanta: u16, then_zero: bool, is_xoff: bool) -> Option<Signal> {
        Some(Signal {
            quanta: Quanta(quanta),
            then_zero,
            is_xoff,
        })
    }

    #[test]
    fn changes_are_sent_once_and_refreshed() {
        let manner = manner(Neighbour::Unknown);
        let mut sent = FeedbackSent::new();
        assert!(sent.refresh(at(0)));
        assert_eq!(sent.take(at(0), level(0), &manner), signal(1, true, false));
        assert_eq!(sent.take(at(1), level(0), &manner), None);
        assert_eq!(sent.take(at(1), level(2), &manner), signal(3, true, false));
        let mut now = at(1);
        for millis_later in [1, 2, 4, 8, 16, 16] {
            let due = now + Duration::from_millis(millis_later);
            assert_eq!(sent.refresh_at(), due);
            assert!(!sent.refresh(at_micros(due.as_nanos() / 1000 - 1)));
            assert!(sent.refresh(due));
            assert_eq!(sent.take(due, level(2), &manner), signal(3, true, false));
            now = due;
        }
    }

    #[test]
    fn the_highest_feedback_is_an_xoff_unless_the_neighbour_is_enhanced() {
        let unknown = manner(Neighbour::Unknown);
        let mut sent = FeedbackSent::new();
        assert_eq!(
            sent.take(at(0), level(3), &unknown),
            signal(PAUSE.0, false, true)
        );
        let mut now = at(0);
        for millis_later in [1, 2, 4, 4, 4] {
            let due = now + Duration::from_millis(millis_later);
            assert_eq!(sent.refresh_at(), due, "before the pause expires");
            assert!(sent.refresh(due));
            sent.take(due, level(3), &unknown);
            now = due;
        }
        assert_eq!(sent.take(now, level(2), &unknown), signal(3, true, false));

        let enhanced = manner(Neighbour::Enhanced);
        assert_eq!(
            sent.take(at(2), level(3), &enhanced),
            signal(4, false, false)
        );
        assert_eq!(
            sent.take(at(3), level(0), &enhanced),
            signal(1, false, false)
        );

        let regular = manner(Neighbour::Regular);
        assert_eq!(sent.take(at(4), level(1), &regular), None);
        assert_eq!(
            sent.take(at(5), level(3), &regular),
            signal(PAUSE.0, false, true)
        );
        assert_eq!(
            sent.take(at(6), level(2), &regular),
            signal(0, false, false)
        );
        assert_eq!(sent.take(at(7), level(0), &regular), None);
    }

    #[test]
    fn a_changed_neighbour_gets_its_own_form_of_feedback() {
        let [unknown, enhanced, regular] =
            [Neighbour::Unknown, Neighbour::Enhanced, Neighbour::Regular].map(manner);
        let xoff = signal(PAUSE.0, false, true);
        let told = |from: &Manner, to: &Manner, feedback| {
            let mut sent = FeedbackSent::new();
            sent.take(at(0), level(feedback), from);
            sent.tell_anew();
            sent.take(at(1), level(feedback), to)
        };
        assert_eq!(told(&unknown, &enhanced, 3), signal(4, false, false));
        assert_eq!(told(&regular, &enhanced, 3), signal(4, false, false));
        assert_eq!(told(&regular, &enhanced, 1), signal(2, false, false));
        assert_eq!(told(&enhanced, &regular, 3), xoff);
        assert_eq!(told(&enhanced, &unknown, 3), xoff);
        assert_eq!(told(&enhanced, &unknown, 1), signal(2, true, false));
        assert_eq!(told(&unknown, &regular, 3), xoff);
        assert_eq!(told(&unknown, &regular, 2), None, "nothing holds it");
    }

    #[test]
    fn restricted_arrivals_cause_a_repetition() {
        let manner = manner(Neighbour::Enhanced);
        let mut sent = FeedbackSent::new();
        sent.take(at(0), level(1), &manner);
        let part = Bytes::new(1000);
        sent.note_arrival(Bytes::new(600), part);
        assert_eq!(sent.take(at(1), level(1), &manner), None);
        sent.note_arrival(Bytes::new(600), part);
        assert_eq!(sent.take(at(1), level(1), &manner), signal(2, false, false));
        sent.note_arrival(Bytes::new(600), part);
        assert!(!sent.is_due(level(1)));
        sent.take(at(2), Level::ZERO, &manner);
        sent.note_arrival(part, part);
        assert!(!sent.is_due(Level::ZERO), "it restricts nothing");
    }

    #[test]
    fn calm_feedback_is_refreshed_ever_less_often() {
        let manner = manner(Neighbour::Enhanced);
        let mut sent = FeedbackSent::new();
        let mut now = at(0);
        for _ in 0..20 {
            now = now.max(sent.refresh_at());
            assert!(sent.refresh(now));
            sent.take(now, level(0), &manner);
        }
        assert_eq!(sent.refresh_at(), now + Duration::from_millis(1600));
        sent.take(now, level(1), &manner);
        sent.take(now, level(0), &manner);
        assert_eq!(sent.refresh_at(), now + Duration::from_millis(1));
    }
}
