//! The buffer budgets of one link's Receiving Queue: m_1 … m_D, and what follows from them.

use crate::level::{Budgets, Level, LEVEL_MAX};
use crate::units::Bytes;

/// m_i of one (fabric port, priority), kept by the four Buffer Management Rules (section III).
#[derive(Debug)]
pub(in crate::switch) struct Budget {
    depth: Level,
    /// The smallest b_i.
    least: Bytes,
    /// m_1 first.
    m: [Bytes; LEVEL_MAX],
    gamma_max: Bytes,
    /// rT of section V: what may still arrive once a Feedback was sent.
    reserve: Bytes,
    closed: bool,
    overrun: bool,
}

impl Budget {
    /// An empty Receiving Queue (rule 1). `gamma_max` is the longest frame, in whole cells like every
    /// length here.
    pub(in crate::switch) fn new(budgets: &Budgets, gamma_max: Bytes, reserve: Bytes) -> Self {
        let mut m = [Bytes::ZERO; LEVEL_MAX];
        let mut sum = Bytes::ZERO;
        for (m, budget) in m.iter_mut().zip(budgets.as_slice()) {
            sum += *budget;
            *m = sum;
        }
        Self {
            depth: budgets.depth(),
            least: budgets.as_slice().iter().copied().min().unwrap_or_default(),
            m,
            gamma_max,
            reserve,
            closed: false,
            overrun: false,
        }
    }

    /// m_1 … m_D.
    pub(in crate::switch) fn m(&self) -> &[Bytes] {
        &self.m[..self.depth.index()]
    }

    /// D.
    pub(in crate::switch) fn depth(&self) -> Level {
        self.depth
    }

    /// rT: what is kept free for frames that are under way when a Feedback is sent.
    pub(in crate::switch) fn reserve(&self) -> Bytes {
        self.reserve
    }

    /// The Transmit Feedback: the largest j with m_j − rT < γmax, else 0 (section V).
    pub(in crate::switch) fn feedback(&self) -> Level {
        if self.closed {
            return self.depth;
        }
        self.highest_below(self.gamma_max + self.reserve)
    }

    /// What a frame that arrives now raises its destination to: 1 + j, with the largest j for which
    /// m_j < γmax (equation 22). `None` when not even Level D has room: the neighbour did not obey, or
    /// the round trip is longer than was reckoned with.
    pub(in crate::switch) fn arrival_level(&mut self) -> Option<Level> {
        let j = self.highest_below(self.gamma_max);
        let level = j.above().filter(|level| *level <= self.depth);
        if level.is_some() {
            self.overrun = false;
        }
        level
    }

    /// True for the first refusal of a span.
    pub(in crate::switch) fn note_refusal(&mut self) -> bool {
        !core::mem::replace(&mut self.overrun, true)
    }

    /// Rule 2: a frame is stored at `level`.
    pub(in crate::switch) fn store(&mut self, level: Level, cells: Bytes) {
        for m in self.from(level) {
            debug_assert!(*m >= cells, "m_i is never negative (equation 18)");
            *m = m.saturating_sub(cells);
        }
    }

    /// Rule 3: a frame at `level` leaves.
    pub(in crate::switch) fn leave(&mut self, level: Level, cells: Bytes) {
        for m in self.from(level) {
            *m += cells;
        }
    }

    /// Rule 4, for all the frames to one destination at once.
    pub(in crate::switch) fn lift(&mut self, from: Level, to: Level, cells: Bytes) {
        let first = from.index().max(1) - 1;
        let last = to.index().max(1) - 1;
        for m in &mut self.m[first..last] {
            *m += cells;
        }
    }

    /// Whole frames of Level `feedback` + 1 and above that there is room for, whatever their Levels
    /// become. O(D).
    pub(in crate::switch) fn room_above(&self, feedback: Level) -> u16 {
        let least = self.m().iter().skip(feedback.index()).min();
        let frames = least.map_or(0, |m| m.get() / self.gamma_max.get());
        if self.closed {
            0
        } else {
            u16::try_from(frames).unwrap_or(u16::MAX)
        }
    }

    /// Changes rT. False when a budget has no room for it: then the largest that fits counts.
    pub(in crate::switch) fn set_reserve(&mut self, reserve: Bytes) -> bool {
        let most = self.least.saturating_sub(self.gamma_max);
        self.reserve = reserve.min(most);
        reserve <= most
    }

    /// Nothing more is wanted from the neighbour: Feedback D from now on.
    pub(in crate::switch) fn close(&mut self) {
        self.closed = true;
    }

    fn from(&mut self, level: Level) -> &mut [Bytes] {
        &mut self.m[level.index().max(1) - 1..self.depth.index()]
    }

    fn highest_below(&self, bound: Bytes) -> Level {
        let m = self.m();
        let above = m.iter().rev().take_while(|m| **m >= bound).count();
        Level::new((m.len() - above) as u8).unwrap_or(self.depth)
    }
}

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

    #[test]
    fn the_four_buffer_management_rules() {
        let mut budget = budget(0);
        assert_eq!(budget.m(), bytes(&[3000, 4000, 5500]), "rule 1, equation 9");
        budget.store(level(2), Bytes::new(700));
        assert_eq!(budget.m(), bytes(&[3000, 3300, 4800]), "rule 2");
        budget.store(level(1), Bytes::new(500));
        assert_eq!(budget.m(), bytes(&[2500, 2800, 4300]));
        budget.lift(level(1), level(3), Bytes::new(500));
        assert_eq!(budget.m(), bytes(&[3000, 3300, 4300]), "rule 4");
        budget.leave(level(2), Bytes::new(700));
        assert_eq!(budget.m(), bytes(&[3000, 4000, 5000]), "rule 3");
        budget.leave(level(3), Bytes::new(500));
        assert_eq!(budget.m(), bytes(&[3000, 4000, 5500]));
    }

    #[test]
    fn feedback_is_the_largest_level_without_room_for_a_frame_and_a_round_trip() {
        let mut budget = budget(500);
        assert_eq!(budget.feedback(), Level::ZERO);
        budget.store(level(1), Bytes::new(1500));
        assert_eq!(budget.m(), bytes(&[1500, 2500, 4000]));
        assert_eq!(budget.feedback(), Level::ZERO);
        budget.store(level(1), Bytes::new(100));
        assert_eq!(budget.feedback(), level(1));
        assert_eq!(
            budget.arrival_level(),
            Some(level(1)),
            "by the room that is there now"
        );
        budget.store(level(1), Bytes::new(900));
        assert_eq!(budget.m(), bytes(&[500, 1500, 3000]));
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
        assert_eq!(budget.m(), bytes(&[500, 800, 1300]));
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
        // Level 2's frames use up what Level 1 could have used.
        let mut budget = budget(0);
        budget.store(level(2), Bytes::new(3300));
        assert_eq!(budget.m(), bytes(&[3000, 700, 2200]));
        assert_eq!(budget.feedback(), level(2));
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
