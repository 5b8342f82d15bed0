//! Running one scenario from set-up to result.

use std::io::{IsTerminal, Write};
use std::time::Duration;

use anyhow::{bail, Result};
use weir_api::run::RunResult;
use weir_config::daemon::{Express, Workers};
use weir_config::scenario::{HostKind, Scenario};
use weir_core::Instant;
use weir_results::table::credit_loops;

use super::applications::Applications;
use super::faults::Faults;
use super::interrupt::{check, wait_for};
use super::kernel;
use super::measure::{result, Raw};
use super::stage::Stage;
use crate::endpoint::run::clock;

/// Options of a run.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options {
    /// Keep logs and configurations.
    pub keep: bool,
    /// Print no progress.
    pub quiet: bool,
    /// Number of threads of each switch that serve its sockets.
    pub workers: Workers,
    /// Use of the express path; `None` for the configuration's setting.
    pub express: Option<Express>,
}

/// A network that holds the same number of frames for this long does not drain further.
const STILL: Duration = Duration::from_millis(1500);
const DRAIN_LIMIT: Duration = Duration::from_secs(20);

/// Runs a scenario once.
///
/// # Errors
///
/// When something fails outside the experiment itself, or the lab lacks a feature. Everything is removed in that case too.
pub fn run(scenario: &Scenario, options: Options) -> Result<RunResult> {
    run_and(scenario, options, |_| Ok(())).map(|(result, ())| result)
}

/// Like [`run`], but calls `look` with the network when it has drained and still runs.
///
/// # Errors
///
/// Those of [`run`] and of `look`.
pub fn run_and<T>(
    scenario: &Scenario,
    options: Options,
    look: impl FnOnce(&Stage) -> Result<T>,
) -> Result<(RunResult, T)> {
    let mut faults = faults(scenario)?;
    let progress = Progress::new(options.quiet);
    progress.say(&format!(
        "{}: {} switches, {} hosts, deadlock policy {}: setting up",
        scenario.name,
        scenario.switches.len(),
        scenario.hosts.len(),
        scenario.deadlock.policy.name()
    ));
    progress.say(credit_loops(scenario).trim_end());
    let mut stage = Stage::set_up_with(scenario, options.keep, |config| {
        config.dataplane.workers = options.workers;
        faults.configure(config);
        if let Some(express) = options.express {
            config.dataplane.express = express;
        }
    })?;
    let outcome = match scenario.host_kind {
        HostKind::Endpoint => run_on(scenario, &mut stage, &mut faults, &progress),
        HostKind::Kernel => run_applications(scenario, &mut stage, &mut faults, &progress),
    };
    let outcome = outcome.and_then(|result| Ok((result, look(&stage)?)));
    if outcome.is_err() && check().is_ok() {
        stage.keep_directory();
    }
    let outcome = outcome?;
    stage.tear_down()?;
    Ok(outcome)
}

fn faults(scenario: &Scenario) -> Result<Faults<'_>> {
    let mut gaps = scenario.lab_gaps();
    let faults = Faults::new(scenario);
    let faults = faults.map_err(|more| gaps.extend(more));
    match (faults, gaps.is_empty()) {
        (Ok(faults), true) => Ok(faults),
        _ => bail!(
            "the lab cannot run {}; use the simulator (weir-sim run):\n  {}",
            scenario.name,
            gaps.join("\n  ")
        ),
    }
}

fn run_on(
    scenario: &Scenario,
    stage: &mut Stage,
    faults: &mut Faults<'_>,
    progress: &Progress,
) -> Result<RunResult> {
    let start = stage.start_hosts(scenario)?;
    watch(scenario, stage, faults, start, progress)?;
    faults.undo(stage)?;
    for host in &mut stage.hosts {
        host.stop_sending()?;
    }
    drain(stage, progress)?;
    let mut raw = collect(stage, start)?;
    raw.reports = stage.finish_hosts()?;
    Ok(result(scenario, &raw))
}

/// Runs hosts with ordinary kernels, from the first application to the end of the last one or of the time.
fn run_applications(
    scenario: &Scenario,
    stage: &mut Stage,
    faults: &mut Faults<'_>,
    progress: &Progress,
) -> Result<RunResult> {
    const INTERVAL: Duration = Duration::from_millis(50);
    progress.say(kernel::addresses(scenario, stage.names()).trim_end());
    for note in stage.kernel.notes() {
        progress.say(&format!("  {note}"));
    }
    let names = stage.names().clone();
    let mut applications = Applications::start_servers(scenario, &names)?;
    let start = clock()?;
    let mut said = 0;
    loop {
        let since = clock()?.saturating_since(start);
        for line in faults.advance(stage, since)? {
            progress.say(&line);
        }
        let is_over =
            applications.poll(scenario, &names, Duration::from_nanos(since.as_nanos()))?;
        if is_over || since >= scenario.duration {
            break;
        }
        // The condition never holds: this is a sleep that ends on Ctrl-C.
        wait_for::<()>(INTERVAL, || Ok(None))?;
        stage.check()?;
        let seconds = since.as_secs_f64() as u64;
        if seconds > said {
            said = seconds;
            for switch in stage.answering() {
                switch.collect_events()?;
            }
            progress.update(&format!(
                "  {:5.1} of {:.1} s: {:5} frames held",
                since.as_secs_f64(),
                scenario.duration.as_secs_f64(),
                stage.held_frames()?
            ));
        }
    }
    faults.undo(stage)?;
    let ended = applications.finish(scenario)?;
    drain(stage, progress)?;
    let mut raw = collect(stage, start)?;
    raw.applications = ended;
    Ok(result(scenario, &raw))
}

