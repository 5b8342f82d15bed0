//! Finds the lines on which frames were lost: sent at one end, but not received at the other.

use std::collections::BTreeMap;
use std::process::Command;

use anyhow::{Context, Result};
use weir_api::daemon::Port;

use crate::endpoint::report::EndpointReport;
use crate::lab::stage::Stage;

/// A line in one direction: from node to node. A switch's ports and devices are named after their
/// peers.
type Line = (String, String);

/// Returns every line with fewer arrived than sent data frames, with the drops of the devices at its ends. Call it before
/// the network is removed, with the hosts' names and reports. Only for a network whose switches have all run since its
/// start.
///
/// # Errors
///
/// When a switch does not answer.
pub(super) fn unequal(stage: &Stage, hosts: &[(String, EndpointReport)]) -> Result<Vec<String>> {
    let (mut given, mut came) = (BTreeMap::new(), BTreeMap::new());
    let mut switch_of_host = BTreeMap::new();
    for switch in &stage.switches {
        let name = &switch.config.name;
        let ports: Vec<Port> = switch.get("/v1/ports")?;
        for port in ports {
            let (there, here) = (port.name.clone(), name.clone());
            let seen = port.xdp_frames_total.get("data").copied();
            given.insert((here.clone(), there.clone()), port.tx_frames_total);
            came.insert((there.clone(), here.clone()), seen.unwrap_or(0));
            switch_of_host.insert(there, here);
        }
    }
    for (host, report) in hosts {
        let switch = switch_of_host.get(host);
        let switch = switch.with_context(|| format!("no switch has a port to {host}"))?;
        let sent = report.sent.iter().map(|flow| flow.frames).sum();
        given.insert((host.clone(), switch.clone()), sent);
        came.insert((switch.clone(), host.clone()), arrived(report));
    }
    let lines = given.iter().filter_map(|(line, given)| {
        let came = came.get(line).copied().unwrap_or(0);
        (came != *given).then(|| told(stage, line, *given, came))
    });
    Ok(lines.collect())
}

/// Returns the data frames that a host has taken from its line, valid or not.
fn arrived(report: &EndpointReport) -> u64 {
    let of_flows = report
        .received
        .iter()
        .map(|flow| flow.frames + flow.duplicated + flow.beyond_window + flow.corrupted);
    of_flows.sum::<u64>() + report.foreign + report.corrupted_unattributed
}

fn told(stage: &Stage, line: &Line, given: u64, came: u64) -> String {
    let (from, to) = line;
    let ends = [(from, to), (to, from)].map(|(at, toward)| {
        let is_switch = stage.switches.iter().any(|it| it.config.name == *at);
        let device = if is_switch {
            toward.as_str()
        } else {
            stage.names().host_device()
        };
        let drops = dropped_by_device(&stage.names().namespace(at), device);
        format!(
            "{at} has {}",
            drops.unwrap_or_else(|error| format!("{error:#}"))
        )
    });
    format!(
        "{from} gave {given} data frames to its line to {to}, where {came} came; {}",
        ends.join(", ")
    )
}

/// Returns the non-zero drops and errors of the device, as in `ip -s link` and `ethtool -S`.
fn dropped_by_device(namespace: &str, device: &str) -> Result<String> {
    let statistics = format!("/sys/class/net/{device}/statistics");
    let script = format!("ethtool -S {device}; cd {statistics} && grep . *");
    let output = Command::new("ip")
        .args(["netns", "exec", namespace, "sh", "-c", &script])
        .output()
        .context("starting ip")?;
    let text = String::from_utf8_lossy(&output.stdout);
    let counts = text.lines().filter_map(|line| line.split_once(':'));
    let counts = counts.map(|(name, count)| (name.trim(), count.trim()));
    let counts: Vec<_> = counts
        .filter(|(name, count)| (name.contains("drop") || name.contains("err")) && *count != "0")
        .map(|(name, count)| format!("{name} {count}"))
        .collect();
    Ok(if counts.is_empty() {
        "no drops".to_owned()
    } else {
        counts.join(" ")
    })
}
