//! Feedback that may have released an arriving frame (Karol, Golestani and Lee, section V: "information about the
//! recent history (from time t0 − T to time t0) of feedback signals that were transmitted").

use crate::level::{Level, LEVEL_MAX};
use crate::units::{Duration, Instant};

/// Of this many consecutive signals, at least one is assumed to be received.
const HEARD_OF: usize = 3;

/// Feedback recently sent to a neighbour for one (port, class).
///
/// An arriving frame was released by the last Feedback that its sender had received. That is the last one sent, or an
/// earlier one: signal and frame together take the round trip time T, and a signal can be lost. So a Feedback
/// counts until [`HEARD_OF`] later signals were sent, and for another T. The frame had at least the lowest
/// Level that counts; one more is the Level that it may get here without violating lemma 1.
#[derive(Clone, Debug)]
pub(in crate::switch) struct Told {
    lowest: Level,
    /// Time until which `lowest` is valid if nothing else is sent.
    known_until: Instant,
    /// T, and the time for which a Feedback lingers at the neighbour.
    window: Duration,
    /// The last signals, as a ring; `next` is the oldest.
    recent: [Level; HEARD_OF],
    next: usize,
    /// Time until which each Feedback counts; far in the future for one in `recent`.
    until: [Instant; LEVEL_MAX + 1],
}

impl Told {
    /// Creates the state before any Feedback. A replaced Feedback counts for `window`.
    pub(in crate::switch) fn new(window: Duration) -> Self {
        let mut until = [Instant::ZERO; LEVEL_MAX + 1];
        until[0] = Instant::FAR_FUTURE;
        Self {
            lowest: Level::ZERO,
            known_until: Instant::FAR_FUTURE,
            window,
            recent: [Level::ZERO; HEARD_OF],
            next: 0,
            until,
        }
    }

    pub(in crate::switch) fn set_window(&mut self, window: Duration) {
        self.window = window;
    }

    /// Forgets the signals: the neighbour is another one, and may send anything until its first Feedback.
    pub(in crate::switch) fn forget(&mut self) {
        *self = Self::new(self.window);
    }

    /// Records `feedback` sent to a neighbour that obeys it. O(1).
    #[inline]
    pub(in crate::switch) fn tell(&mut self, now: Instant, feedback: Level) {
        let old = core::mem::replace(&mut self.recent[self.next], feedback);
        self.next = (self.next + 1) % self.recent.len();
        if self.recent.contains(&old) {
            if feedback >= self.lowest {
                self.until[feedback.index()] = Instant::FAR_FUTURE;
                return;
            }
        } else {
            self.until[old.index()] = now + self.window;
        }
        self.until[feedback.index()] = Instant::FAR_FUTURE;
        self.find_lowest(now);
    }

    /// Returns the lowest Feedback that may have released a frame that arrives now. O(1), and O(D)
    /// once for each Feedback that no longer counts.
    #[inline]
    pub(in crate::switch) fn lowest(&mut self, now: Instant) -> Level {
        if now >= self.known_until {
            self.find_lowest(now);
        }
        self.lowest
    }

    #[inline(never)]
    fn find_lowest(&mut self, now: Instant) {
        let counts = |until: &Instant| *until > now;
        let lowest = self.until.iter().position(counts).unwrap_or(0);
        self.lowest = u8::try_from(lowest)
            .ok()
            .and_then(Level::new)
            .unwrap_or(Level::ZERO);
        self.known_until = self.until[lowest];
    }
}

#[cfg(feature = "testing")]
#[path = "digest/told.rs"]
mod digest;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn level(number: u8) -> Level {
        Level::new(number).unwrap()
    }

    fn at(micros: u64) -> Instant {
        Instant::ZERO + Duration::from_micros(micros)
    }

    #[test]
    fn feedback_counts_until_its_successor_must_have_arrived() {
        let mut told = Told::new(Duration::from_micros(100));
        assert_eq!(told.lowest(at(0)), level(0));
        for micros in [10, 20] {
            told.tell(at(micros), level(2));
            assert_eq!(told.lowest(at(micros + 200)), level(0), "both may be lost");
        }
        told.tell(at(240), level(2));
        assert_eq!(told.lowest(at(339)), level(0), "under way until then");
        assert_eq!(told.lowest(at(340)), level(2));
        told.tell(at(350), level(1));
        assert_eq!(
            told.lowest(at(350)),
            level(1),
            "what is lower counts at once"
        );
        told.forget();
        assert_eq!(told.lowest(at(351)), level(0));
    }

    proptest! {
        /// Compares the result with a list of all Feedback ever sent.
        #[test]
        fn the_lowest_equals_that_of_a_full_list(
            window in 0u64..50,
            steps in prop::collection::vec((0u64..30, prop::option::of(0u8..6)), 1..200),
        ) {
            let mut told = Told::new(Duration::from_micros(window));
            let mut list = vec![(0u64, 0u8); HEARD_OF];
            let mut now = 0;
            for (wait, feedback) in steps {
                now += wait;
                if let Some(feedback) = feedback {
                    told.tell(at(now), level(feedback));
                    list.push((now, feedback));
                }
                let counting = list.iter().enumerate().filter(|(index, _)| {
                    let heard = list.get(index + HEARD_OF);
                    heard.is_none_or(|(when, _)| when + window > now)
                });
                let lowest = counting.map(|(_, (_, feedback))| *feedback).min();
                prop_assert_eq!(Some(told.lowest(at(now)).get()), lowest);
            }
        }
    }
}
