//! A picture: for each system and quantity the median and quartiles of all cells.

use weir_results::chart::{Axis, Range, RangePanel, Ranges};
use weir_results::quantity::Unit;

use super::overview::Row;

const RATIO: Unit = Unit {
    name: "",
    size: 1.0,
};
/// Values are in microseconds.
const MILLISECONDS: Unit = Unit {
    name: "ms",
    size: 1e3,
};

/// Panels: the index in [`QUANTITIES`](super::overview::QUANTITIES), the axis label, and true if 1 is its reference.
const PANELS: [(usize, &str, bool); 4] = [
    (1, "rate without loss, by ovs", true),
    (2, "goodput at 4×, by its own peak", true),
    (4, "CPU time a frame at 4×, by ovs", true),
    (5, "p99 at half load", false),
];

/// Draws a row for each system.
pub fn svg(rows: &[Row]) -> String {
    let panel = |(quantity, label, is_ratio): (usize, &str, bool)| {
        let values: Vec<Option<Range>> = rows.iter().map(|row| row.ranges[quantity]).collect();
        let most = values.iter().flatten().map(|range| range.high);
        let most = most.fold(1.0, f64::max);
        let least = values.iter().flatten().map(|range| range.low);
        let least = least.fold(f64::INFINITY, f64::min);
        let across = match is_ratio {
            true => Axis::linear(label, RATIO, most),
            false => Axis::logarithmic(label, MILLISECONDS, least.min(most).max(1.0), most * 1.01),
        };
        RangePanel {
            across,
            values,
            reference: is_ratio.then_some(1.0),
        }
    };
    Ranges {
        title: "Wire to wire over veth".to_owned(),
        note: "dots: median of all sizes, numbers of flows and rounds; bars: half of them"
            .to_owned(),
        rows: rows.iter().map(|row| row.system.clone()).collect(),
        panels: PANELS.map(panel).into(),
    }
    .svg()
}
