//! `[[fault]]` with real switches, hosts and links: faults are applied during a run and reverted at its end.
//!
//! A run that fails or is interrupted reverts nothing: its processes are killed and its namespaces removed.

mod plan;

use std::process::Command;

use anyhow::{bail, Context, Result};
use weir_api::client::Method;
use weir_api::daemon::{Changed, Impairment, SetRoute};
use weir_config::daemon::{DaemonConfig, RoundTrip};
use weir_config::scenario::Scenario;
use weir_core::{Duration, Quanta};

use super::stage::Stage;
use plan::{Act, Plan, Step};

/// The faults of a run.
#[derive(Debug)]
pub struct Faults<'a> {
    scenario: &'a Scenario,
    plan: Plan,
    next: usize,
    /// Number of active faults that need it down, by link, switch or host.
    links_down: Vec<u32>,
    frozen: Vec<u32>,
    stopped: Vec<u32>,
    disobedient: Vec<u32>,
    storming: Vec<u32>,
    storm_at: Option<Duration>,
}

impl<'a> Faults<'a> {
    /// Plans the faults of a scenario.
    ///
    /// # Errors
    ///
    /// Each fault that the lab does not support, with its kind, its line and a remedy.
    pub fn new(scenario: &'a Scenario) -> Result<Self, Vec<String>> {
        Ok(Self {
            scenario,
            plan: plan::plan(scenario)?,
            next: 0,
            links_down: vec![0; scenario.links.len()],
            frozen: vec![0; scenario.switches.len()],
            stopped: vec![0; scenario.switches.len()],
            disobedient: vec![0; scenario.hosts.len()],
            storming: vec![0; scenario.hosts.len()],
            storm_at: None,
        })
    }

    /// Adds permanent faults to a switch's configuration.
    pub fn configure(&self, config: &mut DaemonConfig) {
        for (switch, neighbour, round_trip) in &self.plan.round_trips {
            if self.scenario.switches[*switch] != config.name {
                continue;
            }
            let name = &self.scenario.switches[*neighbour];
            let ports = config.ports.iter_mut();
            for port in ports.filter(|port| port.name == *name) {
                port.round_trip = RoundTrip::Fixed(*round_trip);
            }
        }
    }

    /// Returns the time of the next step, after the beginning of traffic.
    pub fn next_at(&self) -> Option<Duration> {
        let step = self.plan.steps.get(self.next).map(|step| step.at);
        step.into_iter().chain(self.storm_at).min()
    }

    /// Executes the steps due at `since` after the beginning of traffic. Returns a line of text for each step.
    ///
    /// # Errors
    ///
    /// When a switch, a host or a device fails to do so.
    pub fn advance(&mut self, stage: &mut Stage, since: Duration) -> Result<Vec<String>> {
        let mut told = Vec::new();
        while let Some(step) = self
            .plan
            .steps
            .get(self.next)
            .filter(|step| step.at <= since)
        {
            let step = step.clone();
            self.next += 1;
            self.act(stage, &step)
                .with_context(|| format!("{}: {}", step.fault, step.act.describe(self.scenario)))?;
            told.push(format!(
                "  {:5.1} s: {}",
                since.as_secs_f64(),
                step.act.describe(self.scenario)
            ));
        }
        if self.storm_at.is_some_and(|at| at <= since) {
            self.storm(stage, since)?;
        }
        Ok(told)
    }

    /// Reverts all active faults, and starts no more.
    ///
    /// # Errors
    ///
    /// Those of [`advance`](Self::advance).
    pub fn undo(&mut self, stage: &mut Stage) -> Result<()> {
        while let Some(step) = self.plan.steps.get(self.next).cloned() {
            self.next += 1;
            if step.act.is_end() {
                self.act(stage, &step).context(step.fault)?;
            }
        }
        for switch in stage.switches.iter().filter(|switch| !switch.is_silent()) {
            let known: Vec<Impairment> = switch.get("/v1/impairments")?;
            for Impairment { id, .. } in known {
                let path = format!("/v1/impairments/{id}");
                // It may have ended in the meantime.
                let _ = switch.send::<(), ()>(Method::DELETE, &path, None);
            }
        }
        self.storm_at = None;
        Ok(())
    }

