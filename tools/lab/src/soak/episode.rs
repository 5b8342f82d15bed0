//! One network, from its set-up to the accounts of its frames.

use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use weir_api::audit::Audit;
use weir_api::daemon::Port;
use weir_config::daemon::DaemonConfig;
use weir_core::random::SplitMix64;

use super::faults::below;
use super::leaks::Leaks;
use super::{lines, Kind, Plan, Sums};
use crate::lab::balance::Rest;
use crate::lab::configuration::use_express_path;
use crate::lab::interrupt;
use crate::lab::stage::Stage;
use crate::lab::switches::SwitchProcess;

const AUDIT_INTERVAL: Duration = Duration::from_millis(200);
/// Minimum time between two faults; a random part of the same length is added.
const FAULT_INTERVAL: Duration = Duration::from_secs(2);
/// Time for all frames in flight to arrive once hosts are silent, since a loop is released step by step.
const SETTLE_LIMIT: Duration = Duration::from_secs(120);

/// Builds a network, lets hosts send during faults, and adds up the counts; returns the violated guarantees.
///
/// # Errors
///
/// When it cannot be built, or interrupted.
pub(super) fn run(kind: &Kind, plan: Plan, seed: u64, sums: &mut Sums) -> Result<Vec<String>> {
    let length = plan.episode;
    let scenario = kind.scenario()?;
    let mut stage = Stage::set_up_with(&scenario, false, |config| {
        keep_little(config);
        if plan.express {
            use_express_path(config);
        }
    })?;
    if kind.has_keepers {
        for switch in &mut stage.switches {
            switch.start_with_keeper()?;
        }
    }
    stage.start_hosts(&scenario)?;
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
    let lived = lived.and_then(|()| stage.settle(Rest::Drained, SETTLE_LIMIT));
    if let Err(error) = lived {
        interrupt::check()?;
        // A process that has ended or does not answer violates its guarantee, and there is nothing to add up.
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

/// Sets a short history that is soon full, so that further growth is a leak.
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

/// Ends the hosts and compares the frames sent, arrived, and counted as lost.
fn add_up(kind: &Kind, stage: &mut Stage, sums: &mut Sums) -> Result<Vec<String>> {
    let mut broken = audit(stage, sums)?;
    let hosts: Vec<String> = stage
        .hosts
        .iter()
        .map(|host| host.name().to_owned())
        .collect();
    let (balance, reports) = stage.balance()?;
    let reports: Vec<_> = hosts.into_iter().zip(reports).collect();
    let mut count = |reason: &str, frames: u64| {
        if frames > 0 {
            *sums.lost_frames.entry(reason.to_owned()).or_default() += frames;
        }
    };
    for (reason, frames) in &balance.dropped {
        count(reason, *frames);
    }
    count("lost by a switch's kernel", balance.lost_by_kernel);
    count("lost by a host", balance.lost_by_hosts);
    for flow in reports.iter().flat_map(|(_, report)| &report.received) {
        sums.reordered_frames += flow.reordered;
        let overtaken = if kind.promise.keeps_order() {
            flow.reordered
        } else {
            0
        };
        let wrong = (
            overtaken,
            flow.duplicated,
            flow.corrupted,
            flow.beyond_window,
        );
        if wrong != (0, 0, 0, 0) {
            let name = &flow.name;
            broken.push(format!(
                "flow {name}: {wrong:?} reordered, twice, changed, too late to tell whether for the first time"
            ));
        }
    }
    for switch in &stage.switches {
        let ports: Vec<Port> = switch.get("/v1/ports")?;
        sums.express_frames += ports
            .iter()
            .map(|port| port.express_tx_frames_total)
            .sum::<u64>();
    }
    sums.sent_frames += balance.sent;
    sums.received_frames += balance.received;
    let missing = balance.missing();
    sums.gone_frames += missing.saturating_sub(balance.accounted());
    if kind.promise.is_lossless() && missing > 0 {
        broken.push(format!(
            "{missing} of {} frames did not arrive",
            balance.sent
        ));
        if !kind.has_keepers {
            broken.extend(lines::unequal(stage, &reports)?);
        }
    }
    Ok(broken)
}
