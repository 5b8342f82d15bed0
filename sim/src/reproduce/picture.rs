//! Curves of observations for charts.

use weir_core::{Duration, Instant};
use weir_results::chart::{Curve, Moment, Style};

use super::observe::Series;

/// Bytes for each interval as a rate in bits per second: each point is the mean over `window` around it.
pub(super) fn rates(series: &[Series], interval: Duration, window: Duration) -> Vec<Curve> {
    let half = (window.as_nanos() / interval.as_nanos().max(1) / 2) as usize;
    let mean = |values: &[u64], index: usize| {
        let around = &values[index.saturating_sub(half)..(index + half + 1).min(values.len())];
        let bits = 8.0 * around.iter().sum::<u64>() as f64;
        bits / (around.len() as f64 * interval.as_secs_f64())
    };
    curves(series, interval, mean)
}

/// Bytes held.
pub(super) fn amounts(series: &[Series], interval: Duration) -> Vec<Curve> {
    curves(series, interval, |values, index| values[index] as f64)
}

/// When values are above zero, as bars, each series at a height of its own: half below 1, 2 and so on, the last one lowest.
pub(super) fn spans(series: &[Series], interval: Duration) -> Vec<Curve> {
    let heights = (0..series.len()).rev().map(|below| below as f64 + 0.5);
    series
        .iter()
        .zip(heights)
        .map(|(series, height)| Curve {
            name: series.name.clone(),
            points: edges(&series.values)
                .into_iter()
                .map(|index| (index as f64 * interval.as_secs_f64(), height))
                .collect(),
            style: Style::Bars,
        })
        .collect()
}

/// Where runs of values above zero begin and end, in turns.
fn edges(values: &[u64]) -> Vec<usize> {
    let is_up = |index: usize| index < values.len() && values[index] > 0;
    (0..=values.len())
        .filter(|index| is_up(*index) != (*index > 0 && is_up(index - 1)))
        .collect()
}

fn curves(
    series: &[Series],
    interval: Duration,
    value: impl Fn(&[u64], usize) -> f64,
) -> Vec<Curve> {
    series
        .iter()
        .map(|series| Curve {
            name: series.name.clone(),
            points: (0..series.values.len())
                .map(|index| {
                    let at = (index + 1) as f64 * interval.as_secs_f64();
                    (at, value(&series.values, index))
                })
                .collect(),
            style: Style::Line,
        })
        .collect()
}

/// What happened at `at`, if it did.
pub(super) fn moment(at: Option<Instant>, text: impl Into<String>) -> Option<Moment> {
    at.map(|at| Moment {
        at: seconds(at),
        text: text.into(),
    })
}

/// The largest value of all curves.
pub(super) fn most(curves: &[Curve]) -> f64 {
    let values = curves.iter().flat_map(|curve| &curve.points);
    values.map(|(_, value)| *value).fold(0.0, f64::max)
}

/// Since the beginning of traffic.
pub(super) fn seconds(at: Instant) -> f64 {
    at.saturating_since(Instant::ZERO).as_secs_f64()
}

#[cfg(test)]
mod tests {
    use super::edges;

    #[test]
    fn runs_begin_and_end() {
        assert_eq!(edges(&[]), [] as [usize; 0]);
        assert_eq!(edges(&[0, 0]), [] as [usize; 0]);
        assert_eq!(edges(&[2, 0, 1, 1]), [0, 1, 2, 4]);
        assert_eq!(edges(&[0, 1, 0]), [1, 2]);
    }
}
