//! Table of TCP's results.

use std::fmt::Write as _;

use super::overview::{cell, range};
use crate::measure::tcp::{Transfer, FRAMES};
use crate::system::System;

const COLUMNS: [&str; 6] = [
    "left to right, Gbit/s",
    "right to left, Gbit/s",
    "both, by `ovs`",
    "both, by `bridge`, frames of 1,500 B",
    "switch, CPU s a Gbit",
    "whole machine, CPU s a Gbit",
];

/// Returns a row for each system in Markdown: medians over the rounds with quartiles; ratios within a round and direction.
pub fn text(transfers: &[Transfer]) -> String {
    let mut systems: Vec<&str> = Vec::new();
    for one in transfers {
        if !systems.contains(&one.system.as_str()) {
            systems.push(&one.system);
        }
    }
    let mut out = format!("| | {} |\n|---|", COLUMNS.join(" | "));
    out.push_str(&"---:|".repeat(COLUMNS.len()));
    out.push('\n');
    for system in systems {
        let of_system = || transfers.iter().filter(|one| one.system == system);
        let one_way = |is_reverse| {
            let rates = of_system().filter(move |one| one.is_reverse == is_reverse);
            range(rates.map(|one| one.gbit_per_second))
        };
        let by = |other: &str| {
            let ratio = |one: &Transfer| {
                let same = |it: &&Transfer| {
                    it.system == other && (it.round, it.is_reverse) == (one.round, one.is_reverse)
                };
                Some(one.gbit_per_second / transfers.iter().find(same)?.gbit_per_second)
            };
            range(of_system().filter_map(ratio))
        };
        let cells = [
            cell(one_way(false), 2),
            cell(one_way(true), 2),
            cell(by(System::Ovs.name()), 2),
            cell(by(FRAMES), 2),
            cell(range(of_system().map(|one| one.switch_seconds_per_gbit)), 2),
            cell(
                range(of_system().map(|one| one.machine_seconds_per_gbit)),
                2,
            ),
        ];
        let _ = writeln!(out, "| {system} | {} |", cells.join(" | "));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ratios_are_within_a_round_and_direction() {
        let transfer = |system: &str, round, is_reverse, rate| Transfer {
            system: system.into(),
            round,
            is_reverse,
            gbit_per_second: rate,
            switch_seconds_per_gbit: 0.5,
            machine_seconds_per_gbit: 2.0,
        };
        let transfers = [
            transfer("weir", 1, false, 2.0),
            transfer("ovs", 1, false, 1.0),
            transfer("weir", 1, true, 6.0),
            transfer("ovs", 1, true, 2.0),
            transfer("weir", 2, true, 4.0),
        ];
        let text = text(&transfers);
        let row = "| weir | 2.00 | 5.00 (4.50–5.50) | 2.50 (2.25–2.75) | – | 0.50 | 2.00 |";
        assert!(text.contains(row), "{text}");
    }
}
