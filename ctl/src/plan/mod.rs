//! `switchctl plan`: what thresholds lead to, before a frame is sent.

mod advice;
mod apply;
mod arrivals;
mod buffers;
mod capture;
pub mod cli;
mod compare;
mod counted;
mod ecn;
mod egress;
mod headroom;
mod network;
mod picture;
mod planner;
mod reproduce;
mod result;
mod shares;
mod text;

use std::path::Path;

use anyhow::Result;
use weir_config::daemon::{Class, DaemonConfig};
use weir_config::scenario::Scenario;
use weir_config::Override;

use crate::output::Output;
use cli::{FileArguments, PlanArguments, PlanCommand};
use network::{LinkOptions, Network};
use result::Plan;

/// False when a plan finds buffers that are too small.
pub fn run(arguments: &PlanArguments, output: &Output) -> Result<bool> {
    match &arguments.command {
        Some(PlanCommand::Reproduce { figure, out }) => {
            reproduce::figure(*figure, out, output)?;
            return Ok(true);
        }
        Some(PlanCommand::Compare {
            run,
            scenario,
            overrides,
        }) => {
            compare::run(run, scenario, overrides, &LinkOptions::default(), output)?;
            return Ok(true);
        }
        None => {}
    }
    let FileArguments {
        file, overrides, ..
    } = &arguments.file;
    let Some(file) = file else {
        anyhow::bail!("name a scenario or a configuration to plan for");
    };
    let (plan, network) = match &arguments.file.from_capture {
        Some(capture) => plan_recorded(file, overrides, capture, &arguments.file.links())?,
        None => plan(file, overrides, &arguments.file.links())?,
    };
    if let Some(svg) = &arguments.file.svg {
        picture::write(&network, &plan, svg)?;
    }
    output.print(&plan, text::text)?;
    if let Some(out) = &arguments.file.apply {
        if plan.kind != "configuration" {
            anyhow::bail!("--apply writes the configuration of a switch; what is advised for a scenario goes behind it as --set");
        }
        let config = DaemonConfig::load(file)?;
        apply::apply(config, &arguments.file.links(), out)?;
        eprintln!("{} has what was advised", out.display());
    }
    Ok(plan.lossless)
}

/// Plans for a scenario or for a switch's configuration: the one that the file is.
fn plan(file: &Path, overrides: &[Override], links: &LinkOptions) -> Result<(Plan, Network)> {
    let name = file.display().to_string();
    let configuration = match DaemonConfig::load(file) {
        Ok(_) if !overrides.is_empty() => anyhow::bail!(
            "{name} is the configuration of a switch, and --set is for scenarios: change the file"
        ),
        Ok(config) => Ok(config),
        // Only a configuration says what its ports are.
        Err(error) if is_configuration(file) => return Err(error.into()),
        Err(_) => Err(Scenario::load(file, overrides)?),
    };
    match configuration {
        Ok(config) => planned_configuration(name, &config, links),
        Err(scenario) => {
            let network = Network::from_scenario(&scenario, links)?;
            planned(name, "scenario", network, &scenario.classes)
        }
    }
}

/// Plans a scenario's network for arrivals that were recorded.
fn plan_recorded(
    file: &Path,
    overrides: &[Override],
    capture: &Path,
    links: &LinkOptions,
) -> Result<(Plan, Network)> {
    if is_configuration(file) {
        anyhow::bail!("--from-capture is for scenarios: a configuration does not say which hosts are behind its ports");
    }
    let scenario = Scenario::load(file, overrides)?;
    let recorded = capture::load(capture, &scenario)?;
    let network = Network::from_recorded(&scenario, &recorded, links)?;
    let name = file.display().to_string();
    planned(name, "scenario", network, &scenario.classes)
}

fn planned_configuration(
    file: String,
    config: &DaemonConfig,
    links: &LinkOptions,
) -> Result<(Plan, Network)> {
    let network = Network::from_configuration(config, links);
    planned(file, "configuration", network, &config.classes)
}

fn is_configuration(file: &Path) -> bool {
    let text = std::fs::read_to_string(file).unwrap_or_default();
    text.lines()
        .any(|line| line.trim_start().starts_with("[[port]]"))
}

fn planned(
    file: String,
    kind: &'static str,
    network: Network,
    classes: &[Class],
) -> Result<(Plan, Network)> {
    let (mut ingress, mut egress) = (Vec::new(), Vec::new());
    for switch in &network.switches {
        let (buffers, queues) = planner::switch(&network, switch, kind == "configuration")?;
        ingress.extend(buffers);
        egress.extend(queues);
    }
    let advice = advice::advice(classes, &ingress, &egress);
    let plan = Plan {
        file,
        kind,
        lossless: advice
            .iter()
            .all(|advice| !matches!(advice.about, "loss" | "deadlock")),
        ingress,
        egress,
        advice,
        notes: network.notes.clone(),
    };
    Ok((plan, network))
}

#[cfg(test)]
mod tests;
