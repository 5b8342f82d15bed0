//! Compares completion times of HPCC's example with ns-3's: `scenarios/hpcc/ns3.txt`, written by
//! `tools/sim/benches/ns3/hpcc.py`.

use std::path::Path;

use weir_config::scenario::{Scenario, Transport};
use weir_core::{Bytes, Duration};
use weir_sim::import::{hpcc, Hpcc, Text};
use weir_sim::scenario::{run, Options};

const TABLE: &str = include_str!("../../../scenarios/hpcc/ns3.txt");
const STAR: &str = include_str!("../../../scenarios/hpcc/star.txt");
const FIVE: &str = include_str!("../../../scenarios/hpcc/star-five.txt");
const TEN: &str = include_str!("../../../scenarios/hpcc/star-ten.txt");
const SMALL: &str = include_str!("../../../scenarios/hpcc/topology.txt");
const SMALL_FLOWS: &str = include_str!("../../../scenarios/hpcc/flow.txt");

/// Headers of HPCC's frames.
const AS_THERE: u64 = 48;
/// Difference for equal frame times on Weir's lines and those of ns-3, which lack preamble, gap and FCS.
const EQUAL_LINES: u64 = 24;

/// Completion times of one flow in ns-3 in nanoseconds.
struct Row {
    size: u64,
    /// Value printed by HPCC's simulator.
    published: Option<f64>,
    /// Time until the last byte, with exact transmission times.
    exact: f64,
}

fn rows(case: &str, control: &str) -> Vec<Row> {
    let lines = TABLE.lines().filter(|line| !line.starts_with('#'));
    let words = lines.map(|line| line.split(' ').collect::<Vec<_>>());
    let rows = words.filter(|words| words[0] == case && words[1] == control);
    let number = |word: &str| word.parse().unwrap_or_else(|_| panic!("{word}: a number"));
    let row = |words: Vec<&str>| Row {
        size: words[3].parse().unwrap(),
        published: (words[4] != "-").then(|| number(words[4])),
        exact: number(words[8]),
    };
    let rows: Vec<Row> = rows.map(row).collect();
    assert!(!rows.is_empty(), "{case} {control} is in the table");
    rows
}

/// Returns the completion time of each flow in Weir in nanoseconds: medians over seeds.
fn completions(
    (topology, flows): (&str, &str),
    transport: Transport,
    header: u64,
    seeds: &[u64],
) -> Vec<f64> {
    let text = |text| Text { name: "file", text };
    let files = Hpcc {
        name: "hpcc",
        topology: text(topology),
        flows: text(flows),
        trace: None,
        payload: Bytes::new(1000),
        header: Bytes::new(header),
        transport,
        duration: Some(Duration::from_millis(100)),
    };
    let imported = hpcc(&files).unwrap();
    let mut times: Vec<Vec<f64>> = Vec::new();
    for seed in seeds {
        let scenario = imported.replace("\nseed = 1\n", &format!("\nseed = {seed}\n"));
        let scenario = Scenario::parse(&scenario, Path::new("hpcc.toml"), &[]).unwrap();
        let result = run(&scenario, Options::default()).unwrap();
        times.resize(result.flows.len(), Vec::new());
        for (flow, times) in result.flows.iter().zip(&mut times) {
            assert_eq!(flow.lost, 0, "{}", flow.name);
            times.push(flow.completion_seconds.expect("it arrives whole") * 1e9);
        }
    }
    let median = |mut times: Vec<f64>| {
        times.sort_by(f64::total_cmp);
        times[times.len() / 2]
    };
    times.into_iter().map(median).collect()
}

#[track_caller]
fn assert_near(seen: &[f64], wanted: &[f64], tolerance: f64) {
    assert_eq!(seen.len(), wanted.len());
    for (at, (seen, wanted)) in seen.iter().zip(wanted).enumerate() {
        let ratio = seen / wanted;
        assert!(
            (ratio - 1.0).abs() <= tolerance,
            "flow {}: {seen} ns in Weir, {wanted} ns in ns-3, {ratio:.4} of it",
            at + 1
        );
    }
}

fn published(rows: &[Row]) -> Vec<f64> {
    rows.iter().map(|row| row.published.unwrap()).collect()
}

fn exact(rows: &[Row]) -> Vec<f64> {
    rows.iter().map(|row| row.exact).collect()
}

#[test]
fn under_pfc_alone_flows_take_as_long_as_in_hpccs_simulator() {
    let rows = rows("five", "pfc");
    let sizes: Vec<u64> = rows.iter().map(|row| row.size).collect();
    assert_eq!(
        sizes,
        [200_000_000, 150_000_000, 100_000_000, 5_000_000, 2_500_000]
    );
    let files = (STAR, FIVE);
    let as_there = completions(files, Transport::Open, AS_THERE, &[1]);
    assert_near(&as_there, &published(&rows), 0.1);
    let equal = completions(files, Transport::Open, EQUAL_LINES, &[1]);
    assert_near(&equal, &exact(&rows), 0.01);
}

#[test]
fn with_dcqcn_flows_take_as_long_as_in_hpccs_simulator() {
    let rows = rows("ten", "dcqcn");
    let seeds = [1, 2, 3, 4, 5];
    let files = (STAR, TEN);
    let as_there = completions(files, Transport::Dcqcn, AS_THERE, &seeds);
    assert_near(&as_there, &published(&rows), 0.1);
    let equal = completions(files, Transport::Dcqcn, EQUAL_LINES, &seeds);
    assert_near(&equal, &exact(&rows), 0.1);
}

/// With DCQCN, a few marks decide in the small network if a flow is cut at all: `hpcc.py` has its medians.
#[test]
fn on_a_small_network_flows_take_as_long_as_in_ns3() {
    let files = (SMALL, SMALL_FLOWS);
    let seen = completions(files, Transport::Open, EQUAL_LINES, &[1]);
    assert_near(&seen, &exact(&rows("small", "pfc")), 0.03);
}
