//! Figures of other simulators: the same networks here, next to published results.
//!
//! The published numbers are in `published/`, each file with its source. This compares programs, not models with
//! measurements: a difference in a figure is one between two simulators.

pub mod hpcc;
pub mod ndp;

use std::fmt::Write as _;
use std::ops::ControlFlow;

use weir_core::Instant;

use crate::network::Network;
use crate::scenario::RunError;

/// Runs `network` until `end` on `threads` threads; the result does not depend on their number.
fn run_until(network: &mut Network, end: Instant, threads: usize) -> Result<(), RunError> {
    let ran = network.run_on_threads(threads, &[end], &mut |_| ControlFlow::Continue(()));
    ran.map_err(|error| RunError::Threads {
        error: error.to_string(),
    })
}

/// Returns the column called `name` of a published table; empty if there is none.
fn published(table: &str, name: &str) -> Vec<f64> {
    let mut lines = table.lines().filter(|line| !line.starts_with('#'));
    let headings = lines.next().unwrap_or_default();
    let Some(place) = headings.split(',').position(|heading| heading == name) else {
        return Vec::new();
    };
    let cells = lines.filter_map(|line| line.split(',').nth(place));
    cells.filter_map(|cell| cell.parse().ok()).collect()
}

/// Formats a table as CSV, with a heading for each column.
fn csv(headings: &[String], rows: &[Vec<String>]) -> String {
    let mut out = headings.join(",") + "\n";
    for row in rows {
        let _ = writeln!(out, "{}", row.join(","));
    }
    out
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}
