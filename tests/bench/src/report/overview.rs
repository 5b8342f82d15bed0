//! Overview of all cells of a measurement: for each system the median and quartiles of its values. Computed from a
//! measurement, or read from the table of a page, to draw published values.

use std::fmt::Write as _;

use weir_results::chart::Range;

use super::summary::at;
use crate::measure::Measurement;
use crate::rounds::Measured;
use crate::system::System;

/// Quantities, which are column headings of the table.
pub const QUANTITIES: [&str; 8] = [
    "rate without loss by `bare`",
    "by `ovs`",
    "goodput at 4× by its own peak",
    "CPU time a frame at 90 %, by `ovs`",
    "at 4×, by `ovs`",
    "p99 at half load, µs",
    "rate by `bridge`",
    "whole path at 90 %, by `ovs`",
];

/// A system's values, in the order of [`QUANTITIES`].
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// See [`System::name`].
    pub system: String,
    /// `None` if it has no value.
    pub ranges: [Option<Range>; QUANTITIES.len()],
}

/// Returns a row for each system, in the order of their measurement.
pub fn overview(measured: &Measured) -> Vec<Row> {
    let row = |system: &str| {
        let of_system = measured.measurements.iter();
        let of_system: Vec<&Measurement> = of_system.filter(|one| one.system == system).collect();
        let range = |value: &dyn Fn(&Measurement) -> Option<f64>| {
            range(of_system.iter().filter_map(|one| value(one)))
        };
        let by = |other: System, value: fn(&Measurement) -> Option<f64>| {
            range(&|one| {
                let other = value(same_cell(measured, one, other)?)?;
                (other > 0.0).then_some(value(one)? / other)
            })
        };
        let lossless = |one: &Measurement| Some(one.lossless.frames_per_second);
        Row {
            system: system.to_owned(),
            ranges: [
                by(System::Bare, lossless),
                by(System::Ovs, lossless),
                range(&goodput_by_peak),
                by(System::Ovs, |one| cost(one, 90)),
                by(System::Ovs, |one| cost(one, 400)),
                range(&|one| Some(at(&one.latency, 50)?.p99_nanos? as f64 / 1e3)),
                by(System::Bridge, lossless),
                by(System::Ovs, whole_path_cost),
            ],
        }
    };
    systems(measured).into_iter().map(row).collect()
}

/// Returns the measured systems, in the order of [`System::ALL`].
pub(super) fn systems(measured: &Measured) -> Vec<&str> {
    let mut systems: Vec<&str> = Vec::new();
    for one in &measured.measurements {
        if !systems.contains(&one.system.as_str()) {
            systems.push(&one.system);
        }
    }
    let place = |name: &str| System::ALL.iter().position(|system| system.name() == name);
    systems.sort_by_key(|name| place(name));
    systems
}

pub(super) fn same_cell<'a>(
    measured: &'a Measured,
    one: &Measurement,
    system: System,
) -> Option<&'a Measurement> {
    measured.measurements.iter().find(|other| {
        other.system == system.name()
            && (other.round, other.frame_bytes, other.flows)
                == (one.round, one.frame_bytes, one.flows)
    })
}

fn goodput_by_peak(one: &Measurement) -> Option<f64> {
    let goodputs = one.overload.iter().map(|sample| sample.goodput);
    let peak = goodputs.fold(0.0, f64::max);
    (peak > 0.0).then_some(at(&one.overload, 400)?.goodput / peak)
}

/// Returns CPU time of the switch's threads for a frame; `None` for a switch without threads.
fn cost(one: &Measurement, percent: u32) -> Option<f64> {
    let sample = at(&one.latency, percent).or(at(&one.overload, percent))?;
    (sample.switch_nanos_per_frame > 0.0).then_some(sample.switch_nanos_per_frame)
}

/// Returns CPU time of all but the sender's user mode, for a frame at 90 %.
fn whole_path_cost(one: &Measurement) -> Option<f64> {
    let sample = at(&one.latency, 90)?;
    (sample.path_nanos_per_frame > 0.0).then_some(sample.path_nanos_per_frame)
}

/// Returns the median and both quartiles, interpolated linearly. `None` without values.
pub(super) fn range(values: impl Iterator<Item = f64>) -> Option<Range> {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    let last = values.len().checked_sub(1)?;
    let quantile = |part: f64| {
        let place = part * last as f64;
        let (below, above) = (place.floor() as usize, place.ceil() as usize);
        values[below] + (values[above] - values[below]) * place.fract()
    };
    Some(Range {
        low: quantile(0.25),
        middle: quantile(0.5),
        high: quantile(0.75),
    })
}

