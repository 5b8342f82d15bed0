//! Converts the result of a run to rows: one for the run, and on request one for each flow and for each buffer.

use weir_api::run::{BufferResult, FlowResult, RunResult};
use weir_config::scenario::Scenario;
use weir_recording::table::{Cell, CellKind, Column};
use weir_results::slowdown::{self, percentile};

use CellKind::{Count, Flag, Number, Text};

/// Columns of a run; those after an error are empty.
const RUN: &[(&str, CellKind)] = &[
    ("error", Text),
    ("duration_seconds", Number),
    ("policy", Text),
    ("mode", Text),
    ("deadlocked", Flag),
    ("suspected_peak", Count),
    ("detect_seconds", Number),
    ("first_release_seconds", Number),
    ("recover_seconds", Number),
    ("releases", Count),
    ("flows_moved", Count),
    ("control_frames", Count),
    ("frame_hops", Count),
    ("events", Count),
    ("expectations_failed", Count),
    ("failed_expectations", Text),
    ("flows", Count),
    ("frames_sent", Count),
    ("frames_received", Count),
    ("frames_in_flight", Count),
    ("frames_lost", Count),
    ("frames_reordered", Count),
    ("frames_dropped", Count),
    ("drops", Text),
    ("bits_per_second", Number),
    ("bits_per_second_last_third", Number),
    ("bits_per_second_slowest_flow", Number),
    ("longest_stall_seconds", Number),
    ("flows_with_size", Count),
    ("flows_completed", Count),
    ("fct_seconds_mean", Number),
    ("fct_seconds_p50", Number),
    ("fct_seconds_p95", Number),
    ("fct_seconds_p99", Number),
    ("fct_seconds_p999", Number),
    ("fct_seconds_max", Number),
    ("slowdown_p50", Number),
    ("slowdown_p95", Number),
    ("slowdown_p99", Number),
    ("slowdown_max", Number),
    ("pauses", Count),
    ("xoff_sent", Count),
    ("pause_seconds", Number),
    ("pause_seconds_max", Number),
    ("ingress_bytes_max", Count),
    ("egress_bytes_max", Count),
];

const FLOW: &[(&str, CellKind)] = &[
    ("flow", Text),
    ("from", Text),
    ("to", Text),
    ("class", Text),
    ("start_seconds", Number),
    ("size_bytes", Count),
    ("fct_seconds", Number),
    ("ideal_fct_seconds", Number),
    ("slowdown", Number),
    ("frames_sent", Count),
    ("frames_received", Count),
    ("frames_in_flight", Count),
    ("frames_lost", Count),
    ("frames_reordered", Count),
    ("bits_per_second", Number),
    ("bits_per_second_last_third", Number),
    ("longest_stall_seconds", Number),
];

const PORT: &[(&str, CellKind)] = &[
    ("switch", Text),
    ("port", Text),
    ("priority", Count),
    ("ingress_bytes_max", Count),
    ("egress_bytes_max", Count),
    ("pauses", Count),
    ("xoff_sent", Count),
    ("pause_seconds", Number),
];

fn columns(of: &[(&str, CellKind)], is_optional: bool) -> Vec<Column> {
    let column = |(name, kind): &(&str, CellKind)| Column::of(*name, *kind, is_optional);
    of.iter().map(column).collect()
}

pub(super) fn run_columns() -> Vec<Column> {
    columns(RUN, true)
}

pub(super) fn flow_columns() -> Vec<Column> {
    columns(FLOW, true)
}

pub(super) fn port_columns() -> Vec<Column> {
    columns(PORT, true)
}

pub(super) fn failed(error: &str) -> Vec<Cell> {
    let mut row = vec![Cell::Null; RUN.len()];
    row[0] = Cell::text(error);
    row
}

pub(super) fn run(result: &RunResult) -> Vec<Cell> {
    let mut row = vec![Cell::Null];
    row.extend(verdict(result));
    row.extend(traffic(result));
    row.extend(completions(&result.flows));
    row.extend(buffers(&result.buffers));
    debug_assert_eq!(row.len(), RUN.len());
    row
}

fn verdict(result: &RunResult) -> Vec<Cell> {
    let failed = result.expectations.iter().filter(|one| !one.held);
    let failed: Vec<String> = failed
        .map(|one| format!("{} (seen: {})", one.what, one.seen))
        .collect();
    vec![
        Cell::Number(result.duration_seconds),
        Cell::text(result.policy.as_str()),
        Cell::text(result.mode.as_str()),
        Cell::Flag(result.deadlocked),
        Cell::count(result.suspected_peak as u64),
        Cell::number(result.detect_seconds),
        Cell::number(result.first_release_seconds),
        Cell::number(result.recover_seconds),
        Cell::count(result.releases),
        Cell::count(result.flows_moved),
        Cell::count(result.control_frames),
        Cell::count(result.simulated.map_or(0, |work| work.frame_hops)),
        Cell::count(result.simulated.map_or(0, |work| work.events)),
        Cell::count(failed.len() as u64),
        match failed.is_empty() {
            true => Cell::Null,
            false => Cell::Text(failed.join("; ")),
        },
    ]
}

