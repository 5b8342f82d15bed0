//! The buffer budgets of one link's Receiving Queue: m_1 … m_D, and the resulting Levels and Feedback.

use crate::level::{Budgets, Level, LEVEL_MAX};
use crate::units::{Bytes, Instant};

/// The budgets of one (fabric port, priority) and the bytes stored under them, maintained by the four Buffer Management
/// Rules (section III).
///
/// Stored bytes are counted by Level, so that each rule costs O(1); every m_i follows from the counts by equation (8).
/// The Feedback is cached, because every frame reads it and few change it. It is computed, in O(D), only while more is
/// stored than b_1 has room for. Fields that every frame uses come first.
#[derive(Clone, Debug)]
#[repr(C)]
pub(in crate::switch) struct Budget {
    depth: Level,
    feedback: Level,
    closed: bool,
    /// Temporarily closed.
    barred: bool,
    overrun: bool,
    stored_total: Bytes,
    /// Up to this total, every m_i is large enough for Feedback 0: every sum is at least b_1.
    calm_up_to: Bytes,
    /// By Level from 1. Bytes at Level 0 count at Level 1: they use the same m_i.
    stored: [Bytes; LEVEL_MAX],
    /// b_1, then b_1 + b_2 and so on.
    sums: [Bytes; LEVEL_MAX],
    gamma_max: Bytes,
    /// rT of section V: bytes that may still arrive after a Feedback was sent.
    reserve: Bytes,
    /// The smallest b_i: the amount that a loan adds to m_D.
    least: Bytes,
    loan: Loan,
}

/// Loan of a release to Level D where a route is longer than D: frames that Feedback D would block indefinitely can
/// move on round their loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Loan {
    None,
    Active(Instant),
    /// Its time is over, but its frames have not left: nothing more is requested, but frames in flight are admitted.
    Draining,
}

impl Budget {
    /// Creates an empty Receiving Queue (rule 1). `gamma_max` is the longest frame, in whole cells like every length
    /// here.
    pub(in crate::switch) fn new(budgets: &Budgets, gamma_max: Bytes, reserve: Bytes) -> Self {
        let mut sums = [Bytes::ZERO; LEVEL_MAX];
        let mut sum = Bytes::ZERO;
        for (to, budget) in sums.iter_mut().zip(budgets.as_slice()) {
            sum += *budget;
            *to = sum;
        }
        let mut budget = Self {
            depth: budgets.depth(),
            feedback: Level::ZERO,
            closed: false,
            barred: false,
            overrun: false,
            gamma_max,
            reserve,
            stored_total: Bytes::ZERO,
            calm_up_to: sums[0].saturating_sub(gamma_max + reserve),
            stored: [Bytes::ZERO; LEVEL_MAX],
            sums,
            least: budgets.loan(),
            loan: Loan::None,
        };
        budget.find_feedback();
        budget
    }

