//! Sets of destinations, one for each channel: 64 of them in a word, since most operations treat all at once.

const BITS: usize = u64::BITS as usize;

/// One set per channel, or per switch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Sets {
    width: usize,
    words: Vec<u64>,
}

impl Sets {
    /// Creates `count` empty sets of numbers below `bound`.
    pub(super) fn new(count: usize, bound: usize) -> Self {
        let width = bound.div_ceil(BITS);
        Self {
            width,
            words: vec![0; count * width],
        }
    }

    /// Words of a set.
    pub(super) const fn width(&self) -> usize {
        self.width
    }

    pub(super) fn of(&self, index: usize) -> &[u64] {
        &self.words[index * self.width..][..self.width]
    }

    pub(super) fn of_mut(&mut self, index: usize) -> &mut [u64] {
        &mut self.words[index * self.width..][..self.width]
    }

    pub(super) fn insert(&mut self, index: usize, element: usize) {
        self.of_mut(index)[element / BITS] |= 1 << (element % BITS);
    }

    pub(super) fn has(&self, index: usize, element: usize) -> bool {
        self.of(index)[element / BITS] >> (element % BITS) & 1 > 0
    }

    /// Fills a set with the elements below `bound` for which `holds`.
    pub(super) fn fill(&mut self, index: usize, bound: usize, holds: impl Fn(usize) -> bool) {
        for (word, first) in self.of_mut(index).iter_mut().zip((0..bound).step_by(BITS)) {
            for element in first..bound.min(first + BITS) {
                *word |= u64::from(holds(element)) << (element - first);
            }
        }
    }
}

/// Returns true if two sets have an element in common.
pub(super) fn meet(a: &[u64], b: &[u64]) -> bool {
    a.iter().zip(b).any(|(a, b)| a & b > 0)
}
