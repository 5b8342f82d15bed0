//! From what hosts and switches counted to the result of a run.

use std::collections::BTreeMap;

use weir_api::daemon::{Event, Sample, Status};
use weir_api::run::{FlowResult, RunEvent, RunResult, Series, RUN_FORMAT};
use weir_config::scenario::{PortPeer, Scenario};
use weir_core::units::NANOS_PER_SECOND;
use weir_core::{ClassMode, Instant};

use super::verdict;
use crate::endpoint::report::{EndpointReport, ReceivedFlow};

/// All that was collected.
#[derive(Debug)]
pub struct Raw {
    /// When traffic began.
    pub start: Instant,
    /// By host.
    pub reports: Vec<EndpointReport>,
    /// By switch, after the drain.
    pub statuses: Vec<Status>,
    /// By switch.
    pub events: Vec<Vec<Event>>,
    /// By switch.
    pub histories: Vec<Vec<Sample>>,
}

/// The result of a run, its expectations judged.
pub fn result(scenario: &Scenario, raw: &Raw) -> RunResult {
    let flows = flows(scenario, raw);
    let events = events(scenario, raw);
    let series = series(scenario, raw);
    let timing = verdict::timing(scenario, &events, &series);
    let mode =
        scenario
            .flows
            .first()
            .map_or("pfc", |flow| match scenario.classes[flow.class].mode {
                ClassMode::Lossy { .. } => "lossy",
                ClassMode::Pfc { .. } => "pfc",
                ClassMode::Level { .. } => "level",
            });
    let count = |kind: &str| events.iter().filter(|event| event.kind == kind).count() as u64;
    let mut masters: Vec<String> = Vec::new();
    for event in events.iter().filter(|event| event.kind == "master_elected") {
        if !masters.contains(&event.switch) {
            masters.push(event.switch.clone());
        }
    }
    let mut result = RunResult {
        format: RUN_FORMAT,
        scenario: scenario.name.clone(),
        runner: "lab".into(),
        policy: scenario.deadlock.policy.name().into(),
        mode: mode.into(),
        seed: scenario.seed,
        duration_seconds: scenario.duration.as_secs_f64(),
        deadlocked: verdict::is_deadlocked(scenario, &flows, held(raw)),
        suspected_peak: timing.suspected_peak,
        detect_seconds: timing.detect_seconds,
        first_release_seconds: timing.first_release_seconds,
        recover_seconds: timing.recover_seconds,
        releases: count("release_started"),
        masters,
        flows_moved: count("flow_moved"),
        control_frames: raw
            .statuses
            .iter()
            .map(|status| status.pfc_sent_total + status.clcm.sent_total)
            .sum(),
        flows,
        drops: drops(raw),
        events,
        series,
        expectations: Vec::new(),
    };
    result.expectations = verdict::expectations(&scenario.expect, &result);
    result
}

fn held(raw: &Raw) -> u64 {
    raw.statuses.iter().map(|status| status.held_frames).sum()
}

fn received(raw: &Raw, id: u32) -> Option<&ReceivedFlow> {
    raw.reports
        .iter()
        .flat_map(|report| &report.received)
        .find(|flow| flow.id == id)
}

/// What the switches hold at the end is in flight; what is neither there nor received is lost.
///
/// Flows keep their order, so a number that is missing below the highest one seen was lost. What is
/// missing above it is in flight as far as the switches hold frames, and lost beyond.
fn flows(scenario: &Scenario, raw: &Raw) -> Vec<FlowResult> {
    let mut held = held(raw);
    scenario
        .flows
        .iter()
        .enumerate()
        .map(|(index, flow)| {
            let id = index as u32;
            let sent = raw
                .reports
                .iter()
                .flat_map(|report| &report.sent)
                .find(|flow| flow.id == id)
                .map_or(0, |flow| flow.frames);
            let empty = ReceivedFlow::default();
            let got = received(raw, id).unwrap_or(&empty);
            let missing = sent.saturating_sub(got.frames);
            let gaps = got.missing.min(missing);
            let in_flight = (missing - gaps).min(held);
            held -= in_flight;
            FlowResult {
                name: flow.name.clone(),
                sent,
                received: got.frames,
                in_flight,
                lost: missing - in_flight,
                reordered: got.reordered,
                corrupted: got.corrupted,
                duplicated: got.duplicated + got.beyond_window,
                bits_per_second: got.bits_per_second,
                bits_per_second_last_third: got.bits_per_second_last_third,
                longest_stall_seconds: seconds(got.longest_stall_nanos),
            }
        })
        .collect()
}

