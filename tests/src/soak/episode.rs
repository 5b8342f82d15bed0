//! One network, from its set-up to the sum of its frames.

use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use weir_api::audit::Audit;
use weir_config::daemon::DaemonConfig;
use weir_core::random::SplitMix64;

use super::faults::below;
use super::leaks::Leaks;
use super::{Kind, Sums};
use crate::endpoint::run::clock;
use crate::lab::interrupt::{self, wait_for};
use crate::lab::stage::Stage;
use crate::lab::switches::SwitchProcess;

/// Between two looks at the books.
const AUDIT_INTERVAL: Duration = Duration::from_millis(200);
/// Between two faults: this and as much again, by chance.
const FAULT_INTERVAL: Duration = Duration::from_secs(2);
/// How long all that is under way may take to arrive once nobody sends: a loop is released step by step.
const SETTLE_LIMIT: Duration = Duration::from_secs(120);

/// Builds a network, lets hosts send for `length` while faults come, and adds up; what was not as promised.
///
/// # Errors
///
/// When it cannot be built, or interrupted.
pub(super) fn run(
    kind: &Kind,
    length: Duration,
    seed: u64,
    sums: &mut Sums,
) -> Result<Vec<String>> {
    let scenario = kind.scenario()?;
    let mut stage = Stage::set_up_with(&scenario, false, keep_little)?;
    if kind.has_keepers {
        for switch in &mut stage.switches {
            switch.start_with_keeper()?;
        }
    }
    let start = clock().context("CLOCK_MONOTONIC")? + weir_core::Duration::from_millis(500);
    stage.start_hosts(&scenario, start)?;
    sums.episodes += 1;
    let mut broken = Vec::new();
    let mut leaks = Leaks::new(length / 3);
    let lived = live(
        kind,
        length,
        seed,
        &mut stage,
        &mut leaks,
        sums,
        &mut broken,
    );
    let lived = lived.and_then(|()| settle(&mut stage));
    if let Err(error) = lived {
        interrupt::check()?;
        // What has ended or does not answer has broken its promise, and there is nothing to add up.
        broken.push(format!("{error:#}"));
        return Ok(broken);
    }
    broken.extend(leaks.broken());
    let (memory, descriptors) = leaks.growth_max();
    sums.memory_growth_bytes_max = sums.memory_growth_bytes_max.max(memory);
    sums.descriptor_growth_max = sums.descriptor_growth_max.max(descriptors);
    broken.extend(add_up(kind, &mut stage, sums)?);
    if let Err(error) = stage.tear_down() {
        broken.push(format!("{error:#}"));
    }
    Ok(broken)
}

/// A history that is soon full, so that what still grows is a leak.
fn keep_little(config: &mut DaemonConfig) {
    config.dataplane.history_interval = weir_core::Duration::from_millis(100);
    config.dataplane.history_length = 100;
}

fn live(
    kind: &Kind,
    length: Duration,
    seed: u64,
    stage: &mut Stage,
    leaks: &mut Leaks,
    sums: &mut Sums,
    broken: &mut Vec<String>,
) -> Result<()> {
    let mut random = SplitMix64::new(seed);
    let began = Instant::now();
    let mut next_fault = FAULT_INTERVAL;
    while began.elapsed() < length {
        interrupt::check()?;
        stage.check()?;
        broken.extend(audit(stage, sums)?);
        let processes = stage.switches.iter().filter_map(SwitchProcess::switch_pid);
        processes.for_each(|process| leaks.look(process));
        if began.elapsed() >= next_fault {
            let fault = kind.faults[below(&mut random, kind.faults.len() as u64) as usize];
            fault.inject(stage, &mut random)?;
            *sums.faults.entry(fault.name().to_owned()).or_default() += 1;
            let by_chance = below(&mut random, FAULT_INTERVAL.as_millis() as u64);
            next_fault = began.elapsed() + FAULT_INTERVAL + Duration::from_millis(by_chance);
        }
        std::thread::sleep(AUDIT_INTERVAL);
    }
    Ok(())
}

/// Every sum of every switch.
fn audit(stage: &Stage, sums: &mut Sums) -> Result<Vec<String>> {
    let mut broken = Vec::new();
    for switch in &stage.switches {
        let name = &switch.config.name;
        let audit: Audit = switch
            .get("/v1/audit")
            .with_context(|| format!("{name} does not answer"))?;
        sums.audits += 1;
        let differences = audit.differences().into_iter();
        broken.extend(
            differences.map(|it| format!("{name}: {}: {} and {}", it.equation, it.left, it.right)),
        );
    }
    Ok(broken)
}

/// Hosts stop; waits until nothing is held and nothing more arrives.
fn settle(stage: &mut Stage) -> Result<()> {
    /// Looks, 20 ms apart, at which nothing has changed.
    const QUIET: u32 = 25;
    for host in &mut stage.hosts {
        host.stop_sending()?;
    }
    let mut before = 0;
    let mut same = 0;
    let settled = wait_for(SETTLE_LIMIT, || {
        let mut arrived = 0u64;
        for host in &mut stage.hosts {
            let flows = host.snapshot()?.received;
            arrived += flows.iter().map(|flow| flow.frames).sum::<u64>();
        }
        let is_quiet = arrived == before && stage.held_frames()? == 0;
        same = if is_quiet { same + 1 } else { 0 };
        before = arrived;
        Ok((same >= QUIET).then_some(()))
    })?;
    settled.with_context(|| {
        format!(
            "frames are still held {} s after the last was sent",
            SETTLE_LIMIT.as_secs()
        )
    })
}

/// Ends the hosts and compares what was sent, has arrived, and was counted as lost.
fn add_up(kind: &Kind, stage: &mut Stage, sums: &mut Sums) -> Result<Vec<String>> {
    let mut broken = audit(stage, sums)?;
    let mut counted = 0;
    let mut count = |sums: &mut Sums, reason: &str, frames: u64| {
        if frames > 0 {
            *sums.lost_frames.entry(reason.to_owned()).or_default() += frames;
            counted += frames;
        }
    };
    for switch in &stage.switches {
        let status = switch.status()?;
        for (reason, frames) in status.drops_total {
            count(sums, &reason, frames);
        }
        count(
            sums,
            "lost by a switch's kernel",
            status.kernel_losses_total,
        );
    }
    let (mut sent, mut received) = (0, 0);
    for host in &mut stage.hosts {
        let report = host.finish()?;
        sent += report.sent.iter().map(|flow| flow.frames).sum::<u64>();
        let kernel = &report.kernel;
        let by_host =
            kernel.received_frames_lost() + kernel.tx_device_drops + kernel.tx_outstanding;
        count(sums, "lost by a host", by_host);
        for flow in &report.received {
            received += flow.frames;
            sums.reordered_frames += flow.reordered;
            let overtaken = if kind.promise.keeps_order() {
                flow.reordered
            } else {
                0
            };
            let wrong = (overtaken, flow.duplicated, flow.corrupted);
            if wrong != (0, 0, 0) {
                let name = &flow.name;
                broken.push(format!("flow {name}: {wrong:?} reordered, twice, changed"));
            }
        }
    }
    stage.hosts.clear();
    sums.sent_frames += sent;
    sums.received_frames += received;
    let missing = sent.saturating_sub(received);
    sums.gone_frames += missing.saturating_sub(counted);
    if kind.promise.is_lossless() && missing > 0 {
        broken.push(format!("{missing} of {sent} frames did not arrive"));
    }
    Ok(broken)
}
