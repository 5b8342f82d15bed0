//! Verdict on a run: locked or not, time to detection and release, and the scenario's expectations. `credit-loop` is no
//! part of it: the reader of the scenario checks it before the run.

use std::collections::BTreeSet;

use weir_api::run::{Expectation, FlowResult, RunEvent, RunResult, Series};
use weir_api::words::{EventName, Runner};
use weir_config::scenario::{Expect, Scenario};
use weir_core::Duration;

use crate::quantity;

/// Times of the first deadlock of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Timing {
    /// Peak number of (switch, egress, priority) triples suspected at the same time.
    pub suspected_peak: usize,
    /// Time from the standstill until the last port of the loop was suspected.
    pub detect_seconds: Option<f64>,
    /// Time from then until the first release.
    pub first_release_seconds: Option<f64>,
    /// Time from then until a flow arrived again.
    pub recover_seconds: Option<f64>,
}

/// Returns true if no flow between switches made progress in the last third while frames were held. Never true for a
/// network without flows between switches.
pub fn is_deadlocked(scenario: &Scenario, flows: &[FlowResult], held_frames: u64) -> bool {
    let mut crossing = fabric_flows(scenario).peekable();
    held_frames > 0
        && crossing.peek().is_some()
        && crossing.all(|index| flows[index].bits_per_second_last_third == 0.0)
}

/// Flows between different switches.
pub fn fabric_flows(scenario: &Scenario) -> impl Iterator<Item = usize> + '_ {
    (0..scenario.flows.len()).filter(|flow| scenario.crosses_links(*flow))
}

/// Computes the times from the suspicions.
pub fn timing(scenario: &Scenario, events: &[RunEvent], series: &Series) -> Timing {
    let mut suspected = BTreeSet::new();
    let mut timing = Timing::default();
    let mut last_suspected = None;
    let mut first_peak = None;
    for event in events {
        let key = (&event.switch, &event.port, event.priority);
        match event.kind.known() {
            Some(EventName::Suspected) => {
                suspected.insert(key);
                last_suspected = Some(event.seconds);
                if suspected.len() > timing.suspected_peak {
                    timing.suspected_peak = suspected.len();
                    if timing.first_release_seconds.is_none() {
                        first_peak = Some(event.seconds);
                    }
                }
            }
            Some(EventName::SuspicionEnded) => {
                suspected.remove(&key);
            }
            Some(EventName::ReleaseStarted) if timing.first_release_seconds.is_none() => {
                timing.first_release_seconds =
                    last_suspected.map(|suspected| event.seconds - suspected);
                first_peak = last_suspected.or(first_peak);
            }
            _ => {}
        }
    }
    timing.detect_seconds = first_peak.map(|detected| {
        let stopped = last_progress(scenario, series, detected);
        detected - stopped
    });
    timing.recover_seconds = first_peak.and_then(|detected| {
        let moving = next_progress(scenario, series, detected)?;
        Some(moving - detected)
    });
    timing
}

fn fabric_curves<'a>(
    scenario: &'a Scenario,
    series: &'a Series,
) -> impl Iterator<Item = &'a Vec<f64>> {
    let of_each =
        fabric_flows(scenario).filter_map(|flow| series.throughput.get(&scenario.flows[flow].name));
    of_each.chain(series.throughput.get(Series::BETWEEN_SWITCHES))
}

/// Returns the end of the first interval that begins after `from` in which a flow between switches arrived.
fn next_progress(scenario: &Scenario, series: &Series, from: f64) -> Option<f64> {
    let interval = series.interval_seconds;
    let first = (from / interval).ceil() as usize;
    fabric_curves(scenario, series)
        .filter_map(|rates| rates.iter().skip(first).position(|rate| *rate > 0.0))
        .map(|bin| (first + bin + 1) as f64 * interval)
        .min_by(f64::total_cmp)
}

/// Returns the end of the last interval before `until` in which a flow between switches arrived.
fn last_progress(scenario: &Scenario, series: &Series, until: f64) -> f64 {
    let interval = series.interval_seconds;
    let bins = (until / interval) as usize;
    fabric_curves(scenario, series)
        .filter_map(|rates| rates.iter().take(bins).rposition(|rate| *rate > 0.0))
        .map(|bin| (bin + 1) as f64 * interval)
        .fold(0.0, f64::max)
}

/// Mean total rate of all flows, in bits per second, until the standstill that led to the first suspicion; over the
/// whole run if nothing was suspected.
pub fn rate_before(result: &RunResult) -> f64 {
    rate_until(
        result,
        standstill(result).unwrap_or(result.duration_seconds),
    )
}