/// Returns the table in Markdown.
pub fn markdown(rows: &[Row]) -> String {
    let mut out = format!("| | {} |\n|---|", QUANTITIES.join(" | "));
    out.push_str(&"---:|".repeat(QUANTITIES.len()));
    out.push('\n');
    for row in rows {
        let cells = row.ranges.iter().zip(QUANTITIES).map(|(range, name)| {
            let decimals = if name.ends_with("µs") { 0 } else { 2 };
            cell(*range, decimals)
        });
        let cells: Vec<String> = cells.collect();
        let _ = writeln!(out, "| {} | {} |", row.system, cells.join(" | "));
    }
    out
}

pub(super) fn cell(range: Option<Range>, decimals: usize) -> String {
    let Some(Range { low, middle, high }) = range else {
        return "–".to_owned();
    };
    let [low, middle, high] = [low, middle, high].map(|value| format!("{value:.decimals$}"));
    match low == high {
        true => middle,
        false => format!("{middle} ({low}–{high})"),
    }
}

/// Reads the first table of a page that has all of [`QUANTITIES`]; other columns and cells without a number are left out.
/// `None` if there is none.
pub fn read(page: &str) -> Option<Vec<Row>> {
    let mut lines = page.lines().skip_while(|line| {
        let head = cells(line);
        !QUANTITIES.iter().all(|name| head.contains(name))
    });
    let head = cells(lines.next()?);
    let places = QUANTITIES.map(|name| head.iter().position(|cell| *cell == name));
    let rows = lines.skip(1).take_while(|line| line.starts_with('|'));
    let row = |line: &str| {
        let cells = cells(line);
        Row {
            system: cells.first().copied().unwrap_or_default().to_owned(),
            ranges: places.map(|place| number(cells.get(place?)?)),
        }
    };
    Some(rows.map(row).collect())
}

fn cells(line: &str) -> Vec<&str> {
    line.trim_matches('|').split('|').map(str::trim).collect()
}

/// Parses `0.91 (0.83–1.05)`, or one number.
fn number(cell: &str) -> Option<Range> {
    let parsed = |text: &str| text.trim().parse::<f64>().ok();
    let Some((middle, range)) = cell.split_once('(') else {
        let middle = parsed(cell)?;
        let (low, high) = (middle, middle);
        return Some(Range { low, middle, high });
    };
    let (low, high) = range.strip_suffix(')')?.split_once('–')?;
    Some(Range {
        low: parsed(low)?,
        middle: parsed(middle)?,
        high: parsed(high)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quartiles_have_half_of_the_values_between_them() {
        let values = (0..=100).map(f64::from);
        let expected = Range {
            low: 25.0,
            middle: 50.0,
            high: 75.0,
        };
        assert_eq!(range(values), Some(expected));
        assert_eq!(range([].into_iter()), None);
        let expected = Range {
            low: 1.25,
            middle: 1.5,
            high: 1.75,
        };
        assert_eq!(range([2.0, 1.0].into_iter()), Some(expected));
    }

    #[test]
    fn a_table_is_read_as_it_is_written() {
        let some = |low, middle, high| Some(Range { low, middle, high });
        let rows = vec![
            Row {
                system: "bare".into(),
                ranges: [
                    some(1.0, 1.0, 1.0),
                    None,
                    some(0.97, 0.99, 1.0),
                    None,
                    None,
                    some(26.0, 55.0, 655.0),
                    None,
                    some(0.5, 0.5, 0.5),
                ],
            },
            Row {
                system: "weir-pfc".into(),
                ranges: [some(0.84, 0.92, 1.09); QUANTITIES.len()].map(|range| {
                    range.map(|range: Range| Range {
                        low: range.low.round(),
                        middle: 1.0,
                        high: 2.0,
                    })
                }),
            },
        ];
        assert_eq!(read(&markdown(&rows)), Some(rows));
        assert_eq!(read("| a | b |\n|---|---|\n| 1 | 2 |\n"), None);
    }

    #[test]
    fn the_published_picture_is_drawn_from_the_published_table() {
        let page = include_str!("../../../../docs/src/experiments/speed/wire-speed.md");
        let rows = read(page).expect("the page has the table");
        assert!(rows.len() > 5, "{rows:?}");
        let known = |name: &str| System::ALL.iter().any(|system| system.name() == name);
        assert!(rows.iter().all(|row| known(&row.system)), "{rows:?}");
        let committed = include_str!("../../../../docs/src/experiments/speed/wire-speed.svg");
        assert!(
            super::super::svg(&rows) == committed,
            "cargo run -p weir-bench -- report docs/src/experiments/speed/wire-speed.md --svg docs/src/experiments/speed/wire-speed.svg"
        );
    }
}
