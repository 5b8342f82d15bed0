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
