//! `switchctl doctor`.

mod trial;

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use aya::programs::{loaded_links, loaded_programs};
use serde::Serialize;
use weir_api::counters::Counters;
use weir_api::daemon::{Pfc, Port, Status};
use weir_api::neighbors::Neighbor;
use weir_config::daemon::DaemonConfig;
use weir_doctor::trial::{judge as judge_trial, Trial};
use weir_doctor::{
    judge, worst, Facts, Finding, Grade, Running, RunningCable, RunningPort, RunningQueue, Wanted,
};
use weir_output::{table, Output};

use crate::cli::DoctorArguments;
use crate::target::Target;

const CONFIGURATIONS: &str = "/etc/weir";
const DEFAULT_NAME: &str = "switchd";
/// Counter in `GET /v1/counters`.
const HEADROOM_DROPPED: &str = "headroom_dropped_total";

/// The command line or the configuration is invalid.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct Usage(String);

/// Complete report for remote analysis.
#[derive(Serialize)]
struct Report<'a> {
    version: &'static str,
    findings: &'a [Finding],
    facts: &'a Facts,
    running: Option<&'a Running>,
    trial: Option<&'a Trial>,
    configuration: String,
}

/// Runs the checks; returns false if there is a problem.
pub fn run(target: &Target, output: &Output, arguments: &DoctorArguments) -> Result<bool> {
    let wanted = wanted(target, arguments)?;
    let tried = arguments.tried.as_deref();
    if let Some(device) = tried {
        trial::refuse_in_use(device, wanted.running.as_ref())?;
    }
    let mut devices: Vec<&str> = wanted.config.ports.iter().map(|it| &*it.device).collect();
    devices.dedup();
    let mut facts = Facts::read(&devices, &program);
    if wanted.running.is_none() && facts.host.root {
        facts.host.programs = Some(trial::programs()?);
    }
    let mut findings = judge(&facts, &wanted);
    let trial = tried.map(|device| trial::run(device, &wanted, arguments.time.as_deref()));
    if let Some(Err(_)) = trial {
        // They may show the cause.
        output.print(&findings, |findings| lines(findings))?;
    }
    let trial = trial.transpose()?;
    if let Some(trial) = &trial {
        findings.extend(judge_trial(trial, &facts, &wanted));
    }
    if let Some(path) = &arguments.report {
        let report = Report {
            version: env!("CARGO_PKG_VERSION"),
            findings: &findings,
            facts: &facts,
            running: wanted.running.as_ref(),
            trial: trial.as_ref(),
            configuration: wanted.config.to_toml(),
        };
        let text = serde_json::to_string_pretty(&report)?;
        fs::write(path, text).with_context(|| path.display().to_string())?;
    }
    output.print(&findings, |findings| lines(findings))?;
    Ok(worst(&findings) < Grade::Problem)
}

/// Returns the configuration and the running switch to examine.
fn wanted(target: &Target, arguments: &DoctorArguments) -> Result<Wanted> {
    let named = arguments.devices.iter().chain(&arguments.tried);
    let devices: Vec<&str> = named.map(String::as_str).collect();
    let file = arguments
        .config
        .clone()
        .or_else(|| service_file(target, &devices));
    if let Some(file) = file {
        let mut config = load(&file)?;
        let running = running(&target.or_at(&config.api_socket));
        if !devices.is_empty() {
            config = only(config, &devices)?;
        }
        return Ok(Wanted {
            config,
            file: Some(file),
            running,
        });
    }
    let running = running(target);
    let of_switch = running.iter().flat_map(|running| &running.ports);
    let devices = match devices.is_empty() {
        true => of_switch.map(|port| &*port.device).collect(),
        false => devices,
    };
    if devices.is_empty() {
        let message = "name a DEVICE, or give the switch's file by --config: no switch answers";
        return Err(Usage(message.into()).into());
    }
    let wanted = Wanted::of_devices(&devices).map_err(|error| Usage(error.to_string()))?;
    Ok(Wanted { running, ..wanted })
}

fn load(file: &Path) -> Result<DaemonConfig, Usage> {
    DaemonConfig::load(file).map_err(|error| Usage(error.to_string()))
}

/// Returns the service's configuration file, if it exists and has all of these devices.
fn service_file(target: &Target, devices: &[&str]) -> Option<PathBuf> {
    let name = target.name.as_deref().unwrap_or(DEFAULT_NAME);
    let file = Path::new(CONFIGURATIONS).join(format!("{name}.toml"));
    let config = file.exists().then(|| DaemonConfig::load(&file))?;
    let has = |device: &&str| {
        let mut ports = config.iter().flat_map(|config| &config.ports);
        ports.any(|port| port.device == *device)
    };
    // A file with errors is reported if it may matter.
    devices.iter().all(has).then_some(file)
}

