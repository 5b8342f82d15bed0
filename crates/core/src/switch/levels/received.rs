//! Feedback received from a neighbour, and the frames that it releases. [`feedback`](super::feedback) sends our own.
//! Two rules go beyond the paper:
//!
//! * A Feedback without a trailing zero, from a neighbour that is not known to be enhanced, blocks everything until its
//!   next message. Such a neighbour treats us as enhanced, and 1 + D for its own D may be all that it sends
//!   when nothing may leave. No frame is lost, regardless of the two ends' assumptions about each other. A
//!   real pause is never that short: 32 quanta are the time of 2 KiB.
//! * A Feedback replaced by a higher one *lingers*: for the time of the longest frame on the line it releases one more
//!   frame. Lemma 3 promises moments of low Feedback, not that the line is free at one. If a neighbour's arrivals keep
//!   it just at its threshold, these moments are shorter than a frame, and the line is full of the traffic that keeps
//!   it there. Feedback D, which blocks everything, is obeyed at once.

use crate::config::Neighbour;
use crate::level::{Level, LEVEL_MAX};
use crate::units::{Duration, Instant, Quanta};

/// Missed refreshes after which a neighbour's Feedback expires: the neighbour is gone, or another one.
const REFRESHES_MISSED: u64 = 16;

#[derive(Debug)]
#[cfg_attr(feature = "testing", derive(Clone))]
pub(in crate::switch) struct FeedbackReceived {
    feedback: Level,
    /// While a Feedback without a trailing zero blocks everything: the Feedback to obey once the zero arrives.
    once_followed: Option<Level>,
    expires_at: Instant,
    /// Lower Feedback in force just before: one frame may still leave under it until `lingers_until`.
    before: Level,
    lingers_until: Instant,
    /// Time of the longest frame on the line; zero if there is no reserve for frames in flight.
    frame_time: Duration,
}

impl FeedbackReceived {
    /// Creates the state before the first Feedback. A Feedback lingers for `frame_time`.
    pub(in crate::switch) fn new(frame_time: Duration) -> Self {
        Self {
            feedback: Level::ZERO,
            once_followed: None,
            expires_at: Instant::FAR_FUTURE,
            before: Level::ZERO,
            lingers_until: Instant::ZERO,
            frame_time,
        }
    }

    /// f: frames below this Level are blocked.
    pub(in crate::switch) fn feedback(&self) -> Level {
        self.feedback
    }

    /// Returns the Feedback that applies to the next frame. One that came and went while the line was busy counts for
    /// one more frame; otherwise a neighbour that keeps the line full would never let a lower Level send.
    #[inline]
    pub(in crate::switch) fn lets_out_from(&self, now: Instant) -> Level {
        if now < self.lingers_until {
            self.before.min(self.feedback)
        } else {
            self.feedback
        }
    }

    #[inline]
    pub(in crate::switch) fn note_opportunity(&mut self) {
        self.lingers_until = Instant::ZERO;
    }

    /// Returns the Feedback that a pause time encodes, if it can be one for any D of the neighbour.
    pub(in crate::switch) fn decode(quanta: Quanta) -> Option<Level> {
        const _: () = assert!(LEVEL_MAX < u8::MAX as usize);
        let feedback = u8::try_from(quanta.0.checked_sub(1)?).ok()?;
        Level::new(feedback)
    }

    /// Takes a Feedback from a neighbour assumed to be `neighbour`, for a class of D = `depth`.
    pub(in crate::switch) fn receive_from(
        &mut self,
        now: Instant,
        neighbour: Neighbour,
        feedback: Level,
        depth: Level,
        refresh: Duration,
    ) {
        if neighbour == Neighbour::Enhanced || feedback == Level::ZERO {
            self.receive(now, feedback.min(depth), refresh);
            if feedback >= depth {
                // Blocks everything: a neighbour that shuts down relies on it.
                self.lingers_until = Instant::ZERO;
            }
            return;
        }
        self.receive(now, depth, refresh);
        // It is not yet known whether the neighbour uses Levels.
        self.lingers_until = Instant::ZERO;
        let obeys = neighbour == Neighbour::Unknown && feedback <= depth;
        self.once_followed = Some(if obeys { feedback } else { Level::ZERO });
    }

    /// Handles a pause time that is no Feedback: zero, or an ordinary pause, which blocks by itself.
    pub(in crate::switch) fn note_other(&mut self) {
        if let Some(feedback) = self.once_followed.take() {
            self.feedback = feedback;
        }
    }

