//! Histograms in place: observing allocates nothing and takes no lock.

/// Maximum number of buckets of a histogram, without the unbounded one.
const BUCKETS_MAX: usize = 20;

/// A histogram of integers; the owner determines their unit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Histogram {
    bounds: &'static [u64],
    counts: [u64; BUCKETS_MAX],
    count: u64,
    sum: u64,
}

impl Histogram {
    /// Creates an empty histogram. A value counts for the first of the ascending `bounds` that it does not exceed.
    ///
    /// # Panics
    ///
    /// When there are more than 20 bounds.
    pub const fn new(bounds: &'static [u64]) -> Self {
        assert!(bounds.len() <= BUCKETS_MAX, "too many bounds");
        Self {
            bounds,
            counts: [0; BUCKETS_MAX],
            count: 0,
            sum: 0,
        }
    }

    /// Adds one value. O(log of the number of bounds).
    pub fn observe(&mut self, value: u64) {
        let bucket = self.bounds.partition_point(|bound| *bound < value);
        if bucket < self.bounds.len() {
            self.counts[bucket] += 1;
        }
        self.count += 1;
        self.sum = self.sum.saturating_add(value);
    }

    /// Returns the number of values.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Returns the sum of the values.
    pub fn sum(&self) -> u64 {
        self.sum
    }

    /// Iterates over the bounds, each with the number of values that do not exceed it.
    pub fn cumulative(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        let mut below = 0;
        self.bounds
            .iter()
            .zip(&self.counts)
            .map(move |(bound, count)| {
                below += count;
                (*bound, below)
            })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const BOUNDS: &[u64] = &[1, 2, 5, 1_000];

    proptest! {
        #[test]
        fn counts_what_is_not_above_each_bound(values in prop::collection::vec(0u64..2_000, 0..200)) {
            let mut histogram = Histogram::new(BOUNDS);
            for value in &values {
                histogram.observe(*value);
            }
            prop_assert_eq!(histogram.count(), values.len() as u64);
            prop_assert_eq!(histogram.sum(), values.iter().sum::<u64>());
            let told: Vec<(u64, u64)> = histogram.cumulative().collect();
            let counted: Vec<(u64, u64)> = BOUNDS
                .iter()
                .map(|bound| (*bound, values.iter().filter(|value| *value <= bound).count() as u64))
                .collect();
            prop_assert_eq!(told, counted);
        }
    }
}
