//! Curves of observations for charts.

use weir_core::{BitRate, Duration, Instant};
use weir_results::chart::{carried, Curve, Moment, Style};

use super::observe::Series;

/// Time at which a frame's bytes are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Counted {
    /// When it begins to leave.
    AtItsBeginning,
    /// When it has arrived.
    AtItsEnd,
}

/// Converts bytes for each interval to a rate in bit/s: each point is the mean over `window` around it. Frames are counted
/// at one moment although they occupy a line of rate `line` for longer: bytes beyond the line's capacity in an interval are
/// moved to the next.
pub(super) fn rates(
    series: &[Series],
    interval: Duration,
    window: Duration,
    line: BitRate,
    counted: Counted,
) -> Vec<Curve> {
    let half = (window.as_nanos() / interval.as_nanos().max(1) / 2) as usize;
    let capacity = line.get() as f64 / 8.0 * interval.as_secs_f64();
    let mean = |values: &[f64], index: usize| {
        let around = &values[index.saturating_sub(half)..(index + half + 1).min(values.len())];
        let bits = 8.0 * around.iter().sum::<f64>();
        bits / (around.len() as f64 * interval.as_secs_f64())
    };
    let is_late = counted == Counted::AtItsEnd;
    curves(series, interval, |values| {
        let bytes: Vec<f64> = values.iter().map(|bytes| *bytes as f64).collect();
        let bytes = carried(&bytes, capacity, is_late);
        (0..bytes.len()).map(|index| mean(&bytes, index)).collect()
    })
}

/// Converts bytes held to curves.
pub(super) fn amounts(series: &[Series], interval: Duration) -> Vec<Curve> {
    curves(series, interval, |values| {
        values.iter().map(|bytes| *bytes as f64).collect()
    })
}

/// Returns spans of values above zero as bars, each series at its own height: half below 1, 2 and so on, the last one
/// lowest.
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

/// Returns the beginnings and ends of runs of values above zero, alternating.
fn edges(values: &[u64]) -> Vec<usize> {
    let is_up = |index: usize| index < values.len() && values[index] > 0;
    (0..=values.len())
        .filter(|index| is_up(*index) != (*index > 0 && is_up(index - 1)))
        .collect()
}

fn curves(series: &[Series], interval: Duration, of: impl Fn(&[u64]) -> Vec<f64>) -> Vec<Curve> {
    series
        .iter()
        .map(|series| Curve {
            name: series.name.clone(),
            points: of(&series.values)
                .into_iter()
                .enumerate()
                .map(|(index, value)| ((index + 1) as f64 * interval.as_secs_f64(), value))
                .collect(),
            style: Style::Line,
        })
        .collect()
}

/// Returns an event at `at`, if it happened.
pub(super) fn moment(at: Option<Instant>, text: impl Into<String>) -> Option<Moment> {
    at.map(|at| Moment {
        at: seconds(at),
        text: text.into(),
    })
}

pub(super) fn most(curves: &[Curve]) -> f64 {
    let values = curves.iter().flat_map(|curve| &curve.points);
    values.map(|(_, value)| *value).fold(0.0, f64::max)
}

/// Seconds since the start of traffic.
pub(super) fn seconds(at: Instant) -> f64 {
    at.saturating_since(Instant::ZERO).as_secs_f64()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_is_never_above_its_line() {
        // On a line that carries 16.7 frames of 1,500 bytes in 5 µs, seventeen begin within this time.
        let series = [Series {
            name: "a".into(),
            values: vec![6_000, 4_500, 6_000, 4_500, 4_500, 0, 0, 0],
        }];
        let micro = Duration::from_micros(1);
        let line = BitRate::from_mbit(40_000);
        for counted in [Counted::AtItsBeginning, Counted::AtItsEnd] {
            let curves = rates(&series, micro, Duration::from_micros(5), line, counted);
            let points = &curves[0].points;
            assert!(
                points.iter().all(|point| point.1 <= 40e9 + 1.0),
                "{curves:?}"
            );
        }
    }

    #[test]
    fn runs_begin_and_end() {
        assert_eq!(edges(&[]), [] as [usize; 0]);
        assert_eq!(edges(&[0, 0]), [] as [usize; 0]);
        assert_eq!(edges(&[2, 0, 1, 1]), [0, 1, 2, 4]);
        assert_eq!(edges(&[0, 1, 0]), [1, 2]);
    }
}
