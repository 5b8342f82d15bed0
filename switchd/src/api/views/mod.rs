//! Views of a snapshot for the API.

pub mod buffers;
pub mod credits;
pub mod pauses;
pub mod watermarks;

use std::collections::BTreeMap;

use weir_api::counters::{Counters, DATAPLANE_COUNTERS, DEVICE_LOSSES, KERNEL_LOSSES};
use weir_api::daemon::{Clcm, Dataplane, LoopBlocked, Pfc, Port, Queue, Restart, Status};
use weir_api::words::{Reason, Stage};
use weir_core::control::counters::{CONTROL_COUNTERS, LLDP_COUNTERS};
use weir_core::counters::{Counter, PriorityCounters, Shown, PORT_COUNTERS, PRIORITY_COUNTERS};
use weir_core::{DropReason, Priority};
use weir_dataplane::messages::{PortSnapshot, Snapshot};

use crate::api::forwarding::vlans::ranges;
use crate::control::info::SwitchInfo;
use crate::control::{self, Shared};

/// `GET /v1/status`.
pub fn status(shared: &Shared, snapshot: &Snapshot) -> Status {
    let info = &shared.info;
    let figures = shared.records.figures();
    let sum = |of: fn(&PortSnapshot) -> u64| snapshot.ports.iter().map(of).sum();
    let mut drops_total = BTreeMap::new();
    for port in &snapshot.ports {
        for (reason, count) in drops(port) {
            *drops_total.entry(reason).or_default() += count;
        }
    }
    let suspected_count = snapshot
        .ports
        .iter()
        .flat_map(|port| &port.gauges)
        .filter(|gauges| gauges.suspected)
        .count();
    Status {
        name: info.name.clone(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        pid: std::process::id(),
        state: match shared.life.stage() {
            control::Stage::Running => Stage::Running,
            control::Stage::Draining | control::Stage::Ending => Stage::Draining,
        }
        .into(),
        health: Some(shared.records.health()),
        uptime_seconds: shared.life.uptime().as_secs_f64(),
        restart: shared.life.restarted().map(|restarted| Restart {
            held_seconds: restarted.held.as_secs_f64(),
            lost_frames: restarted.lost_frames,
            missed_frames: restarted.missed_frames,
            failed: restarted.failed,
        }),
        deadlock_policy: info.deadlock_policy.get().into(),
        port_count: info.ports.len(),
        ports_without_device: info
            .numbered_ports()
            .filter(|(port, _)| shared.links.is_gone(*port))
            .map(|(_, port)| port.name.clone())
            .collect(),
        impairment_count: shared.impairments.list().len(),
        suspected_count,
        held_frames: snapshot.held_frames,
        admitted_frames_total: sum(|port| totals(port).rx_frames),
        transmitted_frames_total: sum(|port| totals(port).tx_frames),
        drops_total,
        kernel_losses_total: info
            .numbered_ports()
            .zip(&snapshot.ports)
            .map(|((id, _), state)| shared.losses.of_kernel(id, state).total())
            .sum(),
        umem_frames: snapshot.umem_frames,
        umem_frames_free: snapshot.umem_frames_free,
        dataplane: Dataplane {
            rounds_total: snapshot.rounds.counters.rounds,
            busy_rounds_total: snapshot.rounds.counters.busy_rounds,
            sleeps_total: snapshot.rounds.counters.sleeps,
            round_seconds_max: snapshot.rounds.round_max.as_secs_f64(),
            events_lost_total: snapshot.rounds.counters.events_lost,
        },
        pfc_sent_total: sum(|port| port.counters.pfc_sent),
        clcm: Clcm {
            sent_total: sum(|port| port.counters.clcm_sent),
            received_total: sum(|port| port.counters.clcm_received),
            loops_found_total: figures.clcm.loops_found,
            releases_total: figures.clcm.releases_ordered,
        },
    }
}

/// `GET /v1/ports`.
pub fn ports(shared: &Shared, snapshot: &Snapshot) -> Vec<Port> {
    let stack = shared.losses.stack.counts();
    shared
        .info
        .numbered_ports()
        .zip(&snapshot.ports)
        .map(|((id, info), state)| {
            let totals = totals(state);
            let attached = info.attached.get();
            Port {
                name: info.name.clone(),
                device: info.device.clone(),
                role: info.role.into(),
                address: attached.address.to_string(),
                rate_bits_per_second: info.rate.get(),
                link_up: shared.links.link_up(id),
                link_suppressed: shared.links.is_suppressed(id),
                device_gone: shared.links.is_gone(id),
                device_gone_reason: shared.links.absence(id),
                xdp_mode: shared
                    .dataplane
                    .xdp_mode(id)
                    .unwrap_or(attached.xdp_mode)
                    .into(),
                zero_copy: attached.zero_copy,
                express: state.express.into(),
                express_rx_frames_total: express(state, |it| it.express_rx_frames),
                express_tx_frames_total: express(state, |it| it.express_tx_frames),
                rx_frames_total: totals.rx_frames,
                rx_bytes_total: totals.rx_bytes,
                rx_priorities: (0..)
                    .zip(&state.counters.priority)
                    .filter(|(_, counters)| counters.rx_frames > 0)
                    .map(|(priority, _)| priority)
                    .collect(),
                tx_frames_total: totals.tx_frames,
                tx_bytes_total: totals.tx_bytes,
                drops_total: drops(state).collect(),
                kernel_losses: shared.losses.of_kernel(id, state),
                compares_sent: shared.losses.compares_sent(id),
                device_losses: shared.losses.of_device(id, info.ifindex()),
                stack_drops_total: stack
                    .iter()
                    .filter(|(port, ..)| *port == id)
                    .map(|(_, reason, frames)| (reason.clone(), *frames))
                    .collect(),
                xdp_frames_total: shared
                    .dataplane
                    .xdp_frames(id)
                    .into_iter()
                    .map(|(class, frames)| (class.to_owned(), frames))
                    .collect(),
                xdp_verdicts_total: shared
                    .dataplane
                    .xdp_verdicts(id)
                    .into_iter()
                    .map(|(verdict, frames)| (verdict.to_owned(), frames))
                    .collect(),
                clcm_sent_total: state.counters.clcm_sent,
                clcm_received_total: state.counters.clcm_received,
                cable: buffers::cable(info, state.cable),
                loop_blocked: state.blocked.is_any().then(|| LoopBlocked {
                    all: state.blocked.is_whole,
                    vlans: ranges(&state.blocked.vlans()),
                }),
            }
        })
        .collect()
}

fn express(state: &PortSnapshot, of: fn(&PriorityCounters) -> u64) -> u64 {
    state.counters.priority.iter().map(of).sum()
}

/// `GET /v1/queues`: each port's priorities that are configured or were ever used.
pub fn queues(info: &SwitchInfo, snapshot: &Snapshot) -> Vec<Queue> {
    let mut queues = Vec::new();
    for (port, state) in info.ports.iter().zip(&snapshot.ports) {
        for priority in shown_priorities(info, state) {
            let counters = &state.counters.priority[priority.index()];
            let gauges = &state.gauges[priority.index()];
            let class = info.class(priority);
            queues.push(Queue {
                port: port.name.clone(),
                priority: priority.get(),
                class: class.name.clone(),
                mode: class.mode.get().kind().into(),
                ingress_bytes: gauges.ingress.get(),
                ingress_bytes_max: gauges.ingress_max.get(),
                egress_bytes: gauges.egress.get(),
                egress_bytes_max: gauges.egress_max.get(),
                egress_frames: gauges.egress_frames,
                rx_frames_total: counters.rx_frames,
                tx_frames_total: counters.tx_frames,
                rx_bytes_total: counters.rx_bytes,
                tx_bytes_total: counters.tx_bytes,
            });
        }
    }
    queues
}

/// `GET /v1/pfc`: the (port, priority) pairs that pause their neighbours by thresholds.
pub fn pfc(shared: &Shared, snapshot: &Snapshot) -> Vec<Pfc> {
    let info = &shared.info;
    let telemetry = shared.records.watermarks().telemetry();
    let mut all = Vec::new();
    for ((id, port), state) in info.numbered_ports().zip(&snapshot.ports) {
        let recent = telemetry.as_deref().and_then(|window| window.port(id));
        for priority in Priority::ALL {
            let Some(thresholds) = info.pfc_thresholds(port, priority) else {
                continue;
            };
            let counters = &state.counters.priority[priority.index()];
            let gauges = &state.gauges[priority.index()];
            all.push(Pfc {
                port: port.name.clone(),
                priority: priority.get(),
                ingress_bytes: gauges.ingress.get(),
                xoff_bytes: gauges.xoff.get(),
                xon_bytes: gauges.xon.get(),
                headroom_bytes: thresholds.headroom().get(),
                headroom_used_bytes_max: gauges.headroom_used_max.get(),
                telemetry_headroom_used_bytes_max: recent
                    .map(|peaks| peaks.priorities[priority.index()].headroom_used.get()),
                pausing: gauges.pausing,
                paused: gauges.paused,
                xoff_sent_total: counters.xoff_sent,
                xon_sent_total: counters.xon_sent,
                pause_received_total: counters.pause_received,
                resume_received_total: counters.resume_received,
                paused_seconds_total: gauges.pauses_received.total.as_secs_f64(),
                suspected: gauges.suspected,
                release_ingress: gauges.release_ingress.map(|port| info.port_name(port)),
            });
        }
    }
    all
}

/// `GET /v1/counters`.
pub fn counters(shared: &Shared, snapshot: &Snapshot) -> Vec<Counters> {
    let info = &shared.info;
    let (neighbours, figures) = (shared.links.neighbours(), shared.records.figures());
    let mut counters = values(CONTROL_COUNTERS, &figures.clcm, |_| true);
    let of_the_loop = &snapshot.rounds.counters;
    counters.extend(values(DATAPLANE_COUNTERS, of_the_loop, |_| true));
    let mut all = vec![Counters {
        port: None,
        priority: None,
        counters,
    }];
    for ((id, port), state) in info.numbered_ports().zip(&snapshot.ports) {
        let mut counters = values(PORT_COUNTERS, &state.counters, |_| true);
        let kernel = shared.losses.of_kernel(id, state);
        counters.extend(values(KERNEL_LOSSES, &kernel, |_| true));
        let device = shared.losses.of_device(id, port.ifindex());
        counters.extend(values(DEVICE_LOSSES, &device, |_| true));
        counters.extend(values(LLDP_COUNTERS, &neighbours.counters(id), |_| true));
        all.push(Counters {
            port: Some(port.name.clone()),
            priority: None,
            counters,
        });
        for priority in shown_priorities(info, state) {
            let is_lossless = info.class(priority).mode.get().is_lossless();
            let has_levels = state.gauges[priority.index()].levels.is_some();
            let means_something = |shown| match shown {
                Shown::Always => true,
                Shown::Lossless => is_lossless,
                Shown::Levels => has_levels,
            };
            let counters = &state.counters.priority[priority.index()];
            all.push(Counters {
                port: Some(port.name.clone()),
                priority: Some(priority.get()),
                counters: values(PRIORITY_COUNTERS, counters, means_something),
            });
        }
    }
    all
}

fn values<T>(
    declared: &[Counter<T>],
    counters: &T,
    means_something: impl Fn(Shown) -> bool,
) -> BTreeMap<String, u64> {
    let shown = declared
        .iter()
        .filter(|counter| means_something(counter.shown));
    shown
        .map(|counter| (counter.key(), counter.get(counters)))
        .collect()
}

/// Returns the priorities of a port that are configured or were ever used; unused ones need not be shown eight times for
/// each port.
pub fn shown_priorities<'a>(
    info: &'a SwitchInfo,
    state: &'a PortSnapshot,
) -> impl Iterator<Item = Priority> + 'a {
    Priority::ALL.into_iter().filter(|priority| {
        info.class(*priority).configured
            || state.counters.priority[priority.index()] != Default::default()
    })
}

struct Totals {
    rx_frames: u64,
    rx_bytes: u64,
    tx_frames: u64,
    tx_bytes: u64,
}

fn totals(port: &PortSnapshot) -> Totals {
    let mut totals = Totals {
        rx_frames: 0,
        rx_bytes: 0,
        tx_frames: 0,
        tx_bytes: 0,
    };
    for priority in &port.counters.priority {
        totals.rx_frames += priority.rx_frames;
        totals.rx_bytes += priority.rx_bytes;
        totals.tx_frames += priority.tx_frames;
        totals.tx_bytes += priority.tx_bytes;
    }
    totals
}

fn drops(port: &PortSnapshot) -> impl Iterator<Item = (Reason, u64)> + '_ {
    DropReason::ALL
        .into_iter()
        .map(|reason| (reason.into(), port.counters.drops[reason.index()]))
        .filter(|(_, count)| *count > 0)
}
