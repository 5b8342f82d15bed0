//! Percentiles.

/// The smallest of `sorted` that at least `per_mille` of 1,000 are not above (nearest rank); `None` of nothing.
pub(super) fn percentile(sorted: &[f64], per_mille: usize) -> Option<f64> {
    let rank = (sorted.len() * per_mille).div_ceil(1000).max(1);
    sorted.get(rank - 1).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_are_the_nearest() {
        let hundred: Vec<f64> = (1..=100).map(f64::from).collect();
        let of = |per_mille| percentile(&hundred, per_mille);
        assert_eq!(
            [500, 950, 990, 999, 1000].map(of),
            [50.0, 95.0, 99.0, 100.0, 100.0].map(Some)
        );
        assert_eq!(percentile(&[7.0], 500), Some(7.0));
        assert_eq!(percentile(&[], 500), None);
    }
}
