//! Feedback as permission for a number of frames, for links whose round trip is too long for the buffers (Karol,
//! section V).
//!
//! Both ends count the frames of a class on a link, modulo 65536. A grant (f, limit) permits frames of Level f and
//! above until the sender's count reaches the limit. The receiver grants only frames that it has room for: for each
//! grant that may still be in force, m_i ≥ (limit − arrived)·γmax for all i > f. This holds when the grant is made; an
//! arrival takes at most γmax from any m_i and one frame from every grant; everything else only increases m_i. So a
//! grant that is late, repeated or lost does no harm.
//!
//! A pause time has 16 bits: 1 for "grant", 5 for f, 10 for the limit modulo 1024.

use super::Budget;
use crate::level::Level;
use crate::units::Quanta;

const FLAG: u16 = 0x8000;
const LEVEL_SHIFT: u16 = 10;
const LIMIT_MASK: u16 = (1 << LEVEL_SHIFT) - 1;
/// Maximum number of frames permitted ahead: a limit further away has already passed.
const WINDOW_MAX: u16 = 256;

#[derive(Debug, Default)]
#[cfg_attr(feature = "testing", derive(Clone))]
pub(in crate::switch) struct GrantsGiven {
    arrived: u16,
    limit: u16,
    /// Difference between the neighbour's count and ours at its last request.
    missing: i16,
    synchronised: bool,
}

impl GrantsGiven {
    pub(in crate::switch) fn note_arrival(&mut self) {
        self.arrived = self.arrived.wrapping_add(1);
    }

    /// Adopts the count of frames that the neighbour had sent at its request. Missing frames are lost only if they were
    /// also missing at its previous request. An echo message may have overtaken frames, or frames it, and counting
    /// frames still in flight would permit frames for which there is no room. A neighbour that has restarted counts
    /// from zero.
    ///
    /// Returns true if the count differs from ours.
    pub(in crate::switch) fn synchronise(&mut self, sent: u16, begins_anew: bool) -> bool {
        let missing = sent.wrapping_sub(self.arrived) as i16;
        if !self.synchronised || begins_anew || missing.unsigned_abs() > WINDOW_MAX {
            let differs = self.synchronised && missing != 0;
            self.arrived = sent;
            self.limit = sent;
            self.missing = 0;
            self.synchronised = true;
            return differs;
        }
        let lost = if missing >= 0 {
            missing.min(self.missing.max(0))
        } else {
            missing.max(self.missing.min(0))
        };
        self.arrived = self.arrived.wrapping_add_signed(lost);
        self.missing = missing - lost;
        lost != 0
    }

    /// Returns true when the neighbour should be granted more: it has used up half of its maximum.
    pub(in crate::switch) fn is_due(&self, budget: &Budget) -> bool {
        let window = self.window(budget);
        let left = self.permitted();
        window > left && left <= window / 2
    }

    pub(in crate::switch) fn take(&mut self, budget: &Budget) -> Quanta {
        self.limit = self.arrived.wrapping_add(self.window(budget));
        let feedback = if self.synchronised {
            budget.feedback()
        } else {
            budget.depth()
        };
        Quanta(FLAG | (u16::from(feedback.get()) << LEVEL_SHIFT) | (self.limit & LIMIT_MASK))
    }

    /// Returns the number of frames that may still arrive under past grants.
    pub(in crate::switch) fn permitted(&self) -> u16 {
        let left = self.limit.wrapping_sub(self.arrived);
        if left > WINDOW_MAX {
            0
        } else {
            left
        }
    }

    fn window(&self, budget: &Budget) -> u16 {
        if budget.is_draining() {
            // Frames permitted by a loan stay permitted, and none are added.
            self.permitted()
        } else if self.synchronised {
            budget.room_above(budget.feedback()).min(WINDOW_MAX)
        } else {
            0
        }
    }
}

#[derive(Debug, Default)]
#[cfg_attr(feature = "testing", derive(Clone))]
pub(in crate::switch) struct GrantsTaken {
    sent: u16,
    limit: u16,
    /// The neighbour knows our count: later grants are valid.
    open: bool,
}

impl GrantsTaken {
    pub(in crate::switch) fn note_departure(&mut self) {
        self.sent = self.sent.wrapping_add(1);
    }

    pub(in crate::switch) fn sent(&self) -> u16 {
        self.sent
    }

    pub(in crate::switch) fn open(&mut self) {
        if !self.open {
            self.limit = self.sent;
            self.open = true;
        }
    }

