//! Latencies in buckets of at most 1/32 of their value, as counted by the XDP program.

/// As `BUCKETS_PER_OCTAVE_LOG2` of `bpf/probe.h`.
const PER_OCTAVE_LOG2: usize = 5;
const PER_OCTAVE: usize = 1 << PER_OCTAVE_LOG2;
/// As `BUCKETS` of `bpf/probe.h`.
pub const BUCKETS: usize = 36 * PER_OCTAVE;

/// Counts by bucket.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Histogram {
    counts: Vec<u64>,
}

impl Default for Histogram {
    fn default() -> Self {
        Self {
            counts: vec![0; BUCKETS],
        }
    }
}

impl Histogram {
    /// Adds `count` to `bucket`; larger values count in the last bucket.
    pub fn add(&mut self, bucket: usize, count: u64) {
        self.counts[bucket.min(BUCKETS - 1)] += count;
    }

    /// Number of values.
    pub fn count(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// Returns the upper end in nanoseconds of the bucket at quantile `share` (0 to 1); `None` without values.
    pub fn quantile_nanos(&self, share: f64) -> Option<u64> {
        let count = self.count();
        let rank = ((count as f64 * share).ceil() as u64).max(1);
        let mut seen = 0;
        let bucket = self.counts.iter().position(|in_bucket| {
            seen += in_bucket;
            seen >= rank
        })?;
        Some(upper_end_nanos(bucket))
    }
}

fn upper_end_nanos(bucket: usize) -> u64 {
    if bucket < 2 * PER_OCTAVE {
        return bucket as u64;
    }
    let octave = bucket / PER_OCTAVE - 1;
    (((bucket - octave * PER_OCTAVE) as u64 + 1) << octave) - 1
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Like `bucket_of` of `bpf/hosts.bpf.c`.
    fn bucket_of(nanos: u64) -> usize {
        if nanos < PER_OCTAVE as u64 {
            return nanos as usize;
        }
        let octave = nanos.ilog2() as usize - PER_OCTAVE_LOG2;
        ((octave << PER_OCTAVE_LOG2) + (nanos >> octave) as usize).min(BUCKETS - 1)
    }

    proptest! {
        #[test]
        fn a_bucket_ends_just_above_what_falls_into_it(nanos in 0u64..1 << 40) {
            let end = upper_end_nanos(bucket_of(nanos));
            prop_assert!(end >= nanos);
            prop_assert!(end - nanos <= nanos / PER_OCTAVE as u64);
            prop_assert_eq!(bucket_of(end), bucket_of(nanos));
            prop_assert_eq!(bucket_of(end + 1), (bucket_of(nanos) + 1).min(BUCKETS - 1));
        }

        #[test]
        fn quantiles_are_those_of_the_sorted_values(
            mut values in prop::collection::vec(0u64..10_000_000, 1..200), share in 0.0..=1.0f64
        ) {
            let mut histogram = Histogram::default();
            for value in &values {
                histogram.add(bucket_of(*value), 1);
            }
            values.sort_unstable();
            let rank = ((values.len() as f64 * share).ceil() as usize).max(1);
            let exact = values[rank - 1];
            let told = histogram.quantile_nanos(share).unwrap();
            prop_assert!(told >= exact && told - exact <= exact / PER_OCTAVE as u64);
        }
    }

    #[test]
    fn nothing_has_no_quantile() {
        assert_eq!(Histogram::default().quantile_nanos(0.5), None);
    }
}