    fn act(&mut self, stage: &mut Stage, step: &Step) -> Result<()> {
        match &step.act {
            Act::Impair { switch, request } => {
                let switch = &stage.switches[*switch];
                // A silenced switch cannot be asked.
                if !switch.is_silent() {
                    let path = "/v1/impairments";
                    switch.send::<_, Impairment>(Method::POST, path, Some(request))?;
                }
            }
            Act::Link { link, up } => {
                if moves(&mut self.links_down[*link], !up) {
                    let [here, there] = self.scenario.links[*link].ends;
                    let names = &self.scenario.switches;
                    let namespace = stage.names().namespace(&names[here]);
                    set_link(&namespace, &names[there], *up)?;
                }
            }
            Act::Freeze { switch, frozen } => {
                if moves(&mut self.frozen[*switch], *frozen) {
                    stage.switches[*switch].freeze(*frozen);
                }
            }
            Act::Stop { switch } => {
                let state = &mut stage.switches[*switch];
                if moves(&mut self.stopped[*switch], true) {
                    if !state.is_silent() {
                        state.collect_events()?;
                    }
                    state.kill()?;
                }
            }
            Act::Start { switch } => {
                let state = &mut stage.switches[*switch];
                if moves(&mut self.stopped[*switch], false) {
                    state.start_process()?;
                    state.ready()?;
                }
            }
            Act::Route {
                switch,
                destination,
                ports,
            } => {
                let switch = &stage.switches[*switch];
                let set = SetRoute {
                    ports: ports.clone(),
                    buckets: None,
                };
                if !switch.is_silent() {
                    let path = format!("/v1/routes/{destination}");
                    switch.send::<_, Changed>(Method::PUT, &path, Some(&set))?;
                }
            }
            Act::Obey { host, obeys } => {
                if moves(&mut self.disobedient[*host], !obeys) {
                    let obeys = *obeys && self.scenario.hosts[*host].obeys_pfc;
                    let word = if obeys { "obey-pfc" } else { "ignore-pfc" };
                    stage.hosts[*host].tell(word)?;
                }
            }
            Act::Storm { host, storms } => {
                if moves(&mut self.storming[*host], *storms) && *storms {
                    self.storm_at = Some(step.at);
                }
                if self.storming.iter().all(|count| *count == 0) {
                    self.storm_at = None;
                }
            }
        }
        Ok(())
    }

    /// Repeats the pauses of every storming host.
    fn storm(&mut self, stage: &mut Stage, since: Duration) -> Result<()> {
        for (host, _) in self
            .storming
            .iter()
            .enumerate()
            .filter(|(_, count)| **count > 0)
        {
            for priority in &self.plan.lossless {
                stage.hosts[host].tell(&format!("pfc {priority} {}", Quanta::MAX.0))?;
            }
        }
        self.storm_at = Some(since + plan::storm_interval(self.scenario));
        Ok(())
    }
}

/// Counts one more user, or one less. Returns true for the first to come and the last to go.
fn moves(count: &mut u32, more: bool) -> bool {
    let before = *count > 0;
    *count = match more {
        true => *count + 1,
        false => count.saturating_sub(1),
    };
    before != (*count > 0)
}

/// Sets a device of a namespace up or down.
///
/// # Errors
///
/// The error of ip(8).
pub(crate) fn set_link(namespace: &str, device: &str, up: bool) -> Result<()> {
    let state = if up { "up" } else { "down" };
    let output = Command::new("ip")
        .args(["-n", namespace, "link", "set", device, state])
        .output()
        .context("starting ip")?;
    if !output.status.success() {
        bail!(
            "ip link set {device} {state}: {}",
            String::from_utf8_lossy(&output.stderr).trim()
        );
    }
    Ok(())
}

#[cfg(test)]
mod tests;
