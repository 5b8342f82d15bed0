//! Results as a table.

use weir_api::run::{ApplicationResult, FlowResult, RunResult};
use weir_config::scenario::{HostKind, Scenario};
use weir_core::control::Policy;
use weir_core::ModeKind;

use crate::quantity::{rate, setting, time, Unit};
use crate::{slowdown, verdict};

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
/// "Before" is the mean total rate of the flows until they stalled, or over the whole run if they never did; "after"
/// that of the last third of the run.
pub fn demo(results: &[&RunResult]) -> String {
    let rows: Vec<Vec<String>> = results.iter().map(|result| row(result)).collect();
    grid(&HEADINGS, &rows)
}

/// Rows under headings and a rule; the first column flush left, the others flush right.
pub fn grid(headings: &[&str], rows: &[Vec<String>]) -> String {
    let mut widths: Vec<usize> = headings.iter().map(|text| text.chars().count()).collect();
    for row in rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(cell.chars().count());
        }
    }
    let mut out = String::new();
    let headings = headings.iter().map(|heading| (*heading).to_owned());
    line(&mut out, &widths, headings);
    let rule = widths.iter().map(|width| "─".repeat(*width));
    line(&mut out, &widths, rule);
    for row in rows {
        line(&mut out, &widths, row.iter().cloned());
    }
    out
}

/// Returns the title of a run in tables and pictures.
pub fn title(result: &RunResult) -> String {
    let (mode, policy) = (&result.mode, &result.policy);
    match (mode.known(), policy.known()) {
        (Some(ModeKind::Level), Some(Policy::Off)) => "level".to_owned(),
        (Some(ModeKind::Level), _) => format!("level, {policy}"),
        (_, Some(Policy::Breaker)) => "Deadlock Breaker".to_owned(),
        (_, Some(Policy::LoopBreaker)) => "Loop Breaker".to_owned(),
        (_, Some(Policy::Watchdog)) => "storm watchdog".to_owned(),
        (_, Some(Policy::Lifetime)) => "lifetime limit".to_owned(),
        (_, Some(Policy::Off)) => format!("plain {}", mode.as_str().to_uppercase()),
        (_, Some(Policy::Auto) | None) => policy.to_string(),
    }
}

const FLOW_LINES_MAX: usize = 100;
const FLOW_LINES_OF_MANY: usize = 10;

/// One line for each flow (of more than a hundred, the first ten), followed by the switches' actions and the
/// expectations.
pub fn run(result: &RunResult) -> String {
    let mut out = format!(
        "{}: mode {}, policy {}, {}\n",
        result.scenario,
        result.mode,
        result.policy,
        setting(result.duration_seconds)
    );
    let fastest = result
        .flows
        .iter()
        .map(|flow| flow.bits_per_second.max(flow.bits_per_second_last_third))
        .fold(0.0, f64::max);
    let unit = Unit::of_rate(fastest);
    let shown = match result.flows.len() {
        few @ 0..=FLOW_LINES_MAX => few,
        _ => FLOW_LINES_OF_MANY,
    };
    for flow in &result.flows[..shown] {
        out.push_str(&format!(
            "  flow {:<8} {:>9} sent {:>9} received {:>6} in flight {:>4} lost {:>4} reordered {:>4} corrupted  {:>7.2} {}, last third {:>7.2}, longest stall {}\n",
            flow.name,
            flow.sent,
            flow.received,
            flow.in_flight,
            flow.lost,
            flow.reordered,
            flow.corrupted + flow.duplicated,
            unit.count(flow.bits_per_second),
            unit.name,
            unit.count(flow.bits_per_second_last_third),
            time(Some(flow.longest_stall_seconds)),
        ));
    }
    let more = result.flows.len() - shown;
    if more > 0 {
        out.push_str(&format!("  and {more} more flows: --json has them all\n"));
    }
    out.push_str(&slowdown::text(result));
    for one in &result.applications {
        out.push_str(&application(one));
    }
    out.push_str(&format!(
        "  {}; {} ports suspected at most; detected after {}, moving again after another {}\n  first release after {}, {} releases; {}{} control frames sent\n",
        if result.deadlocked { "deadlocked" } else { "not deadlocked" },
        result.suspected_peak,
        time(result.detect_seconds),
        time(result.recover_seconds),
        time(result.first_release_seconds),
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

fn application(one: &ApplicationResult) -> String {
    let status = match one.exit_status {
        Some(status) => format!("status {status}"),
        None => "ended by a signal".to_owned(),
    };
    let rate = one.bits_per_second.map_or(String::new(), |bits| {
        let unit = Unit::of_rate(bits);
        format!(", {:.2} {}", unit.count(bits), unit.name)
    });
    let again = one.retransmitted.map_or(String::new(), |segments| {
        format!(", {segments} segments retransmitted")
    });
    format!(
        "  application {:<8} {} to {}: {status} after {}{rate}{again}\n",
        one.name,
        one.from,
        one.to,
        time(Some(one.seconds)),
    )
}

/// Formats the switches that moved flows, and the numbers.
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

/// One line for each credit loop of the routes.
pub fn credit_loops(scenario: &Scenario) -> String {
    if scenario.host_kind == HostKind::Kernel {
        return "  which frames the hosts send is not known, and so not whether a credit loop is closed\n"
            .to_owned();
    }
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

fn row(result: &RunResult) -> Vec<String> {
    let total = |count: fn(&FlowResult) -> u64| result.flows.iter().map(count).sum::<u64>();
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
    vec![
        title(result),
        total(|flow| flow.received).to_string(),
        total(|flow| flow.lost).to_string(),
        total(|flow| flow.reordered).to_string(),
        rate(verdict::rate_before(result)),
        rate(after),
        time(result.detect_seconds),
        time(result.first_release_seconds),
        time(result.recover_seconds),
        time(Some(stall)),
        result.control_frames.to_string(),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::empty_result;

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

    #[test]
    fn fast_and_short_runs_have_fitting_units() {
        let mut result = empty_result();
        result.duration_seconds = 1e-4;
        result.detect_seconds = Some(12.5e-6);
        let mut fast = flow(800, 98.4e9);
        fast.bits_per_second = 97.25e9;
        fast.longest_stall_seconds = 130e-9;
        result.flows = vec![fast];
        let text = run(&result);
        for part in [
            ", 100 µs\n",
            "97.25 Gbit/s, last third   98.40",
            "stall 130.0 ns",
            "detected after 12.5 µs",
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
    }
}
