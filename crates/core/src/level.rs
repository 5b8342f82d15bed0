//! Levels and buffer budgets of the selective backpressure protocol P (Karol, Golestani and Lee,
//! *Prevention of Deadlocks and Livelocks in Lossless, Backpressured Packet Networks*, section III).

use core::fmt;

use crate::units::Bytes;

/// The longest route that can be configured, in links between switches: the largest D.
pub const LEVEL_MAX: usize = 31;

/// A Level λ, or a Transmit Feedback f: 0 to D.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Level(u8);

impl Level {
    /// Default Level of a destination (Level Assignment Rule 2), and the Feedback that blocks nothing.
    pub const ZERO: Self = Self(0);

    /// Creates a Level; `None` above [`LEVEL_MAX`].
    pub const fn new(value: u8) -> Option<Self> {
        if value as usize <= LEVEL_MAX {
            Some(Self(value))
        } else {
            None
        }
    }

    /// The number.
    pub const fn get(self) -> u8 {
        self.0
    }

    /// Index into arrays with one entry for each Level from 0 on.
    pub const fn index(self) -> usize {
        self.0 as usize
    }

    /// The next higher Level, if any.
    pub const fn above(self) -> Option<Self> {
        Self::new(self.0 + 1)
    }
}

impl fmt::Display for Level {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(formatter)
    }
}

/// The buffer budgets b_1 … b_D of a link's Receiving Queue (section III, figure 5): an allocation of
/// space, not a partition.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Budgets {
    depth: Level,
    /// b_1 first; zero from D on.
    bytes: [Bytes; LEVEL_MAX],
}

impl Budgets {
    /// Creates budgets, b_1 first. `None` for none, or more than [`LEVEL_MAX`].
    pub fn new(budgets: &[Bytes]) -> Option<Self> {
        if budgets.is_empty() || budgets.len() > LEVEL_MAX {
            return None;
        }
        let mut bytes = [Bytes::ZERO; LEVEL_MAX];
        bytes[..budgets.len()].copy_from_slice(budgets);
        Some(Self {
            depth: Level(budgets.len() as u8),
            bytes,
        })
    }

    /// Budgets for routes of up to `depth` links in a buffer of `buffer` bytes: each b_i is `each` (γmax + rT), and the
    /// remainder is added to b_1, which every Level may use (footnote 3). `None` if the buffer is too small or `depth`
    /// is not 1 to [`LEVEL_MAX`].
    pub fn derived(depth: u8, buffer: Bytes, each: Bytes) -> Option<Self> {
        let others = u64::from(depth.checked_sub(1)?) * each.get();
        let first = buffer.get().checked_sub(others)?;
        if first < each.get() {
            return None;
        }
        let mut list = [each; LEVEL_MAX];
        list[0] = Bytes::new(first);
        Self::new(list.get(..usize::from(depth))?)
    }

    /// D: the number of budgets, the highest Level.
    pub const fn depth(&self) -> Level {
        self.depth
    }

    /// b_1 … b_D.
    pub fn as_slice(&self) -> &[Bytes] {
        &self.bytes[..self.depth.index()]
    }

    /// The size b of the whole buffer (equation 4).
    pub fn total(&self) -> Bytes {
        self.as_slice().iter().copied().sum()
    }

    /// Returns the amount that a release lends to Level D: the smallest budget, which like every budget has room for
    /// γmax + rT, so that the neighbour resumes regardless of the stored frames.
    pub fn loan(&self) -> Bytes {
        self.as_slice().iter().copied().min().unwrap_or_default()
    }
}

impl fmt::Debug for Budgets {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_list().entries(self.as_slice()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn derived_budgets_put_the_rest_into_the_first() {
        let gamma_max = Bytes::new(1536);
        let budgets = Budgets::derived(3, Bytes::new(10_000), gamma_max).unwrap();
        assert_eq!(budgets.as_slice(), [Bytes::new(6928), gamma_max, gamma_max]);
        assert_eq!(budgets.total(), Bytes::new(10_000));
        assert_eq!(budgets.depth().get(), 3);
    }

    #[test]
    fn impossible_budgets_are_refused() {
        let gamma_max = Bytes::new(1536);
        assert_eq!(
            Budgets::derived(3, Bytes::new(3 * 1536 - 1), gamma_max),
            None
        );
        assert_eq!(Budgets::derived(0, Bytes::new(10_000), gamma_max), None);
        assert_eq!(Budgets::derived(32, Bytes::new(1 << 20), gamma_max), None);
        assert_eq!(Budgets::new(&[]), None);
        assert!(Budgets::derived(31, Bytes::new(1 << 20), gamma_max).is_some());
    }
}