/// Returns when the flows that led to the first suspicion stalled, in seconds from the start of traffic.
pub fn standstill(result: &RunResult) -> Option<f64> {
    let is_suspicion = |event: &&RunEvent| event.kind == EventName::Suspected;
    let suspected = result.events.iter().find(is_suspicion)?;
    Some((suspected.seconds - result.detect_seconds?).max(0.0))
}

/// Mean total rate of all flows in the first `seconds`, in bits per second.
pub fn rate_until(result: &RunResult, seconds: f64) -> f64 {
    let bins = ((seconds / result.series.interval_seconds) as usize).max(1);
    result
        .series
        .throughput
        .values()
        .map(|rates| rates.iter().take(bins).sum::<f64>() / bins as f64)
        .sum()
}

/// Judges the scenario's expectations.
pub fn expectations(expect: &Expect, result: &RunResult) -> Vec<Expectation> {
    let total = |count: fn(&FlowResult) -> u64| result.flows.iter().map(count).sum::<u64>();
    let mut out = Vec::new();
    let mut judge = |what: String, held: bool, seen: String| {
        out.push(Expectation { what, held, seen });
    };
    if let Some(wanted) = expect.deadlock {
        judge(
            format!("deadlock = {wanted}"),
            result.deadlocked == wanted,
            result.deadlocked.to_string(),
        );
    }
    let peak = result.suspected_peak as u64;
    if let Some(wanted) = expect.suspected {
        judge(
            format!("suspected = {wanted}"),
            peak == wanted,
            peak.to_string(),
        );
    }
    if let Some(wanted) = expect.suspected_at_least {
        judge(
            format!("suspected ≥ {wanted}"),
            peak >= wanted,
            peak.to_string(),
        );
    }
    for (name, wanted, seen) in [
        ("lost", expect.lost, total(|flow| flow.lost)),
        ("reordered", expect.reordered, total(|flow| flow.reordered)),
        (
            "corrupted",
            expect.corrupted,
            total(|flow| flow.corrupted + flow.duplicated),
        ),
    ] {
        if let Some(wanted) = wanted {
            let relation = if wanted == 0 { "=" } else { "≤" };
            judge(
                format!("{name} {relation} {wanted}"),
                seen <= wanted,
                seen.to_string(),
            );
        }
    }
    if let Some(wanted) = expect.dropped {
        let seen: u64 = result.drops.values().sum();
        let relation = if wanted == 0 { "=" } else { "≤" };
        judge(
            format!("dropped {relation} {wanted}"),
            seen <= wanted,
            seen.to_string(),
        );
    }
    if let Some(wanted) = expect.retransmitted {
        let of_each = result.applications.iter().map(|one| one.retransmitted);
        let seen: u64 = of_each.flatten().sum();
        let relation = if wanted == 0 { "=" } else { "≤" };
        judge(
            format!("retransmitted {relation} {wanted}"),
            seen <= wanted,
            seen.to_string(),
        );
    }
    if !result.applications.is_empty() {
        let mut failed = result.applications.iter();
        let failed = failed.find(|one| one.exit_status != Some(0));
        judge(
            "every application ends with status 0".to_owned(),
            failed.is_none(),
            failed.map_or("all did".to_owned(), |one| match one.exit_status {
                Some(status) => format!("{}: {status}", one.name),
                None => format!("{}: ended by a signal", one.name),
            }),
        );
    }
    if let Some(wanted) = expect.progress {
        let stuck: Vec<&str> = result
            .flows
            .iter()
            .filter(|flow| flow.bits_per_second_last_third == 0.0)
            .map(|flow| flow.name.as_str())
            .collect();
        let seen = if stuck.is_empty() {
            "every flow moved in the last third".to_owned()
        } else {
            format!("stood still in the last third: {}", stuck.join(", "))
        };
        judge(
            format!("progress = {wanted}"),
            stuck.is_empty() == wanted,
            seen,
        );
    }
    if let Some(limit) = expect.first_release_within {
        let seen = result.first_release_seconds;
        let limit_seconds = Duration::as_secs_f64(limit);
        let limit = quantity::setting(limit_seconds);
        // In the lab, the machine adds the time for which threads wait for a processor.
        let (what, held) = match result.runner.known() {
            Some(Runner::Lab) => (
                format!("a first release (the limit of {limit} is for virtual time)"),
                seen.is_some(),
            ),
            _ => (
                format!("first release within {limit}"),
                seen.is_some_and(|seconds| seconds <= limit_seconds),
            ),
        };
        let seen = seen.map_or("none".to_owned(), |_| quantity::time(seen));
        judge(what, held, seen);
    }
    out
}

