//! Tables in Markdown, which can be pasted into a page.

use std::fmt::Write as _;

use super::overview::{markdown as markdown_of_all, overview};
use super::summary::at;
use super::{Spread, Summary};
use crate::measure::{Measurement, LATENCY_LOADS, OVERLOADS};
use crate::rounds::Measured;

const RATES: [&str; 8] = [
    "system",
    "without loss, M frames/s",
    "by bare",
    "goodput at 1×",
    "2×",
    "4×",
    "4×, by bare",
    "lost at 4×, %",
];
const COSTS: [&str; 7] = [
    "system",
    "switch, ns a frame at 50 %",
    "at 90 %",
    "at 4×",
    "whole path at 50 %",
    "at 90 %",
    "at 4×",
];
const LATENCIES: [&str; 4] = ["system", "at 10 %", "at 50 %", "at 90 %"];

const LEGEND: &str = "\
Medians of all rounds (lowest–highest); ratios within each round. Latencies: p50 / p99 / p99.9 in µs.
* In every round nothing was lost at the fastest that the sender could.
† In some round the sender did not reach 95 % of the load that was aimed at.
";

/// Returns a table of all cells, then three tables for each kind of traffic: rates, CPU time, latencies. Medians over the
/// rounds, minimum and maximum in brackets.
pub fn text(measured: &Measured) -> String {
    let summaries = Summary::all(measured);
    let mut kinds: Vec<(u32, usize)> = Vec::new();
    for summary in &summaries {
        if !kinds.contains(&(summary.flows, summary.frame_bytes)) {
            kinds.push((summary.flows, summary.frame_bytes));
        }
    }
    let mut out = markdown_of_all(&overview(measured));
    out.push_str("\nMedians of all sizes, numbers of flows and rounds (quartiles).\n\n");
    out.push_str(&super::same_load::text(measured));
    for (flows, frame_bytes) in kinds {
        let of_kind: Vec<&Summary<'_>> = summaries
            .iter()
            .filter(|summary| summary.is_with(frame_bytes, flows))
            .collect();
        let plural = if flows == 1 { "flow" } else { "flows" };
        let _ = writeln!(out, "### {frame_bytes} B, {flows} {plural}\n");
        for (headings, row) in [
            (&RATES[..], rates as fn(&Summary<'_>) -> Vec<String>),
            (&COSTS[..], costs),
            (&LATENCIES[..], latencies),
        ] {
            let rows = of_kind.iter().map(|summary| row(summary));
            markdown(&mut out, headings, rows);
        }
    }
    out.push_str(LEGEND);
    out
}

fn rates(summary: &Summary<'_>) -> Vec<String> {
    let lossless = |one: &Measurement| Some(one.lossless.frames_per_second);
    let bound = if summary.is_sender_bound() { " *" } else { "" };
    let mut row = vec![
        summary.system.to_owned(),
        spread(summary.of(lossless), millions) + bound,
        spread(summary.ratio(lossless), two_decimals),
    ];
    let goodput =
        |times: u32| move |one: &Measurement| Some(at(&one.overload, 100 * times)?.goodput);
    row.extend(OVERLOADS.map(|times| spread(summary.of(goodput(times)), millions)));
    row.push(spread(summary.ratio(goodput(4)), two_decimals));
    let lost = |one: &Measurement| {
        let sample = at(&one.overload, 400)?;
        Some(100.0 * sample.lost as f64 / sample.sent as f64)
    };
    row.push(spread(summary.of(lost), one_decimal));
    row
}

fn costs(summary: &Summary<'_>) -> Vec<String> {
    let mut row = vec![summary.system.to_owned()];
    for is_path in [false, true] {
        for percent in [50, 90, 400] {
            let value = |one: &Measurement| {
                let sample = at(&one.latency, percent).or(at(&one.overload, percent))?;
                Some(if is_path {
                    sample.path_nanos_per_frame
                } else {
                    sample.switch_nanos_per_frame
                })
            };
            row.push(spread(summary.of(value), whole));
        }
    }
    row
}

fn latencies(summary: &Summary<'_>) -> Vec<String> {
    let mut row = vec![summary.system.to_owned()];
    row.extend(LATENCY_LOADS.map(|percent| {
        let nanos = |pick: fn(&crate::measure::Sample) -> Option<u64>| {
            let median = summary.of(|one| Some(pick(at(&one.latency, percent)?)? as f64));
            median.map_or("–".to_owned(), |spread| micros(spread.median))
        };
        let short = summary.of(|one| {
            let aimed = one.lossless.frames_per_second * f64::from(percent) / 100.0;
            Some(at(&one.latency, percent)?.offered / aimed)
        });
        let is_short = short.is_some_and(|share| share.low < 0.95);
        let latencies = [
            nanos(|sample| sample.p50_nanos),
            nanos(|sample| sample.p99_nanos),
            nanos(|sample| sample.p999_nanos),
        ];
        latencies.join(" / ") + if is_short { " †" } else { "" }
    }));
    row
}

fn spread(value: Option<Spread>, number: fn(f64) -> String) -> String {
    value.map_or("–".to_owned(), |value| {
        format!(
            "{} ({}–{})",
            number(value.median),
            number(value.low),
            number(value.high)
        )
    })
}

fn millions(value: f64) -> String {
    format!("{:.2}", value / 1e6)
}

fn two_decimals(value: f64) -> String {
    format!("{value:.2}")
}

fn one_decimal(value: f64) -> String {
    format!("{value:.1}")
}

fn whole(value: f64) -> String {
    format!("{value:.0}")
}

fn micros(nanos: f64) -> String {
    format!("{:.0}", nanos / 1e3)
}

fn markdown(out: &mut String, headings: &[&str], rows: impl Iterator<Item = Vec<String>>) {
    let _ = writeln!(out, "| {} |", headings.join(" | "));
    let _ = writeln!(out, "|---|{}", "---:|".repeat(headings.len() - 1));
    for row in rows {
        let _ = writeln!(out, "| {} |", row.join(" | "));
    }
    out.push('\n');
}
