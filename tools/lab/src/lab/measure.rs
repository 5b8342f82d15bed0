//! Computes the result of a run from the counts of hosts and switches.

use std::collections::BTreeMap;

use weir_api::daemon::{Event, Pfc, Queue, Sample, Status};
use weir_api::run::{ApplicationResult, BufferResult, FlowResult, RunEvent, RunResult, Series};
use weir_api::words::Runner;
use weir_config::scenario::{PortPeer, Scenario};
use weir_core::units::NANOS_PER_SECOND;
use weir_core::Instant;
use weir_results::assemble::{assemble, seconds_since, Parts};

use super::configuration::HISTORY_INTERVAL;
use crate::endpoint::report::{EndpointReport, ReceivedFlow};

/// Collected data of a run.
#[derive(Debug)]
pub struct Raw {
    /// Start of traffic.
    pub start: Instant,
    /// Reports by host; empty if hosts are ordinary kernels.
    pub reports: Vec<EndpointReport>,
    /// Results by application.
    pub applications: Vec<ApplicationResult>,
    /// Statuses by switch, after the drain.
    pub statuses: Vec<Status>,
    /// By switch, after the drain: queues, and pauses of their neighbours.
    pub buffers: Vec<(Vec<Queue>, Vec<Pfc>)>,
    /// Events by switch.
    pub events: Vec<Vec<Event>>,
    /// Histories by switch.
    pub histories: Vec<Vec<Sample>>,
}

/// Returns the result of a run, with its expectations evaluated.
pub fn result(scenario: &Scenario, raw: &Raw) -> RunResult {
    let control_frames = |status: &Status| status.pfc_sent_total + status.clcm.sent_total;
    let parts = Parts {
        runner: Runner::Lab,
        held_frames: held(raw),
        flows: flows(scenario, raw),
        applications: raw.applications.clone(),
        buffers: buffers(scenario, raw),
        drops: drops(raw),
        events: events(scenario, raw),
        series: series(scenario, raw),
        control_frames: raw.statuses.iter().map(control_frames).sum(),
        simulated: None,
    };
    assemble(scenario, parts)
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

/// Frames in the switches at the end are in flight; those neither there nor received are lost.
///
/// Flows keep their order, so a missing number below the highest received one was lost. Missing numbers above it are in
/// flight as far as the switches hold frames, and lost otherwise.
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
                ..FlowResult::default()
            }
        })
        .collect()
}

fn buffers(scenario: &Scenario, raw: &Raw) -> Vec<BufferResult> {
    let mut buffers = Vec::new();
    for (index, (queues, told)) in raw.buffers.iter().enumerate() {
        let switch = &scenario.switches[index];
        // XOFF and XON received by the host behind a port.
        let heard = |port: &str, priority: u8| {
            let mut hosts = scenario.hosts.iter().zip(&raw.reports);
            let (_, report) =
                hosts.find(|(host, _)| (host.switch, host.name.as_str()) == (index, port))?;
            let priority = usize::from(priority);
            Some(report.control.xoff[priority] + report.control.xon[priority])
        };
        for queue in queues {
            let same = |pfc: &&Pfc| (&pfc.port, pfc.priority) == (&queue.port, queue.priority);
            let pfc = told.iter().find(same);
            let sent = pfc.map_or(0, |pfc| pfc.xoff_sent_total + pfc.xon_sent_total);
            let heard = heard(&queue.port, queue.priority);
            buffers.push(BufferResult {
                switch: switch.clone(),
                port: queue.port.clone(),
                priority: queue.priority,
                ingress_bytes_max: queue.ingress_bytes_max,
                egress_bytes_max: queue.egress_bytes_max,
                pauses: pfc.map_or(0, |pfc| pfc.xon_sent_total + u64::from(pfc.pausing)),
                xoff_sent: pfc.map_or(0, |pfc| pfc.xoff_sent_total),
                pauses_lost: heard.map_or(0, |heard| sent.saturating_sub(heard)),
                ..BufferResult::default()
            });
        }
    }
    buffers
}

/// Sums drops of the switches, and of the kernel under switches and hosts.
fn drops(raw: &Raw) -> BTreeMap<String, u64> {
    let mut drops = BTreeMap::new();
    let mut add = |reason: String, count: u64| {
        if count > 0 {
            *drops.entry(reason).or_insert(0) += count;
        }
    };
    for status in &raw.statuses {
        for (reason, count) in &status.drops_total {
            add(reason.to_string(), *count);
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
    let run_event = |switch: &String, event: &Event| RunEvent {
        seconds: seconds_since(raw.start, Instant::from_nanos(event.monotonic_nanos)),
        switch: switch.clone(),
        kind: event.kind.clone(),
        port: event.port.clone(),
        priority: event.priority,
        details: event.details.clone(),
    };
    raw.events
        .iter()
        .zip(&scenario.switches)
        .flat_map(|(events, switch)| events.iter().map(move |event| run_event(switch, event)))
        .collect()
}

fn series(scenario: &Scenario, raw: &Raw) -> Series {
    let interval = raw.reports.first().map(|report| report.sample_nanos);
    let interval = interval.unwrap_or(HISTORY_INTERVAL.as_nanos());
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
    let bins = throughput.values().map(Vec::len).max();
    let bins = bins.unwrap_or((scenario.duration.as_nanos() / interval.max(1)) as usize);
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

/// Returns the largest sample of each interval; an interval without one repeats the previous one.
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
