//! Slowdown of flows compared with an empty network, by size, as plotted in papers on congestion control.

use weir_api::run::{FlowResult, RunResult, SlowdownBin};

use crate::chart::{Axis, Chart, Column, Curve, Panel, Style};
use crate::quantity::{amount, time, Unit};
use crate::table::grid;

/// Upper limits of bins, in bytes; the last bin has none. The same for all runs, so that two runs can be compared.
pub const EDGES: [u64; 10] = [
    1_000, 3_000, 10_000, 30_000, 100_000, 300_000, 1_000_000, 3_000_000, 10_000_000, 30_000_000,
];

/// The smallest element of `sorted` that at least `per_mille` of 1,000 do not exceed (nearest rank); `None` if it is
/// empty.
pub fn percentile(sorted: &[f64], per_mille: usize) -> Option<f64> {
    let rank = (sorted.len() * per_mille).div_ceil(1000).max(1);
    sorted.get(rank - 1).copied()
}

/// The slowdowns of all flows that have one, sorted.
pub fn sorted(flows: &[FlowResult]) -> Vec<f64> {
    let mut all: Vec<f64> = flows.iter().filter_map(|flow| flow.slowdown).collect();
    all.sort_by(f64::total_cmp);
    all
}

/// The non-empty bins, by size.
pub fn bins(flows: &[FlowResult]) -> Vec<SlowdownBin> {
    let mut by_bin: Vec<Vec<f64>> = vec![Vec::new(); EDGES.len() + 1];
    for flow in flows {
        if let (Some(size), Some(slowdown)) = (flow.size_bytes, flow.slowdown) {
            by_bin[EDGES.partition_point(|edge| *edge < size)].push(slowdown);
        }
    }
    let bins = by_bin.into_iter().enumerate();
    bins.filter_map(|(index, mut found)| {
        found.sort_by(f64::total_cmp);
        let of = |per_mille| percentile(&found, per_mille);
        Some(SlowdownBin {
            above_bytes: index.checked_sub(1).map_or(0, |before| EDGES[before]),
            to_bytes: EDGES.get(index).copied(),
            flows: found.len() as u64,
            p50: of(500)?,
            p95: of(950)?,
            p99: of(990)?,
            max: of(1000)?,
        })
    })
    .collect()
}

/// A table with a row for each bin, and the pressure of pauses and buffers. Empty if no flow with a size has arrived.
pub fn text(result: &RunResult) -> String {
    if result.slowdown.is_empty() {
        return String::new();
    }
    let row = |sizes: String, bin: &SlowdownBin| {
        let mut row = vec![sizes, bin.flows.to_string()];
        row.extend([bin.p50, bin.p95, bin.p99, bin.max].map(|slowdown| format!("{slowdown:.2}")));
        row
    };
    let mut rows: Vec<Vec<String>> = result
        .slowdown
        .iter()
        .map(|bin| row(sizes(bin), bin))
        .collect();
    let all = sorted(&result.flows);
    let of = |per_mille| percentile(&all, per_mille).unwrap_or(f64::NAN);
    let total = SlowdownBin {
        flows: all.len() as u64,
        p50: of(500),
        p95: of(950),
        p99: of(990),
        max: of(1000),
        ..SlowdownBin::default()
    };
    rows.push(row("all".into(), &total));
    let headings = ["slowdown of flows of", "flows", "p50", "p95", "p99", "max"];
    let mut out = String::new();
    for line in grid(&headings, &rows).lines() {
        out.push_str(&format!("  {line}\n"));
    }
    let with_size = result.flows.iter().filter(|flow| flow.size_bytes.is_some());
    let ends = result.flows.iter();
    let ends = ends.filter_map(|flow| Some(flow.began_seconds? + flow.completion_seconds?));
    out.push_str(&format!(
        "  {} of {} flows with a size arrived whole, the last one after {}\n  {}\n",
        all.len(),
        with_size.count(),
        time(ends.max_by(f64::total_cmp)),
        pressure(result)
    ));
    out
}