/// Drops of the switches, and of the kernel under switches and hosts.
fn drops(raw: &Raw) -> BTreeMap<String, u64> {
    let mut drops = BTreeMap::new();
    let mut add = |reason: String, count: u64| {
        if count > 0 {
            *drops.entry(reason).or_insert(0) += count;
        }
    };
    for status in &raw.statuses {
        for (reason, count) in &status.drops_total {
            add(reason.clone(), *count);
        }
        add("kernel_under_switch".into(), status.kernel_losses_total);
    }
    for report in &raw.reports {
        add(
            "kernel_under_host".into(),
            report.kernel.received_frames_lost() + report.kernel.tx_device_drops,
        );
    }
    drops
}

fn events(scenario: &Scenario, raw: &Raw) -> Vec<RunEvent> {
    let mut events: Vec<RunEvent> = raw
        .events
        .iter()
        .zip(&scenario.switches)
        .flat_map(|(events, switch)| {
            events.iter().map(|event| RunEvent {
                seconds: (event.monotonic_nanos as f64 - raw.start.as_nanos() as f64)
                    / NANOS_PER_SECOND as f64,
                switch: switch.clone(),
                kind: event.kind.clone(),
                port: event.port.clone(),
                priority: event.priority,
                details: event.details.clone(),
            })
        })
        .filter(|event| event.seconds >= 0.0)
        .collect();
    events.sort_by(|a, b| a.seconds.total_cmp(&b.seconds));
    events
}

fn series(scenario: &Scenario, raw: &Raw) -> Series {
    let interval = raw.reports.first().map_or(0, |report| report.sample_nanos);
    let interval_seconds = seconds(interval);
    let mut throughput = BTreeMap::new();
    for (index, flow) in scenario.flows.iter().enumerate() {
        let rates = received(raw, index as u32).map_or_else(Vec::new, |flow| {
            flow.series_bytes
                .iter()
                .map(|bytes| *bytes as f64 * 8.0 / interval_seconds)
                .collect()
        });
        throughput.insert(flow.name.clone(), rates);
    }
    let bins = throughput.values().map(Vec::len).max().unwrap_or(0);
    let mut occupancy = BTreeMap::new();
    for (index, switch) in scenario.switches.iter().enumerate() {
        for port in scenario.ports(index) {
            if !matches!(port.peer, PortPeer::Switch(_)) {
                continue;
            }
            let name = scenario.peer_name(port.peer);
            for class in scenario
                .classes
                .iter()
                .filter(|class| class.mode.is_lossless())
            {
                for priority in &class.priorities {
                    let samples = raw.histories.get(index).map_or(&[][..], Vec::as_slice);
                    let curve = curve(samples, name, priority.get(), raw.start, interval, bins);
                    occupancy.insert(format!("{switch}:{name}:{priority}"), curve);
                }
            }
        }
    }
    Series {
        interval_seconds,
        throughput,
        occupancy,
    }
}

/// The largest sample of each interval; an interval without one repeats the one before.
fn curve(
    samples: &[Sample],
    port: &str,
    priority: u8,
    start: Instant,
    interval: u64,
    bins: usize,
) -> Vec<u64> {
    let mut values: Vec<Option<u64>> = vec![None; bins];
    for sample in samples {
        let Some(since) = sample.monotonic_nanos.checked_sub(start.as_nanos()) else {
            continue;
        };
        let queue = sample
            .queues
            .iter()
            .find(|queue| queue.port == port && queue.priority == priority);
        let bin = (since / interval.max(1)) as usize;
        if let (Some(queue), Some(value)) = (queue, values.get_mut(bin)) {
            *value = Some(value.unwrap_or(0).max(queue.ingress_bytes));
        }
    }
    let mut last = 0;
    values
        .into_iter()
        .map(|value| {
            last = value.unwrap_or(last);
            last
        })
        .collect()
}

fn seconds(nanos: u64) -> f64 {
    nanos as f64 / NANOS_PER_SECOND as f64
}
