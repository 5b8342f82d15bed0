//! A curve over the run: one value per interval, in preallocated memory.

use weir_core::units::Instant;

/// Sums per interval from the start of traffic to the end of the run.
#[derive(Clone, Debug)]
pub struct IntervalSums {
    start: Instant,
    interval_nanos: u64,
    sums: Vec<u64>,
    late: u64,
}

impl IntervalSums {
    /// Creates intervals of `interval_nanos` (zero counts as one) that cover `run_nanos` from `start` on.
    pub fn new(start: Instant, run_nanos: u64, interval_nanos: u64) -> Self {
        let interval_nanos = interval_nanos.max(1);
        Self {
            start,
            interval_nanos,
            sums: vec![0; run_nanos.div_ceil(interval_nanos) as usize],
            late: 0,
        }
    }

    /// Adds `value` to the interval of `at`; values before the start belong to the first one.
    pub fn add(&mut self, at: Instant, value: u64) {
        let index = at.saturating_since(self.start).as_nanos() / self.interval_nanos;
        match self.sums.get_mut(index as usize) {
            Some(sum) => *sum += value,
            None => self.late += value,
        }
    }

    /// Returns the sums, first interval first.
    pub fn sums(&self) -> &[u64] {
        &self.sums
    }

    /// Returns the bytes after the last interval.
    pub fn late(&self) -> u64 {
        self.late
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_is_in_exactly_one_place() {
        let mut series = IntervalSums::new(Instant::from_nanos(100), 25, 10);
        for (at, value) in [(90, 1), (100, 2), (109, 4), (110, 8), (129, 16), (130, 32)] {
            series.add(Instant::from_nanos(at), value);
        }
        assert_eq!(series.sums(), [7, 8, 16]);
        assert_eq!(series.late(), 32);
    }
}