/// Slowdown over flow size, a curve for each percentile. `None` if no flow with a size has arrived.
pub fn chart(result: &RunResult) -> Option<Chart> {
    const SIZES: Unit = Unit {
        name: "kB",
        size: 1e3,
    };
    const TIMES: Unit = Unit {
        name: "times",
        size: 1.0,
    };
    // A bin is drawn at its upper limit, the last one at twice its lower limit.
    let end = |bin: &SlowdownBin| bin.to_bytes.unwrap_or(bin.above_bytes * 2) as f64;
    let bins = &result.slowdown;
    let (first, last) = (end(bins.first()?), end(bins.last()?));
    let slowest = bins.iter().map(|bin| bin.p99).fold(1.0, f64::max);
    type Percentile = fn(&SlowdownBin) -> f64;
    let curve = |(name, of): (&str, Percentile)| Curve {
        name: name.to_owned(),
        points: bins.iter().map(|bin| (end(bin), of(bin))).collect(),
        style: Style::Line,
    };
    let curves: [(&str, Percentile); 3] = [
        ("99 % of flows", |bin| bin.p99),
        ("95 % of flows", |bin| bin.p95),
        ("half of the flows", |bin| bin.p50),
    ];
    Some(Chart {
        title: format!("{}: how much longer flows took than alone", result.scenario),
        columns: vec![Column {
            panels: vec![Panel {
                title: String::new(),
                across: Axis::logarithmic("flow size up to", SIZES, first, last.max(first * 1.01)),
                up: Axis::logarithmic("slowdown", TIMES, 1.0, slowest.max(1.01)),
                curves: curves.map(curve).to_vec(),
                levels: Vec::new(),
            }],
            ..Column::default()
        }],
    })
}

/// Formats the total pauses of neighbours, and the occupancy of buffers.
fn pressure(result: &RunResult) -> String {
    let buffers = || result.buffers.iter();
    let seconds = |nanos: u64| time(Some(nanos as f64 / 1e9));
    let paused: u64 = buffers().map(|buffer| buffer.pause_nanos).sum();
    let longest = buffers().map(|buffer| buffer.pause_nanos).max();
    let ingress = buffers().map(|buffer| buffer.ingress_bytes_max).max();
    let egress = buffers().map(|buffer| buffer.egress_bytes_max).max();
    format!(
        "paused for {} in all, {} at most in one buffer; fullest ingress buffer {}, longest queue {}",
        seconds(paused),
        seconds(longest.unwrap_or(0)),
        amount(ingress.unwrap_or(0) as f64),
        amount(egress.unwrap_or(0) as f64),
    )
}

/// Formats `3 kB to 10 kB`.
fn sizes(bin: &SlowdownBin) -> String {
    match (bin.above_bytes, bin.to_bytes) {
        (0, Some(to)) => format!("up to {}", decimal(to)),
        (above, Some(to)) => format!("{} to {}", decimal(above), decimal(to)),
        (above, None) => format!("more than {}", decimal(above)),
    }
}

