//! Curves over time as SVG, in stacked panels with a common time axis, like the figures of papers.

use crate::chart::{self, Axis, Chart, Column, Panel, Style};
use crate::quantity::Unit;

/// Number of horizontal positions for which a curve keeps its minimum and maximum.
const PLACES_MAX: usize = 480;

/// One panel.
#[derive(Clone, Debug)]
pub struct Curves {
    /// Shown quantity.
    pub label: &'static str,
    /// The unit of its axis.
    pub unit: Unit,
    /// Curves. Those of one name have one colour in all panels if they have the same index in all of them.
    pub curves: Vec<Curve>,
}

/// One curve.
#[derive(Clone, Debug)]
pub struct Curve {
    /// Its name.
    pub name: String,
    /// Values in base units, at equal distances over the whole time.
    pub values: Vec<f64>,
}

/// A picture of `panels` for the time from zero to `seconds`.
pub fn svg(title: &str, seconds: f64, panels: &[Curves]) -> String {
    let panels = panels.iter().map(|curves| {
        let most = curves.curves.iter().flat_map(|curve| &curve.values);
        let most = most.fold(0.0, |most: f64, value| most.max(*value));
        Panel {
            title: String::new(),
            across: Axis::until("time", Unit::of_time(seconds), seconds),
            up: Axis::linear(curves.label, curves.unit, most),
            curves: curves.curves.iter().map(|it| drawn(it, seconds)).collect(),
            levels: Vec::new(),
        }
    });
    chart::svg(&Chart {
        title: title.to_owned(),
        columns: vec![Column {
            panels: panels.collect(),
            ..Column::default()
        }],
    })
}

fn drawn(curve: &Curve, seconds: f64) -> chart::Curve {
    let step = seconds / curve.values.len().max(1) as f64;
    let at = |index: usize| ((index as f64 + 0.5) * step, curve.values[index]);
    chart::Curve {
        name: curve.name.clone(),
        points: extremes(&curve.values).into_iter().map(at).collect(),
        style: Style::Line,
    }
}

/// Returns the indices of drawn values: all of them, or the minimum and maximum at each position.
fn extremes(values: &[f64]) -> Vec<usize> {
    let size = values.len().div_ceil(PLACES_MAX);
    if size <= 2 {
        return (0..values.len()).collect();
    }
    let mut kept = Vec::new();
    for first in (0..values.len()).step_by(size) {
        let range = first..(first + size).min(values.len());
        let by_value = |a: &usize, b: &usize| values[*a].total_cmp(&values[*b]);
        let (least, most) = (
            range.clone().min_by(by_value).unwrap_or(first),
            range.max_by(by_value).unwrap_or(first),
        );
        kept.push(least.min(most));
        if least != most {
            kept.push(least.max(most));
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    const RATE: Unit = Unit {
        name: "Gbit/s",
        size: 1e9,
    };

    fn panel(values: Vec<f64>) -> Curves {
        Curves {
            label: "rate",
            unit: RATE,
            curves: ["a < b", "c"]
                .map(|name| Curve {
                    name: name.into(),
                    values: values.clone(),
                })
                .into(),
        }
    }

    #[test]
    fn long_curves_keep_their_peaks() {
        let mut values = vec![5e9; 10_000];
        values[4321] = 100e9;
        values[4322] = 0.0;
        let kept = extremes(&values);
        assert!(kept.len() <= 2 * PLACES_MAX);
        assert!(kept.contains(&4321) && kept.contains(&4322));
        assert!(kept.windows(2).all(|pair| pair[0] < pair[1]));
        assert_eq!(extremes(&[1.0, 2.0, 3.0]), [0, 1, 2]);
    }

    #[test]
    fn a_picture_has_its_panels_with_one_legend() {
        let picture = svg(
            "two",
            1e-3,
            &[panel(vec![1e9, 2e9]), panel(vec![0.0, 50e9])],
        );
        assert_eq!(picture.matches("<polyline").count(), 4);
        assert_eq!(picture.matches("a &lt; b").count(), 1);
        assert_eq!(picture.matches(">rate, Gbit/s<").count(), 2);
        assert_eq!(picture.matches(">time, ms<").count(), 2);
    }
}
