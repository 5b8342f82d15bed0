//! Results as a table for people.

use weir_api::run::{FlowResult, RunResult};
use weir_config::scenario::Scenario;

use super::verdict;

/// One row of the demo's table.
struct Row {
    mode: String,
    cells: Vec<String>,
}

const HEADINGS: [&str; 11] = [
    "mode",
    "delivered",
    "lost",
    "reordered",
    "before",
    "after",
    "time to detect",
    "to first release",
    "to recover",
    "longest stall",
    "control frames",
];

/// The demo's table: one row for each result.
///
/// "Before" is the mean rate that all flows together had until they stood still, or of the whole run if they
/// never did; "after" that of the last third of the run.
pub fn demo(results: &[&RunResult]) -> String {
    let rows: Vec<Row> = results.iter().map(|result| row(result)).collect();
    let mut widths: Vec<usize> = HEADINGS.iter().map(|heading| heading.len()).collect();
    for row in &rows {
        let cells = std::iter::once(&row.mode).chain(&row.cells);
        for (width, cell) in widths.iter_mut().zip(cells) {
            *width = (*width).max(cell.chars().count());
        }
    }
    let mut out = String::new();
    line(
        &mut out,
        &widths,
        HEADINGS.iter().map(|heading| (*heading).to_owned()),
    );
    line(
        &mut out,
        &widths,
        widths.iter().map(|width| "─".repeat(*width)),
    );
    for row in rows {
        line(
            &mut out,
            &widths,
            std::iter::once(row.mode).chain(row.cells),
        );
    }
    out
}

/// What a run is called in tables and pictures.
pub fn title(result: &RunResult) -> String {
    match (result.mode.as_str(), result.policy.as_str()) {
        ("level", "off") => "level".to_owned(),
        ("level", policy) => format!("level, {policy}"),
        (_, "breaker") => "Deadlock Breaker".to_owned(),
        (_, "loop-breaker") => "Loop Breaker".to_owned(),
        (_, "watchdog") => "storm watchdog".to_owned(),
        (_, "lifetime") => "lifetime limit".to_owned(),
        (mode, "off") => format!("plain {}", mode.to_uppercase()),
        (_, other) => other.to_owned(),
    }
}

/// One line for each flow, then what the switches did, then the expectations.
pub fn run(result: &RunResult) -> String {
    let mut out = format!(
        "{}: mode {}, policy {}, {} s\n",
        result.scenario, result.mode, result.policy, result.duration_seconds
    );
    for flow in &result.flows {
        out.push_str(&format!(
            "  flow {:<8} {:>9} sent {:>9} received {:>6} in flight {:>4} lost {:>4} reordered {:>4} corrupted  {:>7.2} Mbit/s, last third {:>7.2}, longest stall {}\n",
            flow.name,
            flow.sent,
            flow.received,
            flow.in_flight,
            flow.lost,
            flow.reordered,
            flow.corrupted + flow.duplicated,
            flow.bits_per_second / 1e6,
            flow.bits_per_second_last_third / 1e6,
            milliseconds(Some(flow.longest_stall_seconds)),
        ));
    }
    out.push_str(&format!(
        "  {}; {} ports suspected at most; detected after {}, moving again after another {}\n  first release after {}, {} releases; {}{} control frames sent\n",
        if result.deadlocked { "deadlocked" } else { "not deadlocked" },
        result.suspected_peak,
        milliseconds(result.detect_seconds),
        milliseconds(result.recover_seconds),
        milliseconds(result.first_release_seconds),
        result.releases,
        rerouted(result),
        result.control_frames,
    ));
    for (reason, count) in &result.drops {
        out.push_str(&format!("  dropped: {count} {reason}\n"));
    }
    for expectation in &result.expectations {
        let mark = if expectation.held { "held  " } else { "FAILED" };
        out.push_str(&format!(
            "  {mark} {} (seen: {})\n",
            expectation.what, expectation.seen
        ));
    }
    out
}

/// Who moved flows, and how many.
fn rerouted(result: &RunResult) -> String {
    if result.masters.is_empty() {
        return String::new();
    }
    format!(
        "{} elected, {} flows moved; ",
        result.masters.join(", "),
        result.flows_moved
    )
}