/// Restricts the configuration to the ports of these devices; other devices get a port with defaults.
fn only(mut config: DaemonConfig, devices: &[&str]) -> Result<DaemonConfig, Usage> {
    let other = |device: &&&str| !config.ports.iter().any(|port| port.device == **device);
    let others: Vec<&str> = devices.iter().filter(other).copied().collect();
    config.ports.retain(|port| devices.contains(&&*port.device));
    if !others.is_empty() {
        let others = Wanted::of_devices(&others).map_err(|error| Usage(error.to_string()))?;
        config.ports.extend(others.config.ports);
    }
    Ok(config)
}

fn running(target: &Target) -> Option<Running> {
    let status: Status = target.get("/v1/status").ok()?;
    let ports: Vec<Port> = target.get("/v1/ports").ok()?;
    let ports = ports.into_iter().filter(|port| !port.device_gone);
    let pauses: Vec<Pfc> = target.get("/v1/pfc").ok()?;
    let counters: Vec<Counters> = target.get("/v1/counters").ok()?;
    let neighbors: Vec<Neighbor> = target.get("/v1/neighbors").ok()?;
    let port = |port: Port| {
        let dropped = |verdict: &str| {
            let verdicts = &port.xdp_verdicts_total;
            verdicts.get(verdict).copied().unwrap_or(0)
        };
        RunningPort {
            queues: queues(&port.name, &pauses, &counters),
            cable: port.cable.as_ref().map(|cable| RunningCable {
                exceeded: cable.exceeded,
                round_trip_nanos: cable.round_trip_nanos,
            }),
            loop_blocked: port.loop_blocked.is_some(),
            mismatches: mismatches(&port.name, &neighbors),
            without_socket: dropped("dropped"),
            without_metadata: dropped("no_meta"),
            mode: port.xdp_mode.to_string(),
            zero_copy: port.zero_copy,
            device: port.device,
        }
    };
    Some(Running {
        pid: status.pid,
        ports: ports.map(port).collect(),
    })
}

/// Returns headroom counters of `port`, by priority.
fn queues(port: &str, pauses: &[Pfc], counters: &[Counters]) -> Vec<RunningQueue> {
    let dropped = |priority: u8| {
        let is_its = |counters: &&Counters| {
            counters.port.as_deref() == Some(port) && counters.priority == Some(priority)
        };
        let counters = counters.iter().find(is_its);
        counters.and_then(|it| it.counters.get(HEADROOM_DROPPED).copied())
    };
    let of_port = pauses.iter().filter(|pfc| pfc.port == port);
    of_port
        .map(|pfc| RunningQueue {
            priority: pfc.priority,
            headroom_used_max_bytes: pfc.headroom_used_bytes_max,
            headroom_dropped: dropped(pfc.priority).unwrap_or(0),
        })
        .collect()
}

/// Returns the differences between `port` and its neighbors. Each of several neighbors has all of them.
fn mismatches(port: &str, neighbors: &[Neighbor]) -> Vec<String> {
    let neighbor = neighbors.iter().find(|neighbor| neighbor.port == port);
    neighbor.map_or_else(Vec::new, |neighbor| neighbor.mismatches.clone())
}

/// Returns an XDP program's name and, if run as root, the link that holds it.
fn program(id: u32) -> (Option<String>, Option<u32>) {
    let mut programs = loaded_programs().flatten();
    let program = programs.find(|program| program.id() == id);
    let name = program.and_then(|program| program.name_as_str().map(str::to_owned));
    let mut links = loaded_links().flatten();
    let link = links.find(|link| link.program_id() == id);
    (name, link.map(|link| link.id()))
}

fn lines(findings: &[Finding]) -> String {
    let row = |finding: &Finding| {
        let about = finding.device.clone().unwrap_or_else(|| "host".to_owned());
        let grade = finding.grade.name().to_owned();
        let check = finding.check.name().to_owned();
        let found = vec![grade, about, check, finding.found.clone()];
        let remedy = finding.remedy.as_ref();
        let below = |remedy: String| vec![String::new(), String::new(), String::new(), remedy];
        let below = remedy.map(|remedy| below(format!("→ {remedy}")));
        std::iter::once(found).chain(below)
    };
    let rows = findings.iter().flat_map(row);
    table(&["", "of", "check", "found"], rows)
}