    /// Iterates over m_1 … m_D: b_1 + … + b_i without the bytes stored at Levels up to i (equation
    /// 8). A loan does not count; its frames make m_D zero.
    pub(in crate::switch) fn m(&self) -> impl Iterator<Item = Bytes> + '_ {
        let counts = self.sums.iter().zip(&self.stored);
        counts
            .take(self.depth.index())
            .scan(Bytes::ZERO, |below, (sum, stored)| {
                *below += *stored;
                debug_assert!(
                    *sum >= *below || self.loan != Loan::None,
                    "m_i is never negative (equation 18)"
                );
                Some(sum.saturating_sub(*below))
            })
    }

    pub(in crate::switch) fn depth(&self) -> Level {
        self.depth
    }

    pub(in crate::switch) fn reserve(&self) -> Bytes {
        self.reserve
    }

    /// The Transmit Feedback: the largest j with m_j − rT < γmax, else 0 (section V).
    pub(in crate::switch) fn feedback(&self) -> Level {
        self.feedback
    }

    /// Returns the Level to which an arriving frame raises its destination: 1 + j, with the largest
    /// j for which m_j < γmax (equation 22). `None` when not even Level D has room: the neighbour
    /// did not obey, or the round trip is longer than assumed.
    #[inline(always)]
    pub(in crate::switch) fn arrival_level(&mut self) -> Option<Level> {
        if self.feedback == Level::ZERO {
            // No m_j is below γmax + rT, so none is below γmax; and there is a Level 1.
            self.overrun = false;
            return Level::ZERO.above();
        }
        let j = self.highest_below(self.gamma_max, self.loan != Loan::None);
        let level = j.above().filter(|level| *level <= self.depth);
        if level.is_some() {
            self.overrun = false;
        }
        level
    }

    /// Returns true for the first refusal of a span.
    pub(in crate::switch) fn note_refusal(&mut self) -> bool {
        !core::mem::replace(&mut self.overrun, true)
    }

    /// Rule 2: stores a frame at `level`.
    pub(in crate::switch) fn store(&mut self, level: Level, cells: Bytes) {
        self.stored[count_of(level)] += cells;
        self.stored_total += cells;
        if self.stored_total > self.calm_up_to {
            self.find_feedback();
        }
    }

    /// Rule 3: removes a frame at `level`.
    pub(in crate::switch) fn leave(&mut self, level: Level, cells: Bytes) {
        let stored = &mut self.stored[count_of(level)];
        debug_assert!(*stored >= cells, "what leaves was stored");
        *stored = stored.saturating_sub(cells);
        self.stored_total = self.stored_total.saturating_sub(cells);
        self.note_gain();
    }

    /// Rule 4: moves all frames to one destination at once.
    pub(in crate::switch) fn lift(&mut self, from: Level, to: Level, cells: Bytes) {
        let stored = &mut self.stored[count_of(from)];
        debug_assert!(*stored >= cells, "what is lifted was stored");
        *stored = stored.saturating_sub(cells);
        self.stored[count_of(to)] += cells;
        self.note_gain();
    }

    /// Returns the number of frames of Level `feedback` + 1 and above that fit, regardless of later changes
    /// of their Levels. O(D).
    pub(in crate::switch) fn room_above(&self, feedback: Level) -> u16 {
        let last = self.depth.index().saturating_sub(1);
        let lent = if self.is_lending() {
            self.room_of_loan()
        } else {
            Bytes::ZERO
        };
        let with_loan = |(index, m): (usize, Bytes)| if index == last { m.max(lent) } else { m };
        let least = self
            .m()
            .enumerate()
            .map(with_loan)
            .skip(feedback.index())
            .min();
        let frames = least.map_or(0, |m| m.get() / self.gamma_max.get());
        if self.closed || self.barred {
            0
        } else {
            u16::try_from(frames).unwrap_or(u16::MAX)
        }
    }

    /// Changes rT. Returns false if a budget has no room for it; then the largest that fits is used.
    pub(in crate::switch) fn set_reserve(&mut self, reserve: Bytes) -> bool {
        let most = self.least.saturating_sub(self.gamma_max);
        self.reserve = reserve.min(most);
        self.calm_up_to = self.sums[0].saturating_sub(self.gamma_max + self.reserve);
        self.find_feedback();
        reserve <= most
    }

    /// Closes the budget: Feedback D.
    pub(in crate::switch) fn close(&mut self) {
        self.closed = true;
        self.find_feedback();
    }

    /// Closes the budget while `barred`.
    pub(in crate::switch) fn bar(&mut self, barred: bool) {
        self.barred = barred;
        self.find_feedback();
    }

    /// Notes that some m_i have grown: the Feedback can only fall, and not below zero.
    fn note_gain(&mut self) {
        if self.feedback > Level::ZERO {
            self.find_feedback();
        }
    }

    #[inline(never)]
    fn find_feedback(&mut self) {
        self.feedback = if self.closed || self.barred {
            self.depth
        } else {
            self.highest_below(self.gamma_max + self.reserve, self.is_lending())
        };
    }

    /// Lends Level D as much as the smallest budget, until the later of `until` and the end of a present loan. The
    /// Feedback is then below D, unless an earlier loan has been used up.
    pub(in crate::switch) fn lend(&mut self, until: Instant) {
        self.loan = match self.loan {
            Loan::Active(earlier) => Loan::Active(earlier.max(until)),
            Loan::None | Loan::Draining => Loan::Active(until),
        };
        self.find_feedback();
    }

    pub(in crate::switch) fn lends_until(&self) -> Option<Instant> {
        match self.loan {
            Loan::Active(until) => Some(until),
            Loan::None | Loan::Draining => None,
        }
    }

    /// Returns true from the end of a loan until its frames have left.
    pub(in crate::switch) fn is_draining(&self) -> bool {
        self.loan == Loan::Draining
    }

    pub(in crate::switch) fn end_loan(&mut self, now: Instant) -> bool {
        let over = self.lends_until().is_some_and(|until| until <= now);
        if over {
            self.loan = Loan::Draining;
            self.find_feedback();
        }
        over
    }

    /// Forgets a loan that has ended, once the budgets alone have room for the frames that it may have put in flight:
    /// `permitted` frames, or those of a round trip.
    pub(in crate::switch) fn settle_loan(&mut self, permitted: u16) {
        let permitted = Bytes::new(u64::from(permitted) * self.gamma_max.get());
        let under_way = permitted.max(self.gamma_max + self.reserve);
        let last = self.depth.index().saturating_sub(1);
        if self.is_draining() && self.stored_total + under_way <= self.sums[last] {
            self.loan = Loan::None;
        }
    }

    fn is_lending(&self) -> bool {
        matches!(self.loan, Loan::Active(_))
    }

    fn room_of_loan(&self) -> Bytes {
        let last = self.depth.index().saturating_sub(1);
        (self.sums[last] + self.least).saturating_sub(self.stored_total)
    }

    #[inline(never)]
    fn highest_below(&self, bound: Bytes, with_loan: bool) -> Level {
        let mut highest = Level::ZERO;
        let mut below = highest;
        let mut level = Level::ZERO;
        for m in self.m() {
            level = level.above().unwrap_or(self.depth);
            if m < bound {
                below = highest;
                highest = level;
            }
        }
        if with_loan && highest == self.depth && self.room_of_loan() >= bound {
            return below;
        }
        highest
    }
}

