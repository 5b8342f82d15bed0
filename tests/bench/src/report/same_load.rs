//! Table of all systems at the same loads.

use std::fmt::Write as _;

use super::overview::{cell, range, same_cell, systems};
use crate::measure::{Measurement, Sample, SAME_LOADS};
use crate::rounds::Measured;
use crate::system::System;

const COLUMNS: [&str; 6] = [
    "p50, µs",
    "p99, µs",
    "p99.9, µs",
    "CPU time a frame, whole path, ns",
    "by `ovs`",
    "by `bridge`",
];

/// Returns a table for each load in Markdown: medians of all cells with quartiles, ratios within a round and cell. Empty for
/// a measurement without such loads.
pub fn text(measured: &Measured) -> String {
    let mut out = String::new();
    if measured
        .measurements
        .iter()
        .all(|one| one.same_load.is_empty())
    {
        return out;
    }
    for (index, load) in SAME_LOADS.iter().enumerate() {
        let _ = writeln!(out, "At {},000 frames/s, for all systems:\n", load / 1_000);
        let _ = writeln!(out, "| | {} |", COLUMNS.join(" | "));
        let _ = writeln!(out, "|---|{}", "---:|".repeat(COLUMNS.len()));
        for system in systems(measured) {
            let of_system = || {
                measured
                    .measurements
                    .iter()
                    .filter(|one| one.system == system)
            };
            let micros = |nanos: fn(&Sample) -> Option<u64>| {
                let values = of_system().filter_map(|one| nanos(one.same_load.get(index)?));
                cell(range(values.map(|nanos| nanos as f64 / 1e3)), 0)
            };
            let by = |other: System| {
                let ratio = |one: &Measurement| {
                    let other = path_nanos(same_cell(measured, one, other)?, index)?;
                    Some(path_nanos(one, index)? / other)
                };
                cell(range(of_system().filter_map(ratio)), 2)
            };
            let path = range(of_system().filter_map(|one| path_nanos(one, index)));
            let cells = [
                micros(|sample| sample.p50_nanos),
                micros(|sample| sample.p99_nanos),
                micros(|sample| sample.p999_nanos),
                cell(path, 0),
                by(System::Ovs),
                by(System::Bridge),
            ];
            let _ = writeln!(out, "| {system} | {} |", cells.join(" | "));
        }
        out.push('\n');
    }
    out
}

/// Returns `None` if nothing arrived.
fn path_nanos(one: &Measurement, index: usize) -> Option<f64> {
    let nanos = one.same_load.get(index)?.path_nanos_per_frame;
    (nanos > 0.0).then_some(nanos)
}
