//! Table of the cost of an idle switch.

use std::fmt::Write as _;

use super::overview::{cell, range};
use crate::measure::idle::{Idle, FEW};
use crate::system::System;

/// Returns a row for each system in Markdown: medians over the rounds with quartiles.
pub fn text(systems: &[System], all: &[(System, Idle)]) -> String {
    let mut out = format!(
        "| | nothing to do, % of a CPU | {FEW} frames/s, % of a CPU | lost | p99, µs |\n|---|---:|---:|---:|---:|\n"
    );
    for system in systems {
        let of_system = || {
            all.iter()
                .filter(|(other, _)| other == system)
                .map(|(_, one)| one)
        };
        let micros = of_system().filter_map(|one| Some(one.p99_nanos? as f64 / 1e3));
        let _ = writeln!(
            out,
            "| {} | {} | {} | {} | {} |",
            system.name(),
            cell(range(of_system().map(|one| one.nothing_percent)), 2),
            cell(range(of_system().map(|one| one.few_percent)), 2),
            of_system().map(|one| one.lost).sum::<u64>(),
            cell(range(micros), 0),
        );
    }
    out
}