fn traffic(result: &RunResult) -> Vec<Cell> {
    let flows = &result.flows;
    let sum = |count: fn(&FlowResult) -> u64| Cell::count(flows.iter().map(count).sum());
    let rates = |rate: fn(&FlowResult) -> f64| flows.iter().map(rate);
    let dropped = result.drops.values().sum();
    // Reasons are our own names and need no escapes.
    let drops: Vec<String> = result
        .drops
        .iter()
        .map(|(reason, count)| format!("\"{reason}\":{count}"))
        .collect();
    vec![
        Cell::count(flows.len() as u64),
        sum(|flow| flow.sent),
        sum(|flow| flow.received),
        sum(|flow| flow.in_flight),
        sum(|flow| flow.lost),
        sum(|flow| flow.reordered),
        Cell::count(dropped),
        Cell::Text(format!("{{{}}}", drops.join(","))),
        Cell::Number(rates(|flow| flow.bits_per_second).sum()),
        Cell::Number(rates(|flow| flow.bits_per_second_last_third).sum()),
        Cell::number(rates(|flow| flow.bits_per_second).min_by(f64::total_cmp)),
        Cell::number(rates(|flow| flow.longest_stall_seconds).max_by(f64::total_cmp)),
    ]
}

fn completions(flows: &[FlowResult]) -> Vec<Cell> {
    let with_size = flows
        .iter()
        .filter(|flow| flow.size_bytes.is_some())
        .count();
    let mut times: Vec<f64> = flows
        .iter()
        .filter_map(|flow| flow.completion_seconds)
        .collect();
    times.sort_by(f64::total_cmp);
    let mean = match times.len() {
        0 => None,
        count => Some(times.iter().sum::<f64>() / count as f64),
    };
    let mut row = vec![
        Cell::count(with_size as u64),
        Cell::count(times.len() as u64),
        Cell::number(mean),
    ];
    let percentiles = [500, 950, 990, 999, 1000];
    row.extend(percentiles.map(|per_mille| Cell::number(percentile(&times, per_mille))));
    let slower = slowdown::sorted(flows);
    let percentiles = [500, 950, 990, 1000];
    row.extend(percentiles.map(|per_mille| Cell::number(percentile(&slower, per_mille))));
    row
}

fn buffers(buffers: &[BufferResult]) -> Vec<Cell> {
    let sum = |count: fn(&BufferResult) -> u64| buffers.iter().map(count).sum();
    let max = |count: fn(&BufferResult) -> u64| buffers.iter().map(count).max().unwrap_or(0);
    vec![
        Cell::count(sum(|buffer| buffer.pauses)),
        Cell::count(sum(|buffer| buffer.xoff_sent)),
        seconds(sum(|buffer| buffer.pause_nanos)),
        seconds(max(|buffer| buffer.pause_nanos)),
        Cell::count(max(|buffer| buffer.ingress_bytes_max)),
        Cell::count(max(|buffer| buffer.egress_bytes_max)),
    ]
}

pub(super) fn flows(scenario: &Scenario, result: &RunResult) -> Vec<Vec<Cell>> {
    let flows = scenario.flows.iter().zip(&result.flows);
    flows
        .map(|(flow, got)| {
            vec![
                Cell::text(&got.name),
                Cell::text(&scenario.hosts[flow.from].name),
                Cell::text(&scenario.hosts[flow.to].name),
                Cell::text(&scenario.classes[flow.class].name),
                Cell::Number(got.began_seconds.unwrap_or(flow.start.as_secs_f64())),
                got.size_bytes.map_or(Cell::Null, Cell::count),
                Cell::number(got.completion_seconds),
                Cell::number(got.ideal_seconds),
                Cell::number(got.slowdown),
                Cell::count(got.sent),
                Cell::count(got.received),
                Cell::count(got.in_flight),
                Cell::count(got.lost),
                Cell::count(got.reordered),
                Cell::Number(got.bits_per_second),
                Cell::Number(got.bits_per_second_last_third),
                Cell::Number(got.longest_stall_seconds),
            ]
        })
        .collect()
}

/// Returns a row for each switch, port and priority that ever held a frame.
pub(super) fn ports(result: &RunResult) -> Vec<Vec<Cell>> {
    let row = |buffer: &BufferResult| {
        vec![
            Cell::text(&buffer.switch),
            Cell::text(&buffer.port),
            Cell::count(u64::from(buffer.priority)),
            Cell::count(buffer.ingress_bytes_max),
            Cell::count(buffer.egress_bytes_max),
            Cell::count(buffer.pauses),
            Cell::count(buffer.xoff_sent),
            seconds(buffer.pause_nanos),
        ]
    };
    result.buffers.iter().map(row).collect()
}

fn seconds(nanos: u64) -> Cell {
    Cell::Number(nanos as f64 / 1e9)
}
