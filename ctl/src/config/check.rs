//! `switchctl config check`.

use std::path::Path;

use anyhow::Result;
use serde::Serialize;
use weir_config::daemon::{Class, DaemonConfig, Port, Trust};
use weir_config::units::format_size;
use weir_core::{Algorithm, ClassMode, ModeKind, PfcThresholds, Priority};

use super::devices::{self, Unfit};
use super::here::{self, Warning};
use super::Source;
use crate::plan::{self, Advice};
use weir_output::{bytes, facts, rate, table, Output, NONE};

fn written(class: &Class, thresholds: PfcThresholds) -> String {
    let [xoff, xon, headroom] = [thresholds.xoff(), thresholds.xon(), thresholds.headroom()];
    let whose = match class.headroom_by_cable {
        true => " by cable, up to",
        false => "",
    };
    format!(
        "xoff {}, xon {}, headroom{whose} {}",
        bytes(xoff.get()),
        bytes(xon.get()),
        bytes(headroom.get())
    )
}

#[derive(Serialize)]
struct Verdict {
    file: String,
    good: bool,
    problems: Vec<Problem>,
    #[serde(skip_serializing_if = "Option::is_none")]
    umem_bytes: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    umem_frames: Option<usize>,
    /// Settings that do not work on this machine, or have no effect.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    warnings: Vec<Warning>,
    /// Valid settings that may lose lossless frames.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    advice: Vec<Advice>,
    /// Ports whose devices in this network namespace cannot be used.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    unfit_devices: Vec<Unfit>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    unused_ecn_profiles: Vec<String>,
    /// Ports to hosts, with a lossless class but without the storm watchdog.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    unwatched_ports: Vec<String>,
    /// Ports to hosts that may use several shares of a line: priorities of classes that do not share by port.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    unrestricted_ports: Vec<String>,
}

#[derive(Serialize)]
struct Problem {
    line: Option<usize>,
    key: String,
    message: String,
}

/// Checks a daemon's configuration; returns false if it is wrong.
pub fn config(file: &Path, output: &Output) -> Result<bool> {
    let source = Source::read(file);
    let file = &source.name;
    let name = file.display().to_string();
    match &source.config {
        Ok(config) => {
            let advice = match &source.input {
                Some(text) => plan::advice_of_text(text),
                None => plan::advice(file),
            };
            let verdict = Verdict {
                file: name,
                good: true,
                problems: Vec::new(),
                umem_bytes: Some(config.umem_size().get()),
                umem_frames: Some(config.umem_frames()),
                warnings: here::warnings(config),
                advice,
                unfit_devices: devices::unfit(config),
                unused_ecn_profiles: unused(config),
                unwatched_ports: unwatched(config),
                unrestricted_ports: unrestricted(config),
            };
            output.print(&verdict, |verdict| {
                let notes = verdict.unused_ecn_profiles.iter().map(|name| {
                    format!("\nnote: no class has the ecn profile {name}: `ecn = \"{name}\"` in a [[class]] has it mark so\n")
                });
                let of_this_machine = verdict.warnings.iter();
                let of_this_machine = of_this_machine.map(|Warning { key, message }| format!("\nwarning: {key}: {message}\n"));
                let unfit = verdict.unfit_devices.iter().map(|unfit| {
                    let Unfit { port, device, why } = unfit;
                    format!("\nwarning: port {port}: the switch does not start here: device `{device}` {why}\n")
                });
                let unwatched = verdict.unwatched_ports.iter().map(|port| {
                    format!("\nnote: port {port}: the storm watchdog is off: a host that pauses the port for ever stops other hosts as well; set `enabled = true` in pfcwd\n")
                });
                summary(file, config)
                    + &notes.collect::<String>()
                    + &unwatched.collect::<String>()
                    + &any_priority(&verdict.unrestricted_ports)
                    + &of_this_machine.collect::<String>()
                    + &unfit.collect::<String>()
                    + &warnings(&source, &verdict.advice)
            })?;
            Ok(true)
        }
        Err(error) if output.is_json() => {
            let problems = error
                .problems
                .iter()
                .map(|problem| Problem {
                    line: problem.line,
                    key: problem.key.clone(),
                    message: problem.message.clone(),
                })
                .collect();
            let verdict = Verdict {
                file: name,
                good: false,
                problems,
                umem_bytes: None,
                umem_frames: None,
                warnings: Vec::new(),
                advice: Vec::new(),
                unfit_devices: Vec::new(),
                unused_ecn_profiles: Vec::new(),
                unwatched_ports: Vec::new(),
                unrestricted_ports: Vec::new(),
            };
            output.print(&verdict, |_| String::new())?;
            Ok(false)
        }
        Err(error) => {
            weir_output::complain(&error.to_string());
            Ok(false)
        }
    }
}

fn unused(config: &DaemonConfig) -> Vec<String> {
    let names = config.ecn.iter().map(|profile| &profile.name);
    let unused = names.filter(|name| config.classes_with_profile(name).next().is_none());
    unused.cloned().collect()
}