/// Bytes in powers of 1000, as usual for flow sizes: `30 kB`.
pub fn decimal(bytes: u64) -> String {
    const UNITS: [(u64, &str); 3] = [(1_000_000_000, "GB"), (1_000_000, "MB"), (1_000, "kB")];
    let unit = UNITS.iter().find(|(size, _)| bytes >= *size);
    unit.map_or(format!("{bytes} B"), |(size, name)| {
        format!("{} {name}", bytes / size)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chart;
    use crate::fixtures::{buffer, empty_result};
    use proptest::prelude::*;

    fn flow(size: u64, slowdown: Option<f64>) -> FlowResult {
        FlowResult {
            size_bytes: Some(size),
            slowdown,
            ..FlowResult::default()
        }
    }

    #[test]
    fn ranks_are_the_nearest() {
        let hundred: Vec<f64> = (1..=100).map(f64::from).collect();
        let of = |per_mille| percentile(&hundred, per_mille);
        assert_eq!(
            [500, 950, 990, 999, 1000].map(of),
            [50.0, 95.0, 99.0, 100.0, 100.0].map(Some)
        );
        assert_eq!(percentile(&[7.0], 500), Some(7.0));
        assert_eq!(percentile(&[], 500), None);
    }

    #[test]
    fn a_table_shows_slowdowns_and_pauses() {
        let mut result = empty_result();
        assert_eq!(text(&result), "");
        result.flows = vec![
            flow(1_000, Some(1.0)),
            flow(1_001, Some(2.5)),
            flow(40_000_000, Some(4.0)),
            flow(5, None),
        ];
        result.flows[1].began_seconds = Some(0.005);
        result.flows[1].completion_seconds = Some(0.0025);
        result.slowdown = bins(&result.flows);
        result.buffers = vec![buffer("s1", 2048), buffer("s2", 1024)];
        result.buffers[0].pause_nanos = 1_500_000;
        result.buffers[1].pause_nanos = 500_000;
        let picture = chart::svg(&super::chart(&result).expect("a chart"));
        for said in ["99 % of flows", "flow size up to, kB", "slowdown, times"] {
            assert!(picture.contains(said), "{said}: {picture}");
        }
        assert!(super::chart(&empty_result()).is_none());
        let text = text(&result);
        let lines: Vec<&str> = text.lines().map(str::trim_end).collect();
        assert_eq!(lines.len(), 8, "{text}");
        for (line, said) in [
            (2, "  up to 1 kB  "),
            (3, "  1 kB to 3 kB  "),
            (4, "  more than 30 MB  "),
            (5, "  all  "),
            (6, "  3 of 4 flows with a size arrived whole, the last one after 7.5 ms"),
            (7, "  paused for 2.0 ms in all, 1.5 ms at most in one buffer; fullest ingress buffer 2 KiB"),
        ] {
            assert!(lines[line].starts_with(said), "{text}");
        }
        assert!(lines[5].ends_with("3  2.50  4.00  4.00  4.00"), "{text}");
    }

    proptest! {
        /// The slow model scans all flows for each bin, and counts for each candidate how many are not slower.
        #[test]
        fn bins_are_those_of_the_slow_model(
            flows in prop::collection::vec((1u64..100_000_000, prop::option::of(1.0f64..50.0)), 0..80)
        ) {
            let flows: Vec<FlowResult> = flows.into_iter().map(|(size, slowdown)| flow(size, slowdown)).collect();
            let found = bins(&flows);
            let mut edges = vec![0];
            edges.extend(EDGES);
            edges.push(u64::MAX);
            let mut expected = Vec::new();
            for pair in edges.windows(2) {
                let [above, to] = [pair[0], pair[1]];
                let of_bin: Vec<f64> = flows
                    .iter()
                    .filter(|flow| flow.size_bytes.is_some_and(|size| size > above && size <= to))
                    .filter_map(|flow| flow.slowdown)
                    .collect();
                let least = |percent: f64| {
                    let is_enough = |candidate: &f64| {
                        let below = of_bin.iter().filter(|one| *one <= candidate).count() as f64;
                        below * 100.0 >= percent * of_bin.len() as f64
                    };
                    of_bin.iter().copied().filter(|one| is_enough(one)).fold(f64::INFINITY, f64::min)
                };
                if !of_bin.is_empty() {
                    expected.push(SlowdownBin {
                        above_bytes: above,
                        to_bytes: (to != u64::MAX).then_some(to),
                        flows: of_bin.len() as u64,
                        p50: least(50.0),
                        p95: least(95.0),
                        p99: least(99.0),
                        max: least(100.0),
                    });
                }
            }
            prop_assert_eq!(found, expected);
        }
    }
}
