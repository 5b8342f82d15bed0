//! Turns between the priorities of one port.

use crate::sets::PrioritySet;
use crate::units::{Priority, PRIORITY_COUNT};

#[derive(Debug, Default)]
#[cfg_attr(feature = "testing", derive(Clone))]
#[repr(C)]
pub(in crate::switch) struct PriorityTurn {
    pub(in crate::switch) current: usize,
    pub(in crate::switch) deficits: [u64; PRIORITY_COUNT],
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
        let mut passed = PrioritySet::default();
        for step in 0..PRIORITY_COUNT {
            let index = (self.current + step) % PRIORITY_COUNT;
            let priority = Priority::ALL[index];
            let Some(length) = length_of(priority).map(u64::from) else {
                passed.insert(priority);
                continue;
            };
            let deficit = &mut self.deficits[index];
            if step == 0 && *deficit >= length {
                *deficit -= length;
                return Some((priority, passed));
            }
            if step == 0 {
                continue;
            }
            self.current = index;
            *deficit = (*deficit).min(quantum_of(priority)) + quantum_of(priority) - length;
            return Some((priority, passed));
        }
        // Only the present one has something to send: a new turn for it.
        let priority = Priority::ALL[self.current];
        let length = u64::from(length_of(priority)?);
        self.deficits[self.current] = quantum_of(priority).saturating_sub(length);
        Some((priority, passed))
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