fn unwatched(config: &DaemonConfig) -> Vec<String> {
    let is_lossless = |class: &Class| class.mode.is_lossless();
    if !config.classes.iter().any(is_lossless) {
        return Vec::new();
    }
    hosts_that(config, |port| config.watchdog(port).is_none())
}

fn unrestricted(config: &DaemonConfig) -> Vec<String> {
    let has_own_share = |priority: &Priority| {
        let class = config.class_of(*priority);
        class.is_some_and(|class| {
            class.scheduler.algorithm != Algorithm::Ports || class.kind() == ModeKind::Level
        })
    };
    if !Priority::ALL.iter().any(has_own_share) {
        return Vec::new();
    }
    hosts_that(config, |port| {
        port.priorities.is_none() && port.trust != Trust::Port
    })
}

/// Returns the names of the ports to hosts that satisfy `wanted`.
fn hosts_that(config: &DaemonConfig, wanted: impl Fn(&Port) -> bool) -> Vec<String> {
    let hosts = config.ports.iter().filter(|port| port.is_edge());
    let wanted = hosts.filter(|port| wanted(port));
    wanted.map(|port| port.name.clone()).collect()
}

fn any_priority(ports: &[String]) -> String {
    match ports.is_empty() {
        true => String::new(),
        false => format!(
            "\nnote: hosts choose any priority at {}: classes that are strict, or have a weight, a rate or Levels, give a host another share for each of their priorities; `priorities` of a [[port]] names those that it may have\n",
            ports.join(", ")
        ),
    }
}

fn warnings(source: &Source, advice: &[Advice]) -> String {
    let mut out = String::new();
    for one in advice {
        let (class, key, value, why) = (&one.class, &one.key, &one.value, &one.why);
        let of_pool = one.pool.as_ref().map(|pool| format!(" of pool {pool}"));
        let of_pool = of_pool.unwrap_or_default();
        out += &format!(
            "\nwarning: class {class} may lose frames: {key}{of_pool} should be {value}, since {why}\n"
        );
    }
    if !advice.is_empty() && source.input.is_none() {
        out += &format!(
            "`switchctl plan {}` has the whole calculation.\n",
            source.name.display()
        );
    }
    out
}

/// Formats ports, with values derived from their cables, if known.
fn ports(config: &DaemonConfig) -> String {
    let charging = config.dataplane.frames().charging();
    let has_cables = config.ports.iter().any(|port| port.cable.is_some());
    let mut headings = vec!["port", "device", "role", ">rate"];
    headings.extend(has_cables.then_some("headroom by cable"));
    let row = |port: &Port| {
        let mut cells = vec![
            port.name.clone(),
            format!("{} queue {}", port.device, port.queue),
            port.role.name().to_owned(),
            rate(port.rate.get()),
        ];
        let cable = port.cable_line().map(|line| {
            let headroom = line.room(charging).headroom;
            format!("{}: {}", line.cable, bytes(headroom.get()))
        });
        cells.extend(has_cables.then(|| cable.unwrap_or_else(|| NONE.to_owned())));
        cells
    };
    table(&headings, config.ports.iter().map(row))
}

fn summary(file: &Path, config: &DaemonConfig) -> String {
    let mut out = format!("{}: valid\n\n", file.display());
    out += &facts(&[
        ("switch", config.name.clone()),
        ("run directory", config.run_dir.display().to_string()),
        ("API", config.api_socket.display().to_string()),
        (
            "metrics",
            config.metrics.listen.map_or_else(
                || "off".to_owned(),
                |address| format!("http://{address}/metrics"),
            ),
        ),
        (
            "page",
            config
                .page
                .listen
                .map_or_else(|| "off".to_owned(), |address| format!("http://{address}/")),
        ),
        (
            "packet memory",
            format!(
                "{} ({} frames of {})",
                bytes(config.umem_size().get()),
                config.umem_frames(),
                format_size(config.dataplane.chunk_size())
            ),
        ),
        ("kernel tables", bytes(config.kernel_tables().get())),
    ]);
    out.push('\n');
    out += &ports(config);
    if !config.classes.is_empty() {
        out.push('\n');
        out += &table(
            &["class", "priorities", "mode", "buffers of each port"],
            config.classes.iter().map(|class| {
                let priorities: Vec<String> =
                    class.priorities.iter().map(ToString::to_string).collect();
                let (mode, buffers) = match class.mode {
                    ClassMode::Lossy { buffer } => {
                        ("lossy", format!("buffer {}", bytes(buffer.get())))
                    }
                    ClassMode::Pfc(thresholds) => ("pfc", written(class, thresholds)),
                    ClassMode::Level { budgets, edge, .. } => (
                        "level",
                        format!(
                            "fabric {} ({} budgets, b_1 {}); edge {}",
                            bytes(budgets.total().get()),
                            budgets.depth(),
                            bytes(
                                budgets
                                    .as_slice()
                                    .first()
                                    .copied()
                                    .unwrap_or_default()
                                    .get()
                            ),
                            written(class, edge)
                        ),
                    ),
                };
                vec![
                    class.name.clone(),
                    priorities.join(", "),
                    mode.to_owned(),
                    buffers,
                ]
            }),
        );
    }
    out
}
