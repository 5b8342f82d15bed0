//! Tracks the received numbers of a flow: loss, order and duplication in bounded memory.

/// Maximum distance behind the highest number at which a late frame is distinguished from a duplicate.
pub const WINDOW: u64 = 1 << 16;
const WORD: u64 = 64;

/// Meaning of a frame's number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrival {
    /// Higher than all numbers before.
    InOrder,
    /// New, but after a higher number.
    Late,
    /// Received before.
    Duplicate,
    /// More than [`WINDOW`] behind the highest: late or a duplicate, indistinguishable.
    BeyondWindow,
}

/// Received numbers of one flow: the highest, and one bit for each of the last [`WINDOW`].
#[derive(Debug)]
pub struct SequenceTracker {
    /// The highest number plus one; 0 before the first.
    next: u64,
    distinct: u64,
    reordered: u64,
    duplicated: u64,
    beyond_window: u64,
    /// Bit `n % WINDOW` belongs to number `n` for `next - WINDOW <= n < next`.
    seen: Box<[u64]>,
}

impl Default for SequenceTracker {
    fn default() -> Self {
        Self {
            next: 0,
            distinct: 0,
            reordered: 0,
            duplicated: 0,
            beyond_window: 0,
            seen: vec![0; (WINDOW / WORD) as usize].into_boxed_slice(),
        }
    }
}

impl SequenceTracker {
    /// Records the frame with this number. The number `u64::MAX` counts as beyond the window, since no sender reaches it.
    pub fn record(&mut self, sequence: u64) -> Arrival {
        if sequence == u64::MAX {
            self.beyond_window += 1;
            return Arrival::BeyondWindow;
        }
        if sequence >= self.next {
            self.forget(self.next, sequence);
            self.next = sequence + 1;
            self.mark(sequence);
            return Arrival::InOrder;
        }
        if self.next - sequence > WINDOW {
            self.beyond_window += 1;
            return Arrival::BeyondWindow;
        }
        let (word, bit) = place(sequence);
        if self.seen[word] & bit != 0 {
            self.duplicated += 1;
            return Arrival::Duplicate;
        }
        self.mark(sequence);
        self.reordered += 1;
        Arrival::Late
    }

    /// Returns the highest number received.
    pub fn highest(&self) -> Option<u64> {
        self.next.checked_sub(1)
    }

    /// Returns the count of distinct numbers.
    pub fn distinct(&self) -> u64 {
        self.distinct
    }

    /// Returns the count of missing numbers up to the highest.
    pub fn missing(&self) -> u64 {
        self.next - self.distinct
    }

    /// Returns the count of new numbers that arrived after a higher one.
    pub fn reordered(&self) -> u64 {
        self.reordered
    }

    /// Returns the count of frames with a number received before.
    pub fn duplicated(&self) -> u64 {
        self.duplicated
    }

    /// Returns the count of frames too far behind to distinguish.
    pub fn beyond_window(&self) -> u64 {
        self.beyond_window
    }

    fn mark(&mut self, sequence: u64) {
        let (word, bit) = place(sequence);
        self.seen[word] |= bit;
        self.distinct += 1;
    }

    /// Clears the bits of `first..=last`, which the window now reaches for the first time.
    fn forget(&mut self, first: u64, last: u64) {
        if last - first >= WINDOW {
            self.seen.fill(0);
            return;
        }
        for sequence in first..=last {
            let (word, bit) = place(sequence);
            self.seen[word] &= !bit;
        }
    }
}

fn place(sequence: u64) -> (usize, u64) {
    let index = sequence % WINDOW;
    ((index / WORD) as usize, 1 << (index % WORD))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    /// Reference implementation with a set of all numbers.
    #[derive(Default)]
    struct Reference {
        seen: BTreeSet<u64>,
        reordered: u64,
        duplicated: u64,
        beyond_window: u64,
    }

    impl Reference {
        fn record(&mut self, sequence: u64) -> Arrival {
            match self.seen.last().copied() {
                Some(highest) if highest + 1 > sequence + WINDOW => {
                    self.beyond_window += 1;
                    Arrival::BeyondWindow
                }
                _ if self.seen.contains(&sequence) => {
                    self.duplicated += 1;
                    Arrival::Duplicate
                }
                Some(highest) if highest > sequence => {
                    self.seen.insert(sequence);
                    self.reordered += 1;
                    Arrival::Late
                }
                _ => {
                    self.seen.insert(sequence);
                    Arrival::InOrder
                }
            }
        }

        fn missing(&self) -> u64 {
            let numbers = self.seen.last().map_or(0, |highest| highest + 1);
            numbers - self.seen.len() as u64
        }
    }

    /// Steps from the highest number: mostly forward by a little, some back, some by about the size of the window.
    fn steps() -> impl Strategy<Value = Vec<i64>> {
        let window = WINDOW as i64;
        let step = prop_oneof![
            8 => 1i64..3,
            4 => -6i64..1,
            2 => -200i64..200,
            1 => -window - 2..-window + 3,
            1 => window - 2..window + 3,
            1 => -3 * window..3 * window,
        ];
        prop::collection::vec(step, 1..400)
    }

    proptest! {
        #[test]
        fn agrees_with_a_set_that_forgets_nothing(steps in steps()) {
            let mut tracker = SequenceTracker::default();
            let mut reference = Reference::default();
            for step in steps {
                let highest = tracker.highest().map_or(-1, |highest| highest as i64);
                let sequence = (highest + step).max(0) as u64;
                prop_assert_eq!(tracker.record(sequence), reference.record(sequence));
                prop_assert_eq!(tracker.highest(), reference.seen.last().copied());
                prop_assert_eq!(tracker.distinct(), reference.seen.len() as u64);
                prop_assert_eq!(tracker.missing(), reference.missing());
                prop_assert_eq!(tracker.reordered(), reference.reordered);
                prop_assert_eq!(tracker.duplicated(), reference.duplicated);
                prop_assert_eq!(tracker.beyond_window(), reference.beyond_window);
            }
        }
    }

    #[test]
    fn a_loss_a_swap_and_a_copy() {
        let mut tracker = SequenceTracker::default();
        let arrivals: Vec<Arrival> = [0, 1, 3, 2, 5, 5]
            .into_iter()
            .map(|n| tracker.record(n))
            .collect();
        use Arrival::{Duplicate, InOrder, Late};
        assert_eq!(
            arrivals,
            [InOrder, InOrder, InOrder, Late, InOrder, Duplicate]
        );
        assert_eq!((tracker.missing(), tracker.distinct()), (1, 5));
        assert_eq!(tracker.record(u64::MAX), Arrival::BeyondWindow);
        assert_eq!(tracker.highest(), Some(5));
    }
}