    /// Ignores grants until the neighbour has answered again. The neighbour notices from a count that jumps.
    pub(in crate::switch) fn close(&mut self) {
        self.sent = self.sent.wrapping_add(u16::MAX / 2);
        (self.limit, self.open) = (self.sent, false);
    }

    pub(in crate::switch) fn is_grant(quanta: Quanta) -> bool {
        quanta.0 & FLAG != 0
    }

    /// Accepts a grant and returns its Feedback; `None` for another pause time, or before grants are valid.
    pub(in crate::switch) fn receive(&mut self, quanta: Quanta, depth: Level) -> Option<Level> {
        if !Self::is_grant(quanta) || !self.open {
            return None;
        }
        let feedback = Level::new(((quanta.0 & !FLAG) >> LEVEL_SHIFT) as u8)?.min(depth);
        let ahead = quanta.0.wrapping_sub(self.sent) & LIMIT_MASK;
        self.limit = self
            .sent
            .wrapping_add(if ahead > WINDOW_MAX { 0 } else { ahead });
        Some(feedback)
    }

    pub(in crate::switch) fn permits(&self) -> bool {
        self.limit != self.sent
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::level::Budgets;
    use crate::units::Bytes;

    const GAMMA: Bytes = Bytes::new(1000);

    fn level(number: u8) -> Level {
        Level::new(number).unwrap()
    }

    fn budget() -> Budget {
        let bytes = [3000, 1000].map(Bytes::new);
        Budget::new(&Budgets::new(&bytes).unwrap(), GAMMA, Bytes::ZERO)
    }

    #[test]
    fn grants_follow_the_room() {
        let (mut budget, mut given) = (budget(), GrantsGiven::default());
        let mut taken = GrantsTaken::default();
        assert_eq!(
            taken.receive(given.take(&budget), level(2)),
            None,
            "too early"
        );
        taken.open();
        assert_eq!(
            taken.receive(given.take(&budget), level(2)),
            Some(level(2)),
            "not synchronised: nothing"
        );
        given.synchronise(taken.sent(), true);
        assert!(given.is_due(&budget));
        assert_eq!(taken.receive(given.take(&budget), level(2)), Some(level(0)));
        // m = 3000, 4000: three frames of any Level.
        for _ in 0..3 {
            assert!(taken.permits());
            taken.note_departure();
            given.note_arrival();
            budget.store(level(1), GAMMA);
        }
        assert!(!taken.permits());
        // m = 0, 1000: one frame above Level 1.
        assert!(given.is_due(&budget));
        assert_eq!(taken.receive(given.take(&budget), level(2)), Some(level(1)));
        assert!(taken.permits());
        taken.note_departure();
        assert!(!taken.permits());
        assert!(!given.is_due(&budget), "it is still under way");
    }

    #[test]
    fn late_and_repeated_grants_permit_nothing_new() {
        let (budget, mut given) = (budget(), GrantsGiven::default());
        let mut taken = GrantsTaken::default();
        taken.open();
        given.synchronise(0, true);
        let grant = given.take(&budget);
        for _ in 0..2 {
            taken.receive(grant, level(2));
            taken.note_departure();
        }
        taken.receive(grant, level(2));
        taken.note_departure();
        assert!(!taken.permits());
        taken.note_departure();
        taken.receive(grant, level(2));
        assert!(!taken.permits(), "a limit that has passed");
    }

    #[test]
    fn lost_frames_are_made_up_for_by_the_second_echo() {
        let (budget, mut given) = (budget(), GrantsGiven::default());
        let mut taken = GrantsTaken::default();
        taken.open();
        given.synchronise(0, true);
        taken.receive(given.take(&budget), level(2));
        for _ in 0..3 {
            taken.note_departure();
        }
        assert!(
            !given.is_due(&budget),
            "three are under way, as far as known"
        );
        assert!(!given.synchronise(taken.sent(), false));
        assert!(!given.is_due(&budget), "they may have been overtaken");
        assert!(given.synchronise(taken.sent(), false), "the counts differ");
        assert!(given.is_due(&budget));
        taken.receive(given.take(&budget), level(2));
        assert!(taken.permits());
    }

    #[test]
    fn nothing_is_permitted_beyond_a_limit_that_arrivals_have_passed() {
        let mut given = GrantsGiven::default();
        given.synchronise(0, true);
        given.take(&budget());
        for permitted in [3, 2, 1, 0, 0] {
            assert_eq!(given.permitted(), permitted);
            given.note_arrival();
        }
    }
}