fn collect(stage: &mut Stage, start: Instant) -> Result<Raw> {
    let mut raw = Raw {
        start,
        reports: Vec::new(),
        applications: Vec::new(),
        statuses: Vec::new(),
        buffers: Vec::new(),
        events: Vec::new(),
        histories: Vec::new(),
    };
    for switch in &mut stage.switches {
        switch.collect_events()?;
        let (events, missed) = switch.events();
        if missed > 0 {
            bail!(
                "{}: {missed} events were overwritten before they were read",
                switch.name
            );
        }
        raw.events.push(events.to_vec());
        raw.histories.push(switch.history()?);
        raw.statuses.push(switch.status()?);
        raw.buffers
            .push((switch.get("/v1/queues")?, switch.get("/v1/pfc")?));
    }
    Ok(raw)
}

/// Waits for the end of traffic, applies due faults, and prints a line of progress each second.
fn watch(
    scenario: &Scenario,
    stage: &mut Stage,
    faults: &mut Faults<'_>,
    start: Instant,
    progress: &Progress,
) -> Result<()> {
    const INTERVAL: Duration = Duration::from_secs(1);
    let end = start + scenario.duration;
    let mut received_before = 0;
    let mut next_line = clock()? + weir_core::Duration::from_nanos(INTERVAL.as_nanos() as u64);
    loop {
        let now = clock()?;
        if now >= end {
            return Ok(());
        }
        if now >= start {
            for line in faults.advance(stage, now.saturating_since(start))? {
                progress.say(&line);
            }
        }
        let fault = faults.next_at().map(|at| start + at);
        let until = end.min(next_line).min(fault.unwrap_or(end));
        let left = until.saturating_since(clock()?);
        // The condition never holds: this is a sleep that ends on Ctrl-C.
        wait_for::<()>(Duration::from_nanos(left.as_nanos()), || Ok(None))?;
        stage.check()?;
        if clock()? < next_line.min(end) {
            continue;
        }
        next_line = clock()? + weir_core::Duration::from_nanos(INTERVAL.as_nanos() as u64);
        let (mut suspected, mut held) = (0, 0);
        for switch in stage.answering() {
            switch.collect_events()?;
            let status = switch.status()?;
            suspected += status.suspected_count;
            held += status.held_frames;
        }
        let mut received = 0;
        for host in &mut stage.hosts {
            received += host
                .snapshot()?
                .received
                .iter()
                .map(|flow| flow.bytes)
                .sum::<u64>();
        }
        let since = clock()?.saturating_since(start).as_secs_f64();
        let megabits = (received - received_before) as f64 * 8.0 / 1e6 / INTERVAL.as_secs_f64();
        received_before = received;
        progress.update(&format!(
            "  {since:5.1} of {:.1} s: {megabits:6.1} Mbit/s delivered, {held:5} frames held, {suspected} ports suspected",
            scenario.duration.as_secs_f64()
        ));
    }
}

/// Waits until the switches hold no frames, or do not drain further.
fn drain(stage: &mut Stage, progress: &Progress) -> Result<()> {
    let mut last = (u64::MAX, std::time::Instant::now());
    let emptied = wait_for(DRAIN_LIMIT, || {
        let held = stage.held_frames()?;
        if held != last.0 {
            last = (held, std::time::Instant::now());
        }
        Ok((held == 0 || last.1.elapsed() >= STILL).then_some(held))
    })?;
    progress.say(&match emptied {
        Some(0) => "  drained".to_owned(),
        _ => format!("  {} frames remain in the switches", last.0),
    });
    Ok(())
}

/// Progress lines: overwritten on a terminal, consecutive elsewhere.
struct Progress {
    quiet: bool,
    is_terminal: bool,
}

impl Progress {
    fn new(quiet: bool) -> Self {
        Self {
            quiet,
            is_terminal: std::io::stderr().is_terminal(),
        }
    }

    fn say(&self, line: &str) {
        if !self.quiet {
            let clear = if self.is_terminal { "\r\x1b[K" } else { "" };
            eprintln!("{clear}{line}");
        }
    }

    fn update(&self, line: &str) {
        if self.quiet {
            return;
        }
        if self.is_terminal {
            eprint!("\r\x1b[K{line}");
            let _ = std::io::stderr().flush();
        } else {
            eprintln!("{line}");
        }
    }
}
