//! Time of the first pending event at each of many places, of which few are active at a time.

/// Number of places whose earliest time is kept as one number: a large network has thousands of places that stay idle for
/// long.
const BLOCK: usize = 64;

/// Times by position of a place.
#[derive(Debug, Default)]
pub(super) struct Moments {
    each: Vec<u64>,
    /// Earliest time of each block. It may be too early for the block of [`next_turn`](Self::next_turn).
    of_block: Vec<u64>,
}

impl Moments {
    pub(super) fn len(&self) -> usize {
        self.each.len()
    }

    pub(super) fn at(&self, position: usize) -> u64 {
        self.each[position]
    }

    /// Lowers the time at `position` to `moment`, if it is later. O(1).
    #[inline]
    pub(super) fn lower(&mut self, position: usize, moment: u64) {
        let (each, block) = (
            &mut self.each[position],
            &mut self.of_block[position / BLOCK],
        );
        *each = moment.min(*each);
        *block = moment.min(*block);
    }

    /// Sets the time of the position that has its turn to the later `moment`.
    #[inline]
    pub(super) fn put_off(&mut self, position: usize, moment: u64) {
        self.each[position] = moment;
    }

    /// Returns the next position after `turn`, or the first without one, with an event before `end`; `None` ends the round.
    /// A whole round is O(blocks), plus O(1) for each position in blocks with such events.
    #[inline]
    pub(super) fn next_turn(&mut self, turn: Option<usize>, end: u64) -> Option<usize> {
        let (mut block, mut from) = turn.map_or((0, 0), |turn| (turn / BLOCK, turn + 1));
        while block < self.of_block.len() {
            let begin = block * BLOCK;
            let behind = (begin + BLOCK).min(self.each.len());
            if from > begin || self.of_block[block] < end {
                let found = self.each[from.min(behind)..behind]
                    .iter()
                    .position(|at| *at < end);
                if let Some(step) = found {
                    return Some(from + step);
                }
                self.of_block[block] = earliest(&self.each[begin..behind]);
            }
            block += 1;
            from = block * BLOCK;
        }
        None
    }

    /// Returns the first time of all, between two rounds. O(blocks).
    pub(super) fn first(&self) -> u64 {
        earliest(&self.of_block)
    }
}

impl FromIterator<u64> for Moments {
    fn from_iter<I: IntoIterator<Item = u64>>(moments: I) -> Self {
        let each: Vec<u64> = moments.into_iter().collect();
        let of_block = each.chunks(BLOCK).map(earliest).collect();
        Self { each, of_block }
    }
}

fn earliest(moments: &[u64]) -> u64 {
    moments.iter().copied().min().unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Whole rounds match a plain scan of all positions.
        #[test]
        fn rounds_are_those_of_a_plain_list(
            starts in prop::collection::vec(prop_oneof![Just(u64::MAX), 0u64..50], 0..3 * BLOCK + 2),
            delays in prop::collection::vec((0usize..200, 1u64..40), 1..60),
        ) {
            let mut moments: Moments = starts.iter().copied().collect();
            let mut plain = starts;
            let mut delays = delays.into_iter().cycle();
            for end in (10..200).step_by(10) {
                prop_assert_eq!(moments.first(), plain.iter().copied().min().unwrap_or(u64::MAX));
                let mut turn = None;
                for position in 0..plain.len() {
                    if plain[position] >= end {
                        continue;
                    }
                    turn = moments.next_turn(turn, end);
                    prop_assert_eq!(turn, Some(position));
                    // It continues later, and adds an event at another one.
                    let (other, delay) = delays.next().unwrap();
                    let later = if delay % 3 == 0 { u64::MAX } else { end + delay };
                    moments.put_off(position, later);
                    plain[position] = later;
                    let other = other % plain.len();
                    moments.lower(other, end + delay);
                    plain[other] = plain[other].min(end + delay);
                }
                prop_assert_eq!(moments.next_turn(turn, end), None);
            }
        }
    }
}
