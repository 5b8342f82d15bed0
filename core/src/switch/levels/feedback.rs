//! Transmit Feedback on its way: what to tell a neighbour and when, and what a neighbour has told us.
//!
//! Feedback f goes as a pause time of 1 + f quanta followed at once by zero (section IV), so that a
//! neighbour that knows nothing of Levels does not stop. It is sent when it changes and refreshed. Three
//! things go beyond the paper:
//!
//! * Feedback D, which lets nothing out, is sent to a neighbour that may be a regular one as an ordinary
//!   XOFF. Both kinds obey it, so that a regular neighbour's frames are not lost either.
//! * A Feedback from a neighbour that is not known to be enhanced, with no zero behind it, holds everything until its next
//!   word. Such a neighbour takes us for enhanced, and 1 + D of its D may be all that it says when nothing may be sent;
//!   whatever the two ends take each other for, nothing is lost. No pause that means to be one is as short as that:
//!   32 quanta are the time of 2 KiB.
//! * A Feedback that may have got lost is repeated not only by time but also whenever part of the reserve
//!   for the round trip has arrived since it was sent (see `SwitchConfig::reserve`).

use crate::config::Neighbour;
use crate::level::{Level, LEVEL_MAX};
use crate::units::{Bytes, Duration, Instant, Quanta};

/// A change is told again after a sixteenth of the refresh interval, then an eighth, and so on up to the
/// whole: a link that loses a tenth of all frames all but never keeps a neighbour waiting for more than one
/// interval.
const EARLY_REPEATS: u8 = 4;
/// Refreshes of Feedback 0 at the usual interval; later ones come [`CALM`] times as slowly.
const EAGER_REFRESHES: u8 = 8;
const CALM: u64 = 100;

/// Refreshes that may be missing before a neighbour's Feedback counts no more: it is gone, or another.
const REFRESHES_MISSED: u64 = 16;

/// One entry of a PFC frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::switch) struct Signal {
    pub(in crate::switch) quanta: Quanta,
    /// A second frame with zero follows at once.
    pub(in crate::switch) then_zero: bool,
    /// An ordinary XOFF.
    pub(in crate::switch) is_xoff: bool,
}

/// How often, and with what.
#[derive(Clone, Copy, Debug)]
pub(in crate::switch) struct Manner {
    pub(in crate::switch) neighbour: Neighbour,
    pub(in crate::switch) depth: Level,
    pub(in crate::switch) refresh: Duration,
    pub(in crate::switch) pause_time: Quanta,
    /// After half of it, an XOFF is refreshed at the latest.
    pub(in crate::switch) pause_span: Duration,
}

/// What we tell the neighbour on one (port, priority).
#[derive(Debug)]
#[cfg_attr(feature = "testing", derive(Clone))]
pub(in crate::switch) struct FeedbackSent {
    /// Nobody listens: there is never anything to tell.
    silent: bool,
    told: Level,
    /// The last signal was an XOFF.
    holds: bool,
    repeat: bool,
    refresh_at: Instant,
    /// How often the same was told before.
    told_before: u8,
    arrived_since: Bytes,
}

impl FeedbackSent {
    /// The neighbour may know a Feedback of an earlier life of ours: the first one is due at once.
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

    /// For a class whose neighbours do not obey Feedback.
    pub(in crate::switch) fn silent() -> Self {
        Self {
            silent: true,
            refresh_at: Instant::FAR_FUTURE,
            ..Self::new()
        }
    }

    /// What was told last.
    pub(in crate::switch) fn told(&self) -> Level {
        self.told
    }

    /// When the Feedback is to be told again.
    pub(in crate::switch) fn refresh_at(&self) -> Instant {
        self.refresh_at
    }

    /// True when there is something to tell.
    pub(in crate::switch) fn is_due(&self, feedback: Level) -> bool {
        !self.silent && (self.repeat || feedback != self.told)
    }

    /// True when Feedback 0 was told last and is not to be repeated now.
    pub(in crate::switch) fn is_calm(&self) -> bool {
        self.told == Level::ZERO && !self.repeat
    }

    /// A frame of `cells` came in; `part` of the reserve makes us repeat what restricts.
    pub(in crate::switch) fn note_arrival(&mut self, cells: Bytes, part: Bytes) {
        if self.told > Level::ZERO {
            self.arrived_since += cells;
            self.repeat |= self.arrived_since >= part;
        }
    }

    /// Makes a refresh due when it is time. True when it is.
    pub(in crate::switch) fn refresh(&mut self, now: Instant) -> bool {
        if self.refresh_at > now {
            return false;
        }
        self.refresh_at = Instant::FAR_FUTURE;
        self.repeat = true;
        true
    }

    /// Makes the Feedback due as if it had never been told: the neighbour is another one, or there is more to it.
    pub(in crate::switch) fn tell_anew(&mut self) {
        self.repeat = true;
        self.told_before = 0;
    }

    /// What goes out now, if anything does.
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