/// One line for each credit loop that the routes close.
pub fn credit_loops(scenario: &Scenario) -> String {
    let loops = scenario.credit_loops();
    if loops.is_empty() {
        return "  the routes close no credit loop\n".to_owned();
    }
    let lines = loops.iter().map(|found| {
        format!(
            "  the routes close a credit loop in priority {}: {}\n",
            found.priority.get(),
            scenario.credit_loop_text(found)
        )
    });
    lines.collect()
}

fn line(out: &mut String, widths: &[usize], cells: impl Iterator<Item = String>) {
    let mut text = String::new();
    for (index, (cell, width)) in cells.zip(widths).enumerate() {
        let pad = " ".repeat(width.saturating_sub(cell.chars().count()));
        if index == 0 {
            text.push_str(&format!("{cell}{pad}"));
        } else {
            text.push_str(&format!("  {pad}{cell}"));
        }
    }
    out.push_str(text.trim_end());
    out.push('\n');
}

fn row(result: &RunResult) -> Row {
    let total = |count: fn(&FlowResult) -> u64| result.flows.iter().map(count).sum::<u64>();
    let mode = title(result);
    let stall = result
        .flows
        .iter()
        .map(|flow| flow.longest_stall_seconds)
        .fold(0.0, f64::max);
    let after: f64 = result
        .flows
        .iter()
        .map(|flow| flow.bits_per_second_last_third)
        .sum();
    Row {
        mode,
        cells: vec![
            total(|flow| flow.received).to_string(),
            total(|flow| flow.lost).to_string(),
            total(|flow| flow.reordered).to_string(),
            megabits(verdict::rate_before(result)),
            megabits(after),
            milliseconds(result.detect_seconds),
            milliseconds(result.first_release_seconds),
            milliseconds(result.recover_seconds),
            milliseconds(Some(stall)),
            result.control_frames.to_string(),
        ],
    }
}

fn megabits(bits_per_second: f64) -> String {
    format!("{:.1} Mbit/s", bits_per_second / 1e6)
}

fn milliseconds(seconds: Option<f64>) -> String {
    seconds.map_or_else(
        || "–".to_owned(),
        |seconds| format!("{:.1} ms", seconds * 1e3),
    )
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use weir_api::run::{Series, RUN_FORMAT};

    /// A result in which nothing happened.
    pub(crate) fn empty_result() -> RunResult {
        RunResult {
            format: RUN_FORMAT,
            scenario: "empty".into(),
            runner: "lab".into(),
            policy: "off".into(),
            mode: "pfc".into(),
            seed: 1,
            duration_seconds: 1.0,
            deadlocked: false,
            suspected_peak: 0,
            detect_seconds: None,
            first_release_seconds: None,
            recover_seconds: None,
            releases: 0,
            masters: Vec::new(),
            flows_moved: 0,
            control_frames: 0,
            flows: Vec::new(),
            drops: Default::default(),
            events: Vec::new(),
            series: Series::default(),
            expectations: Vec::new(),
        }
    }

    fn flow(received: u64, last_third: f64) -> FlowResult {
        FlowResult {
            received,
            bits_per_second_last_third: last_third,
            longest_stall_seconds: 0.25,
            ..FlowResult::default()
        }
    }

    #[test]
    fn columns_line_up() {
        let mut plain = empty_result();
        plain.flows = vec![flow(7, 0.0), flow(5, 0.0)];
        let mut breaker = empty_result();
        breaker.policy = "breaker".into();
        breaker.first_release_seconds = Some(0.0123);
        breaker.flows = vec![flow(123_456, 30e6), flow(5, 20e6)];
        let mut level = empty_result();
        level.mode = "level".into();
        let text = demo(&[&plain, &breaker, &level]);
        let lines: Vec<&str> = text.lines().collect();
        let width = lines[1].chars().count();
        assert!(
            lines.iter().all(|line| line.chars().count() <= width),
            "{text}"
        );
        assert!(
            lines[2].starts_with("plain PFC") && lines[2].contains(" 12 "),
            "{text}"
        );
        for cell in [
            "Deadlock Breaker",
            " 123461 ",
            "50.0 Mbit/s",
            "12.3 ms",
            "250.0 ms",
        ] {
            assert!(lines[3].contains(cell), "{cell}: {text}");
        }
        assert!(lines[4].starts_with("level  "), "{text}");
    }
}
