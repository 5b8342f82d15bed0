//! Converts the counts of a runner to the result of a run.

use std::collections::BTreeMap;

use weir_api::describe::Described;
use weir_api::run::{
    ApplicationResult, BufferResult, FlowResult, RunEvent, RunResult, Series, Simulated, RUN_FORMAT,
};
use weir_api::words::{EventName, Runner};
use weir_config::scenario::Scenario;
use weir_core::units::NANOS_PER_SECOND;
use weir_core::{Instant, ModeKind};

use crate::{slowdown, verdict};

/// Values known only to the runner.
#[derive(Clone, Debug)]
pub struct Parts {
    /// Runner.
    pub runner: Runner,
    /// Frames in all switches after the drain.
    pub held_frames: u64,
    /// One for each flow of the scenario, in its order.
    pub flows: Vec<FlowResult>,
    /// One for each application of the scenario, in its order.
    pub applications: Vec<ApplicationResult>,
    /// Buffers and queues; those that never held a frame are omitted from the result.
    pub buffers: Vec<BufferResult>,
    /// Frames dropped, by reason; reasons without drops are omitted.
    pub drops: BTreeMap<String, u64>,
    /// Events of all switches in any order. Those before the start of traffic are omitted from the result.
    pub events: Vec<RunEvent>,
    /// Throughput of every flow and occupancy of the buffers that the runner observed.
    pub series: Series,
    /// PFC frames (including Transmit Feedback) and CLCM sent by the switches.
    pub control_frames: u64,
    /// Work of a simulated run.
    pub simulated: Option<Simulated>,
}

/// Returns the result of a run, including its expectations. Events of the same moment keep their order.
///
/// # Panics
///
/// If the number of `parts.flows` is not that of the scenario, which is an error of the runner.
pub fn assemble(scenario: &Scenario, parts: Parts) -> RunResult {
    assert_eq!(
        parts.flows.len(),
        scenario.flows.len(),
        "one result for each flow"
    );
    let mut events = parts.events;
    events.retain(|event| event.seconds >= 0.0);
    events.sort_by(|a, b| a.seconds.total_cmp(&b.seconds));
    let mut buffers = parts.buffers;
    buffers.retain(|buffer| buffer.ingress_bytes_max > 0 || buffer.egress_bytes_max > 0);
    let timing = verdict::timing(scenario, &events, &parts.series);
    let count = |kind: EventName| events.iter().filter(|event| event.kind == kind).count() as u64;
    let of_flows = scenario.flows.iter().map(|flow| flow.class);
    let of_applications = scenario.applications.iter().filter_map(|one| one.class);
    let mode = of_flows.chain(of_applications).next();
    let mode = mode.map_or(ModeKind::Pfc, |class| scenario.classes[class].mode.kind());
    let mut result = RunResult {
        format: RUN_FORMAT,
        scenario: scenario.name.clone(),
        runner: parts.runner.into(),
        policy: scenario.deadlock.policy.into(),
        mode: mode.into(),
        seed: scenario.seed,
        duration_seconds: scenario.duration.as_secs_f64(),
        deadlocked: verdict::is_deadlocked(scenario, &parts.flows, parts.held_frames),
        suspected_peak: timing.suspected_peak,
        detect_seconds: timing.detect_seconds,
        first_release_seconds: timing.first_release_seconds,
        recover_seconds: timing.recover_seconds,
        releases: count(EventName::ReleaseStarted),
        masters: masters(&events),
        flows_moved: count(EventName::FlowMoved),
        control_frames: parts.control_frames,
        simulated: parts.simulated,
        slowdown: slowdown::bins(&parts.flows),
        flows: parts.flows,
        applications: parts.applications,
        buffers,
        drops: parts.drops,
        events,
        series: parts.series,
        expectations: Vec::new(),
    };
    result.expectations = verdict::expectations(&scenario.expect, &result);
    let unexpected = verdict::unexpected_loss(scenario, &result);
    result.expectations.extend(unexpected);
    result
}

/// Converts a switch's event at `described.at`, in a run whose traffic began at `start`.
pub fn run_event(switch: &str, start: Instant, described: Described) -> RunEvent {
    RunEvent {
        seconds: seconds_since(start, described.at),
        switch: switch.to_owned(),
        kind: described.kind.into(),
        port: described.port,
        priority: described.priority,
        details: described.details,
    }
}