fn count_of(level: Level) -> usize {
    level.index().max(1) - 1
}

#[cfg(feature = "testing")]
#[path = "digest/budget.rs"]
mod digest;

#[cfg(test)]
mod tests {
    use super::*;

    const GAMMA: Bytes = Bytes::new(1000);

    fn level(number: u8) -> Level {
        Level::new(number).unwrap()
    }

    fn bytes(list: &[u64]) -> Vec<Bytes> {
        list.iter().copied().map(Bytes::new).collect()
    }

    fn budget(reserve: u64) -> Budget {
        let budgets = Budgets::new(&bytes(&[3000, 1000, 1500])).unwrap();
        Budget::new(&budgets, GAMMA, Bytes::new(reserve))
    }

    fn m(budget: &Budget) -> Vec<Bytes> {
        budget.m().collect()
    }

    #[test]
    fn the_four_buffer_management_rules() {
        let mut budget = budget(0);
        assert_eq!(m(&budget), bytes(&[3000, 4000, 5500]), "rule 1, equation 9");
        budget.store(level(2), Bytes::new(700));
        assert_eq!(m(&budget), bytes(&[3000, 3300, 4800]), "rule 2");
        budget.store(level(1), Bytes::new(500));
        assert_eq!(m(&budget), bytes(&[2500, 2800, 4300]));
        budget.lift(level(1), level(3), Bytes::new(500));
        assert_eq!(m(&budget), bytes(&[3000, 3300, 4300]), "rule 4");
        budget.leave(level(2), Bytes::new(700));
        assert_eq!(m(&budget), bytes(&[3000, 4000, 5000]), "rule 3");
        budget.leave(level(3), Bytes::new(500));
        assert_eq!(m(&budget), bytes(&[3000, 4000, 5500]));
    }

