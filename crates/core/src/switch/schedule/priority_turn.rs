//! Turns between the priorities of one port. Those that share by ingress port are one member together.

use crate::sets::PrioritySet;
use crate::units::{Priority, PRIORITY_COUNT};

/// Members of the turns: the priorities, and the joint one.
const MEMBER_COUNT: usize = PRIORITY_COUNT + 1;

/// A chosen member, and those that the turn leaves or skips because nothing may leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::switch) struct Chosen {
    /// `None` for the joint member.
    pub(in crate::switch) priority: Option<Priority>,
    pub(in crate::switch) passed: PrioritySet,
    pub(in crate::switch) passed_joint: bool,
}

#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub(in crate::switch) struct PriorityTurn {
    pub(in crate::switch) current: usize,
    pub(in crate::switch) deficits: [u64; MEMBER_COUNT],
}

impl PriorityTurn {
    /// [`choose`](Self::choose) for the case that only `priority` has anything to send.
    #[inline(always)]
    pub(in crate::switch) fn take_alone(
        &mut self,
        priority: Priority,
        quantum: impl FnOnce() -> u64,
        length: u64,
    ) {
        let index = priority.index();
        let deficit = &mut self.deficits[index];
        *deficit = if self.current != index {
            self.current = index;
            let quantum = quantum();
            (*deficit).min(quantum) + quantum - length
        } else if *deficit >= length {
            *deficit - length
        } else {
            quantum().saturating_sub(length)
        };
    }

    /// Chooses a priority whose next frame may leave, and returns the priorities that the turn leaves or skips because
    /// nothing may. `length_of` returns the next frame's length in bytes, `None` if nothing may leave. O(priorities).
    pub(in crate::switch) fn choose(
        &mut self,
        quantum_of: impl Fn(Priority) -> u64,
        length_of: impl Fn(Priority) -> Option<u32>,
    ) -> Option<(Priority, PrioritySet)> {
        let chosen = self.choose_beside(0, None, quantum_of, length_of)?;
        Some((chosen.priority?, chosen.passed))
    }

    /// [`choose`](Self::choose) in competition with the joint member, whose next frame has `joint` bytes.
    pub(in crate::switch) fn choose_beside(
        &mut self,
        joint_quantum: u64,
        joint: Option<u32>,
        quantum_of: impl Fn(Priority) -> u64,
        length_of: impl Fn(Priority) -> Option<u32>,
    ) -> Option<Chosen> {
        let priority_at = |index: usize| Priority::ALL.get(index).copied();
        let length_of = |index| priority_at(index).map_or(joint, &length_of).map(u64::from);
        let quantum_of = |index| priority_at(index).map_or(joint_quantum, &quantum_of);
        let mut chosen = Chosen {
            priority: None,
            passed: PrioritySet::default(),
            passed_joint: false,
        };
        for step in 0..MEMBER_COUNT {
            let index = match self.current + step {
                index if index < MEMBER_COUNT => index,
                index => index - MEMBER_COUNT,
            };
            chosen.priority = priority_at(index);
            let Some(length) = length_of(index) else {
                match chosen.priority {
                    Some(priority) => chosen.passed.insert(priority),
                    None => chosen.passed_joint = true,
                }
                continue;
            };
            let deficit = &mut self.deficits[index];
            if step == 0 && *deficit >= length {
                *deficit -= length;
                return Some(chosen);
            }
            if step == 0 {
                continue;
            }
            self.current = index;
            *deficit = (*deficit).min(quantum_of(index)) + quantum_of(index) - length;
            return Some(chosen);
        }
        // Only the present one has something to send: a new turn for it.
        let length = length_of(self.current)?;
        self.deficits[self.current] = quantum_of(self.current).saturating_sub(length);
        chosen.priority = priority_at(self.current);
        Some(chosen)
    }

    /// [`choose`](Self::choose) without a change: the state after it, the priority, and its next frame's length in bytes.
    pub(in crate::switch) fn peek(
        &self,
        quantum: u64,
        length_of: impl Fn(Priority) -> Option<u32>,
    ) -> Option<(Self, Priority, u32)> {
        let mut after = *self;
        let (priority, _) = after.choose(|_| quantum, &length_of)?;
        Some((after, priority, length_of(priority)?))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn priorities_share_by_weight_in_bytes() {
        let mut turn = PriorityTurn::default();
        let weights = [1u64, 0, 0, 3, 0, 0, 0, 0];
        let lengths = [Some(1500u32), None, None, Some(500), None, None, None, None];
        let mut bytes = [0u64; PRIORITY_COUNT];
        for _ in 0..5000 {
            let (priority, _) = turn
                .choose(|p| weights[p.index()] * 1500, |p| lengths[p.index()])
                .unwrap();
            bytes[priority.index()] += u64::from(lengths[priority.index()].unwrap());
        }
        let ratio = bytes[3] as f64 / bytes[0] as f64;
        assert!((2.9..3.1).contains(&ratio), "{ratio}");
    }

    proptest! {
        /// The fast path for one priority has the result of the general one.
        #[test]
        fn a_lone_priority_is_chosen_as_among_others(
            steps in prop::collection::vec((0..8u8, prop::option::of(0..8u8), 60u32..1522), 1..100),
        ) {
            let (mut long, mut short) = (PriorityTurn::default(), PriorityTurn::default());
            let quantum = |priority: Priority| 1522 * u64::from(priority.get() + 1);
            for (one, other, length) in steps {
                let one = Priority::ALL[usize::from(one)];
                let waits = |p: Priority| (p == one || Some(p.get()) == other).then_some(length);
                let chosen = long.choose(quantum, waits).map(|(chosen, _)| chosen);
                if other.is_none_or(|other| other == one.get()) {
                    short.take_alone(one, || quantum(one), u64::from(length));
                    prop_assert_eq!(chosen, Some(one));
                } else {
                    prop_assert_eq!(chosen, short.choose(quantum, waits).map(|(chosen, _)| chosen));
                }
                prop_assert_eq!((long.current, long.deficits), (short.current, short.deficits));
            }
        }
    }

    #[test]
    fn one_priority_alone_always_sends() {
        let mut turn = PriorityTurn::default();
        for _ in 0..10 {
            let choice = turn.choose(|_| 1500, |p| (p.get() == 5).then_some(1400));
            assert_eq!(choice.map(|(chosen, _)| chosen), Priority::new(5));
        }
        assert_eq!(turn.choose(|_| 1500, |_| None), None);
    }
}