    pub(in crate::switch) fn receive(&mut self, now: Instant, feedback: Level, refresh: Duration) {
        self.once_followed = None;
        // A later Feedback ends the lingering of an earlier one.
        let is_lowest = now >= self.lingers_until || self.feedback <= self.before;
        if feedback > self.feedback && is_lowest && self.frame_time > Duration::ZERO {
            self.before = self.feedback;
            self.lingers_until = now + self.frame_time;
        }
        self.feedback = feedback;
        self.expires_at = if feedback == Level::ZERO {
            Instant::FAR_FUTURE
        } else {
            now + refresh.saturating_mul(REFRESHES_MISSED)
        };
    }

    pub(in crate::switch) fn expires_at(&self) -> Instant {
        self.expires_at
    }

    /// Returns true once when the neighbour has missed so many refreshes that its Feedback expires.
    pub(in crate::switch) fn expire(&mut self, now: Instant) -> bool {
        let expired = self.expires_at <= now;
        if expired {
            self.forget();
        }
        expired
    }

    pub(in crate::switch) fn forget(&mut self) {
        *self = Self::new(self.frame_time);
    }
}

#[cfg(feature = "testing")]
#[path = "digest/received.rs"]
mod digest;

#[cfg(test)]
mod tests {
    use super::*;

    fn level(number: u8) -> Level {
        Level::new(number).unwrap()
    }

    fn at(millis: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(millis)
    }

    fn at_micros(micros: u64) -> Instant {
        Instant::ZERO + Duration::from_micros(micros)
    }

    #[test]
    fn feedback_that_came_and_went_lets_one_frame_out() {
        let refresh = Duration::from_millis(10);
        let mut received = FeedbackReceived::new(Duration::from_micros(12));
        received.receive(at_micros(0), level(2), refresh);
        received.note_opportunity();
        // Down and up again while the line is busy: 0 was in force until the second microsecond.
        for (micros, feedback) in [(1, 0), (2, 1), (3, 1), (4, 2)] {
            received.receive(at_micros(micros), level(feedback), refresh);
        }
        assert_eq!(received.feedback(), level(2));
        assert_eq!(received.lets_out_from(at_micros(13)), level(0));
        assert_eq!(received.lets_out_from(at_micros(14)), level(2), "too late");
        received.receive(at_micros(17), level(1), refresh);
        received.receive(at_micros(18), level(3), refresh);
        assert_eq!(received.lets_out_from(at_micros(18)), level(1));
        received.note_opportunity();
        assert_eq!(received.lets_out_from(at_micros(18)), level(3), "once");
    }

    #[test]
    fn feedback_d_is_obeyed_at_once() {
        let refresh = Duration::from_millis(10);
        let mut received = FeedbackReceived::new(Duration::from_micros(12));
        for feedback in [0, 1, 3] {
            received.receive_from(
                at_micros(1),
                Neighbour::Enhanced,
                level(feedback),
                level(3),
                refresh,
            );
        }
        assert_eq!(received.lets_out_from(at_micros(1)), level(3));
    }

    #[test]
    fn a_neighbour_without_levels_is_obeyed_at_once() {
        let refresh = Duration::from_millis(10);
        let mut received = FeedbackReceived::new(Duration::from_micros(12));
        received.receive_from(
            at_micros(1),
            Neighbour::Unknown,
            level(2),
            level(3),
            refresh,
        );
        assert_eq!(received.lets_out_from(at_micros(1)), level(3));
        received.note_other();
        assert_eq!(received.lets_out_from(at_micros(1)), level(2));
    }

    #[test]
    fn feedback_expires_without_refresh() {
        let refresh = Duration::from_millis(10);
        let mut received = FeedbackReceived::new(Duration::ZERO);
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
    fn a_pause_without_a_zero_stops_everything_unless_the_neighbour_is_enhanced() {
        let refresh = Duration::from_millis(10);
        // Feedback 0 to 4 of a neighbour, with D = 3 here: obeyed at first, and with a trailing zero.
        let obeyed = |neighbour, feedback| {
            let mut received = FeedbackReceived::new(Duration::ZERO);
            received.receive_from(at(0), neighbour, level(feedback), level(3), refresh);
            let alone = received.feedback().get();
            received.note_other();
            (alone, received.feedback().get())
        };
        let of = |neighbour| [0, 1, 3, 4].map(|feedback| obeyed(neighbour, feedback));
        assert_eq!(of(Neighbour::Enhanced), [(0, 0), (1, 1), (3, 3), (3, 3)]);
        assert_eq!(of(Neighbour::Unknown), [(0, 0), (3, 1), (3, 3), (3, 0)]);
        assert_eq!(of(Neighbour::Regular), [(0, 0), (3, 0), (3, 0), (3, 0)]);
        let mut received = FeedbackReceived::new(Duration::ZERO);
        received.receive_from(at(0), Neighbour::Regular, level(2), level(3), refresh);
        assert!(!received.expire(at(159)));
        assert!(received.expire(at(160)), "its next word never came");
        assert_eq!(received.feedback(), level(0));
    }
}