    #[test]
    fn feedback_is_the_largest_level_without_room_for_a_frame_and_a_round_trip() {
        let mut budget = budget(500);
        assert_eq!(budget.feedback(), Level::ZERO);
        budget.store(level(1), Bytes::new(1500));
        assert_eq!(m(&budget), bytes(&[1500, 2500, 4000]));
        assert_eq!(budget.feedback(), Level::ZERO);
        budget.store(level(1), Bytes::new(100));
        assert_eq!(budget.feedback(), level(1));
        assert_eq!(
            budget.arrival_level(),
            Some(level(1)),
            "by the room that is there now"
        );
        budget.store(level(1), Bytes::new(900));
        assert_eq!(m(&budget), bytes(&[500, 1500, 3000]));
        assert_eq!(
            (budget.feedback(), budget.arrival_level()),
            (level(1), Some(level(2)))
        );
        budget.store(level(2), Bytes::new(700));
        assert_eq!(
            (budget.feedback(), budget.arrival_level()),
            (level(2), Some(level(3)))
        );
        budget.store(level(3), Bytes::new(1000));
        assert_eq!(m(&budget), bytes(&[500, 800, 1300]));
        assert_eq!(
            (budget.feedback(), budget.arrival_level()),
            (level(3), Some(level(3)))
        );
        budget.store(level(3), Bytes::new(500));
        assert_eq!(
            (budget.feedback(), budget.arrival_level()),
            (level(3), None)
        );
        assert!(budget.note_refusal());
        assert!(!budget.note_refusal(), "one span is reported once");
    }

    #[test]
    fn the_largest_counts_not_the_first() {
        // Frames of Level 2 use up room that Level 1 could have used.
        let mut budget = budget(0);
        budget.store(level(2), Bytes::new(3300));
        assert_eq!(m(&budget), bytes(&[3000, 700, 2200]));
        assert_eq!(budget.feedback(), level(2));
    }

    fn at(millis: u64) -> Instant {
        Instant::ZERO + crate::units::Duration::from_millis(millis)
    }

    #[test]
    fn a_loan_is_for_level_d_alone_and_is_let_in_until_it_has_left() {
        let mut budget = budget(0);
        budget.store(level(1), Bytes::new(2500));
        budget.store(level(3), Bytes::new(3000));
        assert_eq!(m(&budget), bytes(&[500, 1500, 0]));
        assert_eq!(budget.feedback(), level(3), "nothing comes in");
        budget.lend(at(5));
        assert_eq!(
            (budget.feedback(), budget.arrival_level()),
            (level(1), Some(level(2))),
            "as if Level D had room for one frame more"
        );
        budget.lend(at(3));
        assert_eq!(budget.lends_until(), Some(at(5)), "none is cut short");
        budget.store(level(3), GAMMA);
        assert_eq!(
            (budget.feedback(), budget.arrival_level()),
            (level(3), None),
            "it is used up"
        );
        budget.leave(level(3), GAMMA);
        assert_eq!(budget.feedback(), level(1));
        assert!(!budget.end_loan(at(4)));
        assert!(budget.end_loan(at(5)));
        assert_eq!(
            (budget.feedback(), budget.arrival_level()),
            (level(3), Some(level(2))),
            "nothing more is wanted, but what is under way is let in"
        );
        budget.store(level(3), GAMMA);
        assert_eq!(m(&budget), bytes(&[500, 1500, 0]), "never below nothing");
        for stored in [5500, 4500] {
            budget.settle_loan(0);
            assert!(budget.is_draining(), "{stored}");
            budget.leave(level(3), GAMMA);
        }
        budget.settle_loan(2);
        assert!(budget.is_draining(), "two frames may come yet");
        budget.settle_loan(1);
        assert!(!budget.is_draining());
        assert_eq!(budget.feedback(), level(1), "by the budgets again");
    }

    #[test]
    fn a_loan_has_room_for_a_frame_and_a_round_trip_whatever_is_stored() {
        for reserve in [0, 300, 500] {
            let budgets = Budgets::new(&bytes(&[3000, 1500, 1500])).unwrap();
            let mut budget = Budget::new(&budgets, GAMMA, Bytes::new(reserve));
            budget.store(level(3), budgets.total());
            assert_eq!(budget.feedback(), level(3));
            budget.lend(at(1));
            assert!(budget.feedback() < level(3), "rT = {reserve}");
        }
    }

    #[test]
    fn a_closed_budget_wants_nothing() {
        let mut budget = budget(0);
        budget.close();
        assert_eq!(budget.feedback(), level(3));
        assert_eq!(
            budget.arrival_level(),
            Some(level(1)),
            "what is under way is let in"
        );
    }
}