/// Time from the start of traffic to `at`; negative before it.
pub fn seconds_since(start: Instant, at: Instant) -> f64 {
    let nanos = i128::from(at.as_nanos()) - i128::from(start.as_nanos());
    nanos as f64 / NANOS_PER_SECOND as f64
}

/// In the order of their first election.
fn masters(events: &[RunEvent]) -> Vec<String> {
    let mut masters: Vec<String> = Vec::new();
    for event in events
        .iter()
        .filter(|event| event.kind == EventName::MasterElected)
    {
        if !masters.contains(&event.switch) {
            masters.push(event.switch.clone());
        }
    }
    masters
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::{buffer, event, ring4};

    fn parts(scenario: &Scenario) -> Parts {
        Parts {
            runner: Runner::Sim,
            held_frames: 12,
            flows: vec![FlowResult::default(); scenario.flows.len()],
            applications: Vec::new(),
            buffers: [0, 512].map(|bytes| buffer("s1", bytes)).to_vec(),
            drops: BTreeMap::from([("no_route".to_owned(), 2)]),
            events: vec![
                event(0.3, "s2", "master_elected"),
                event(0.2, "s1", "suspected"),
                event(0.4, "s1", "master_elected"),
                event(0.4, "s1", "release_started"),
                event(0.4, "s1", "flow_moved"),
                event(0.5, "s2", "master_elected"),
                event(-0.1, "s3", "suspected"),
                event(0.5, "s1", "release_started"),
            ],
            series: Series {
                interval_seconds: 0.01,
                ..Series::default()
            },
            control_frames: 40,
            simulated: None,
        }
    }

    #[test]
    fn events_are_put_in_order_and_counted() {
        let scenario = ring4();
        let result = assemble(&scenario, parts(&scenario));
        let told: Vec<(f64, &str)> = result
            .events
            .iter()
            .map(|event| (event.seconds, event.kind.as_str()))
            .collect();
        assert_eq!(
            told,
            [
                (0.2, "suspected"),
                (0.3, "master_elected"),
                (0.4, "master_elected"),
                (0.4, "release_started"),
                (0.4, "flow_moved"),
                (0.5, "master_elected"),
                (0.5, "release_started"),
            ]
        );
        assert_eq!((result.releases, result.flows_moved), (2, 1));
        assert_eq!(result.masters, ["s2", "s1"]);
        assert_eq!(result.suspected_peak, 1, "one was before the beginning");
        assert_eq!(
            (result.runner.as_str(), result.mode.as_str()),
            ("sim", "pfc")
        );
        assert_eq!((result.policy.as_str(), result.seed), ("off", 1));
        assert_eq!(result.drops["no_route"], 2);
        assert_eq!(result.control_frames, 40);
        assert_eq!(
            result.buffers,
            [buffer("s1", 512)],
            "the other one was never used"
        );
    }

    #[test]
    fn expectations_are_judged_by_the_result() {
        let scenario = ring4();
        let mut locked = parts(&scenario);
        let held = |result: &RunResult, what: &str| {
            let found = result.expectations.iter().find(|one| one.what == what);
            found.map(|one| one.held)
        };
        let result = assemble(&scenario, locked.clone());
        assert!(result.deadlocked);
        assert_eq!(held(&result, "deadlock = true"), Some(true));
        assert_eq!(held(&result, "suspected = 4"), Some(false));
        locked.held_frames = 0;
        let result = assemble(&scenario, locked);
        assert!(!result.deadlocked);
        assert_eq!(held(&result, "deadlock = true"), Some(false));
    }

    #[test]
    fn moments_count_from_the_beginning_of_traffic() {
        let start = Instant::from_nanos(5_000_000_000);
        for (nanos, seconds) in [(5_250_000_000, 0.25), (4_000_000_000, -1.0)] {
            let described = Described::new(Instant::from_nanos(nanos), EventName::Suspected);
            let event = run_event("s1", start, described.detail("reason", "paused"));
            assert!((event.seconds - seconds).abs() < 1e-12);
            assert_eq!(
                (event.switch.as_str(), event.kind.as_str()),
                ("s1", "suspected")
            );
            assert_eq!(event.details["reason"], "paused");
        }
    }
}