/// Returns losses in lossless classes that the scenario does not permit: without such a setting it permits none.
pub fn unexpected_loss(scenario: &Scenario, result: &RunResult) -> Option<Expectation> {
    if scenario.expect.lost.is_some() || scenario.expect.dropped.is_some() {
        return None;
    }
    let is_lossless = |flow: usize| {
        let class = &scenario.classes[scenario.flows[flow].class];
        class.mode.is_lossless()
    };
    let flows = result.flows.iter().enumerate();
    let lost: u64 = flows
        .filter(|(flow, _)| is_lossless(*flow))
        .map(|(_, flow)| flow.lost)
        .sum();
    (lost > 0).then(|| Expectation {
        what: "lost = 0, as [expect] has neither `lost` nor `dropped`".into(),
        held: false,
        seen: lost.to_string(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::{empty_result, event, ring4};

    #[test]
    fn times_count_from_the_last_suspicion_before_the_first_release() {
        let events = [
            event(0.50, "s1", "suspected"),
            event(0.52, "s2", "suspected"),
            event(0.53, "s1", "release_started"),
            event(0.54, "s1", "suspicion_ended"),
            event(0.90, "s3", "suspected"),
            event(0.95, "s3", "release_started"),
        ];
        let mut series = Series {
            interval_seconds: 0.01,
            ..Series::default()
        };
        let mut rates = vec![0.0; 100];
        rates[39] = 1.0;
        rates[60] = 1.0;
        series.throughput.insert("a".into(), rates);
        let timing = timing(&ring4(), &events, &series);
        assert_eq!(timing.suspected_peak, 2);
        assert!((timing.first_release_seconds.unwrap() - 0.01).abs() < 1e-9);
        assert!((timing.detect_seconds.unwrap() - 0.12).abs() < 1e-9);
    }

    #[test]
    fn a_network_is_locked_only_with_frames_that_are_never_delivered() {
        let scenario = ring4();
        let mut flows = vec![FlowResult::default(); scenario.flows.len()];
        assert!(is_deadlocked(&scenario, &flows, 10));
        assert!(!is_deadlocked(&scenario, &flows, 0));
        flows[2].bits_per_second_last_third = 1.0;
        assert!(!is_deadlocked(&scenario, &flows, 10));
    }

    #[test]
    fn the_period_before_ends_where_the_network_stopped() {
        let mut result = empty_result();
        result.duration_seconds = 0.04;
        result.series.interval_seconds = 0.01;
        result
            .series
            .throughput
            .insert("a".into(), vec![4e6, 2e6, 0.0, 0.0]);
        result
            .series
            .throughput
            .insert("b".into(), vec![1e6, 1e6, 0.0, 0.0]);
        assert!(
            (rate_before(&result) - 2e6).abs() < 1.0,
            "without a suspicion: all of it"
        );
        result.detect_seconds = Some(0.02);
        result.events.push(event(0.04, "s1", "suspected"));
        assert!((rate_before(&result) - 4e6).abs() < 1.0);
    }

    #[test]
    fn a_limit_of_time_is_for_virtual_time() {
        let expect = Expect {
            first_release_within: Some(Duration::from_millis(60)),
            ..Expect::default()
        };
        let held = |runner: Runner, seconds: Option<f64>| {
            let mut result = empty_result();
            result.runner = runner.into();
            result.first_release_seconds = seconds;
            let [expectation] = &expectations(&expect, &result)[..] else {
                panic!("one expectation");
            };
            expectation.held
        };
        assert!(held(Runner::Sim, Some(0.06)));
        assert!(!held(Runner::Sim, Some(0.061)));
        assert!(!held(Runner::Sim, None));
        assert!(held(Runner::Lab, Some(0.061)));
        assert!(!held(Runner::Lab, None));
    }

    #[test]
    fn an_unexpected_loss_is_reported() {
        let mut scenario = ring4();
        let mut result = empty_result();
        result.flows = vec![FlowResult::default(); scenario.flows.len()];
        result.flows[1].lost = 3;
        assert_eq!(
            unexpected_loss(&scenario, &result),
            None,
            "ring4 says lost = 0"
        );
        scenario.expect.lost = None;
        let told = unexpected_loss(&scenario, &result).unwrap();
        assert_eq!((told.held, told.seen.as_str()), (false, "3"));
        scenario.expect.dropped = Some(3);
        assert_eq!(unexpected_loss(&scenario, &result), None);
        result.drops.insert("storm".into(), 4);
        let judged = expectations(&scenario.expect, &result);
        let dropped = judged.iter().find(|judged| judged.what == "dropped ≤ 3");
        assert_eq!(dropped.map(|dropped| dropped.held), Some(false));
    }
}
