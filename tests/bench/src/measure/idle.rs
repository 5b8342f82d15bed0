//! Cost of an idle or nearly idle switch.

use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use weir_lab::lab::interrupt;

use super::trial::{Generator, Load, Traffic, Trials};
use crate::cpu::{CpuTimes, Cpus};
use crate::stage::Stage;
use crate::system::{Switch, System};

/// Frames per second of the second row.
pub const FEW: u32 = 100;
/// By then one-time work after the start is over.
const SETTLED: Duration = Duration::from_secs(3);

/// CPU time of one system's threads, in percent of one CPU.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Idle {
    /// Without frames.
    pub nothing_percent: f64,
    /// With [`FEW`] frames per second.
    pub few_percent: f64,
    /// Number of these that did not arrive.
    pub lost: u64,
    /// Their 99th percentile of latency in nanoseconds.
    pub p99_nanos: Option<u64>,
}

/// Starts a system, leaves it idle for `span`, then sends [`FEW`] frames per second for as long.
///
/// # Errors
///
/// It cannot be measured, or the run is interrupted.
pub fn measure(system: System, span: Duration, cpus: Cpus) -> Result<Idle> {
    let mut stage = Stage::build()?;
    let mut switch = system.start(&stage.site, cpus)?;
    wait(SETTLED)?;
    let nothing_percent = standing(switch.as_mut(), span)?;
    let traffic = Traffic {
        frame_bytes: 64,
        flows: 1,
    };
    let load = Load {
        rate: Some(f64::from(FEW)),
        by: Generator::AfXdp,
        duration: span,
    };
    let outcome = Trials::new(&mut stage, switch.as_mut(), cpus, traffic).run(load)?;
    switch
        .end()
        .with_context(|| format!("ending {}", system.name()))?;
    Ok(Idle {
        nothing_percent,
        few_percent: percent(outcome.cpu.switch, outcome.elapsed),
        lost: outcome.lost(),
        p99_nanos: outcome.latency.quantile_nanos(0.99),
    })
}

fn standing(switch: &mut dyn Switch, span: Duration) -> Result<f64> {
    let processes = switch.processes();
    let (before, begin) = (CpuTimes::now(&processes, &[])?, Instant::now());
    wait(span)?;
    switch.check()?;
    let used = CpuTimes::now(&processes, &[])?.since(before).switch;
    Ok(percent(used, begin.elapsed()))
}

fn wait(span: Duration) -> Result<()> {
    let begin = Instant::now();
    while begin.elapsed() < span {
        interrupt::check()?;
        std::thread::sleep(Duration::from_millis(100));
    }
    Ok(())
}

fn percent(nanos: u64, of: Duration) -> f64 {
    100.0 * nanos as f64 / of.as_nanos() as f64
}
