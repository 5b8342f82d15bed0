//! Checks the switch each second. Problems become its health verdict and one log line per port.

mod accountant;
mod devices;
mod missing;
mod windows;

use std::sync::Arc;
use std::time::Duration;

use tokio::task::spawn_blocking;
use tokio::time::MissedTickBehavior;
use weir_api::daemon::health::{Health, HealthReason};
use weir_api::words::{HealthVerdict, Trouble, Verdict};
use weir_core::{PortId, Priority};
use weir_dataplane::messages::{PortSnapshot, Snapshot};
use weir_doctor::link;

use crate::control::info::PortInfo;
use crate::control::shared::Shared;
use crate::model::clock;
use crate::os::device_losses;
use accountant::Accountant;
use devices::DeviceMeter;
use windows::{PortSample, QueueSample, Sample, Windows};

/// Polling interval, and minimum interval between log lines of a port.
const INTERVAL: Duration = Duration::from_secs(1);
/// Verdicts of the XDP program that lose frames. Packets that are too short are not frames.
const LOST_AT_XDP: [&str; 4] = ["dropped", "no_meta", "cut", "no_slot"];

/// Checks the switch for as long as the daemon runs.
pub async fn watch(shared: Arc<Shared>) {
    let mut windows = Windows::new(&shared.info, clock::now());
    let mut devices = vec![DeviceMeter::default(); shared.info.ports.len()];
    let mut accountant = Accountant::new(&shared);
    let mut ticks = tokio::time::interval(INTERVAL);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        let sent_before = match accountant.is_settling() {
            true => read_sent(&shared).await,
            false => None,
        };
        let read_at = clock::now();
        let verdicts = accountant.read_verdicts(&shared);
        let snapshot = shared.dataplane.fresh_snapshot().await;
        devices = read_devices(&shared, devices).await;
        for (id, port) in shared.info.numbered_ports() {
            shared.losses.stack.watch(id, port.ifindex());
        }
        // A busy dataplane may not have answered, and the snapshot is an old one.
        let before = sent_before.as_deref().filter(|_| snapshot.at >= read_at);
        accountant.look(&shared, &verdicts, &snapshot, &devices, before);
        windows.push(sample(&shared, &snapshot, &devices, &mut accountant));
        let policy = shared.info.deadlock_policy.get();
        log_ports(&windows.last_second(&shared.info, policy));
        let health = windows.health(&shared.info, policy);
        let before = shared.records.set_health(health.clone());
        log_change(&before, &health);
    }
}

/// Reads the losses of the ports' devices from the kernel, which may wait for a driver.
async fn read_devices(shared: &Shared, mut meters: Vec<DeviceMeter>) -> Vec<DeviceMeter> {
    let count = meters.len();
    let numbers: Vec<u32> = shared.info.ports.iter().map(PortInfo::ifindex).collect();
    let read = spawn_blocking(move || {
        for (meter, ifindex) in meters.iter_mut().zip(numbers) {
            let (losses, counts) = device_losses::read_all(ifindex);
            meter.read(ifindex, losses, counts);
        }
        meters
    });
    // Fails only while the daemon ends.
    read.await
        .unwrap_or_else(|_| vec![DeviceMeter::default(); count])
}

/// Reads the indexes of the ports' devices and the frames that they have sent; `None` while the daemon ends.
async fn read_sent(shared: &Shared) -> Option<Vec<(u32, u64)>> {
    let numbers: Vec<u32> = shared.info.ports.iter().map(PortInfo::ifindex).collect();
    let read = spawn_blocking(move || {
        let sent = |ifindex| {
            let device = link::find(ifindex).ok().flatten();
            (ifindex, device.map_or(0, |device| device.counts.sent))
        };
        numbers.into_iter().map(sent).collect()
    });
    read.await.ok()
}

fn sample(
    shared: &Shared,
    snapshot: &Snapshot,
    devices: &[DeviceMeter],
    accountant: &mut Accountant,
) -> Sample {
    let ports = shared.info.numbered_ports().zip(&snapshot.ports);
    Sample {
        at: clock::now(),
        taken: snapshot.at,
        events_lost: snapshot.rounds.counters.events_lost,
        stalls: snapshot.rounds.counters.stalls,
        stall_nanos: snapshot.rounds.counters.stall_nanos,
        own: shared.life.troubles(),
        ports: ports
            .zip(devices)
            .map(|(((id, _), state), device)| PortSample {
                unfit: accountant.unfit(shared, id),
                ..port_sample(shared, id, state, device)
            })
            .collect(),
    }
}

fn port_sample(
    shared: &Shared,
    id: PortId,
    state: &PortSnapshot,
    device: &DeviceMeter,
) -> PortSample {
    let verdicts = shared.dataplane.xdp_verdicts(id);
    let lost = verdicts
        .iter()
        .filter(|(verdict, _)| LOST_AT_XDP.contains(verdict));
    PortSample {
        kernel: shared.losses.of_kernel(id, state),
        xdp_drops: lost.map(|(_, count)| count).sum(),
        device_overruns: device.overruns() + shared.losses.missing(id).dropped,
        device_errors: device.errors(),
        loop_blocked: state.blocked.is_any(),
        small_mtu: shared
            .links
            .small_mtu(id)
            .map(|mtu| (mtu.into(), shared.info.mtu.get())),
        unfit: None,
        stuck: state.stuck,
        addresses_crowded: state.counters.addresses_crowded,
        queues: Priority::ALL.map(|priority| {
            let counters = &state.counters.priority[priority.index()];
            let gauges = &state.gauges[priority.index()];
            QueueSample {
                headroom_drops: counters.headroom_dropped,
                storm_drops: counters.storm_dropped,
                lifetime_drops: counters.lifetime_dropped,
                suspicions: counters.suspicions,
                releases: counters.releases,
                storms: counters.storms_detected,
                stormed: gauges.storm.is_some(),
                suspected_since: gauges
                    .suspected
                    .then(|| shared.records.deadlocks().began(id, priority))
                    .flatten(),
            }
        }),
    }
}

/// Logs one line for each port with an incident within the last second.
fn log_ports(last_second: &Health) {
    let new: Vec<&HealthReason> = last_second
        .reasons
        .iter()
        .filter(|it| is_news(it))
        .collect();
    let mut ports: Vec<&str> = new.iter().filter_map(|it| it.port.as_deref()).collect();
    ports.sort_unstable();
    ports.dedup();
    for port in ports {
        let here = new.iter().filter(|it| it.port.as_deref() == Some(port));
        let texts: Vec<&str> = here.map(|it| &*it.text).collect();
        tracing::warn!(port, "{}", texts.join("; "));
    }
}

/// Returns false for conditions that merely continue, and for drops by the XDP program, which have their own lines with
/// remedies.
fn is_news(reason: &HealthReason) -> bool {
    reason.count > 0 && reason.kind != Trouble::XdpLosses
}

fn log_change(before: &Health, now: &Health) {
    if before.verdict == now.verdict {
        return;
    }
    let severity = |verdict: &HealthVerdict| verdict.known().map(|verdict| verdict as u8);
    let why = now.why();
    if now.verdict == Verdict::Ok {
        tracing::info!("health is ok again");
    } else if severity(&now.verdict) > severity(&before.verdict) {
        tracing::warn!("health is {}: {why}", now.verdict);
    } else {
        tracing::info!("health has improved to {}: {why}", now.verdict);
    }
}