    /// Until the same is told again.
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

/// What the neighbour has told us on one (port, priority).
#[derive(Debug)]
#[cfg_attr(feature = "testing", derive(Clone))]
pub(in crate::switch) struct FeedbackReceived {
    feedback: Level,
    /// While a Feedback with no zero behind it holds everything: what is obeyed when the zero has come.
    once_followed: Option<Level>,
    expires_at: Instant,
}

impl FeedbackReceived {
    pub(in crate::switch) fn new() -> Self {
        Self {
            feedback: Level::ZERO,
            once_followed: None,
            expires_at: Instant::FAR_FUTURE,
        }
    }

    /// f: frames below this Level stay.
    pub(in crate::switch) fn feedback(&self) -> Level {
        self.feedback
    }

    /// The Feedback that a pause time stands for, if it can be one, whatever the neighbour's D.
    pub(in crate::switch) fn decode(quanta: Quanta) -> Option<Level> {
        const _: () = assert!(LEVEL_MAX < u8::MAX as usize);
        let feedback = u8::try_from(quanta.0.checked_sub(1)?).ok()?;
        Level::new(feedback)
    }

    /// A Feedback from a neighbour that is taken for `neighbour`, for a class of D = `depth`.
    pub(in crate::switch) fn receive_from(
        &mut self,
        now: Instant,
        neighbour: Neighbour,
        feedback: Level,
        depth: Level,
        refresh: Duration,
    ) {
        if neighbour == Neighbour::Enhanced || feedback == Level::ZERO {
            return self.receive(now, feedback.min(depth), refresh);
        }
        self.receive(now, depth, refresh);
        let obeys = neighbour == Neighbour::Unknown && feedback <= depth;
        self.once_followed = Some(if obeys { feedback } else { Level::ZERO });
    }

    /// A pause time that is no Feedback came in: zero, or an ordinary pause, which holds by itself.
    pub(in crate::switch) fn note_other(&mut self) {
        if let Some(feedback) = self.once_followed.take() {
            self.feedback = feedback;
        }
    }

    pub(in crate::switch) fn receive(&mut self, now: Instant, feedback: Level, refresh: Duration) {
        self.once_followed = None;
        self.feedback = feedback;
        self.expires_at = if feedback == Level::ZERO {
            Instant::FAR_FUTURE
        } else {
            now + refresh.saturating_mul(REFRESHES_MISSED)
        };
    }

    /// When the Feedback stops to count.
    pub(in crate::switch) fn expires_at(&self) -> Instant {
        self.expires_at
    }

    /// True once when the neighbour has refreshed nothing for so long that what it said counts no more.
    pub(in crate::switch) fn expire(&mut self, now: Instant) -> bool {
        let expired = self.expires_at <= now;
        if expired {
            *self = Self::new();
        }
        expired
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
    fn changes_are_told_once_and_refreshed() {
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
    fn another_neighbour_is_told_in_its_own_manner() {
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
    fn arrivals_under_restriction_make_it_be_repeated() {
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
    }

    #[test]
    fn calm_feedback_is_refreshed_ever_more_seldom() {
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

    #[test]
    fn what_a_neighbour_said_expires_without_refresh() {
        let refresh = Duration::from_millis(10);
        let mut received = FeedbackReceived::new();
        received.receive(at(0), level(2), refresh);
        assert_eq!(received.feedback(), level(2));
        assert!(!received.expire(at(159)));
        assert!(received.expire(at(160)));
        assert_eq!(received.feedback(), Level::ZERO);
        assert!(!received.expire(at(1000)));
    }

    #[test]
    fn small_pause_times_are_feedback() {
        let decode = |quanta| FeedbackReceived::decode(Quanta(quanta));
        let most = LEVEL_MAX as u16;
        assert_eq!(decode(0), None);
        assert_eq!(decode(1), Some(level(0)));
        assert_eq!(decode(1 + most), Some(level(LEVEL_MAX as u8)));
        assert_eq!(decode(2 + most), None);
        assert_eq!(decode(65_535), None);
    }

    #[test]
    fn what_no_zero_follows_holds_everything_unless_the_neighbour_is_enhanced() {
        let refresh = Duration::from_millis(10);
        // Feedback 0 to 4 of a neighbour, with D = 3 here: obeyed at first, and with a zero behind it.
        let obeyed = |neighbour, feedback| {
            let mut received = FeedbackReceived::new();
            received.receive_from(at(0), neighbour, level(feedback), level(3), refresh);
            let alone = received.feedback().get();
            received.note_other();
            (alone, received.feedback().get())
        };
        let of = |neighbour| [0, 1, 3, 4].map(|feedback| obeyed(neighbour, feedback));
        assert_eq!(of(Neighbour::Enhanced), [(0, 0), (1, 1), (3, 3), (3, 3)]);
        assert_eq!(of(Neighbour::Unknown), [(0, 0), (3, 1), (3, 3), (3, 0)]);
        assert_eq!(of(Neighbour::Regular), [(0, 0), (3, 0), (3, 0), (3, 0)]);
        let mut received = FeedbackReceived::new();
        received.receive_from(at(0), Neighbour::Regular, level(2), level(3), refresh);
        assert!(!received.expire(at(159)));
        assert!(received.expire(at(160)), "its next word never came");
        assert_eq!(received.feedback(), level(0));
    }
}
