//! The receiver of a window-based flow: it acknowledges everything before the first gap.

use std::collections::VecDeque;

use super::WINDOW_FRAMES_MAX;

/// Received frames of one flow.
#[derive(Clone, Debug, Default)]
pub struct Reassembly {
    /// Every frame before this one has arrived.
    expected: u32,
    /// From `expected` on: true for frames that have arrived. The first one has not.
    held: VecDeque<bool>,
}

/// A receiver's answer to one frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Receipt {
    /// Number of the first missing frame.
    pub acknowledgement: u32,
    /// False for a repetition, and for a frame that no sender may have sent.
    pub is_new: bool,
}

impl Reassembly {
    /// Frame `number` has arrived. O(frames acknowledged).
    pub fn arrive(&mut self, number: u32) -> Receipt {
        let is_new = self.note(number);
        while self.held.front() == Some(&true) {
            self.held.pop_front();
            self.expected += 1;
        }
        Receipt {
            acknowledgement: self.expected,
            is_new,
        }
    }

    fn note(&mut self, number: u32) -> bool {
        let Some(offset) = number.checked_sub(self.expected) else {
            return false;
        };
        if offset >= WINDOW_FRAMES_MAX {
            return false;
        }
        let offset = offset as usize;
        if self.held.len() <= offset {
            self.held.resize(offset + 1, false);
        }
        !std::mem::replace(&mut self.held[offset], true)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn acknowledgements_match_a_set_of_numbers(numbers in prop::collection::vec(0u32..60, 0..200)) {
            let mut reassembly = Reassembly::default();
            let mut model = BTreeSet::new();
            for number in numbers {
                let is_new = model.insert(number);
                let acknowledgement = (0..).find(|number| !model.contains(number)).unwrap();
                prop_assert_eq!(reassembly.arrive(number), Receipt { acknowledgement, is_new });
            }
        }
    }

    #[test]
    fn holds_a_window_and_no_more() {
        let mut reassembly = Reassembly::default();
        assert!(reassembly.arrive(WINDOW_FRAMES_MAX - 1).is_new);
        assert!(!reassembly.arrive(WINDOW_FRAMES_MAX).is_new);
    }
}
