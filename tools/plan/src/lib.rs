//! `switchctl plan`: predicts the effect of thresholds before a frame is sent.
//!
//! Design: docs/src/internals/design/calculus.md.
#![forbid(unsafe_code)]

mod advice;
mod apply;
mod buffers;
mod capture;
pub mod cli;
mod compare;
mod network;
mod predict;
mod reproduce;
mod result;
mod show;

use std::path::Path;

use anyhow::{bail, Context, Result};
use clap::CommandFactory;
use weir_config::daemon::{Class, DaemonConfig};
use weir_config::scenario::Scenario;
use weir_config::Override;

use cli::{Cli, FileArguments, PlanCommand};
use network::{LinkOptions, Network};
use result::{Plan, PoolPlan};
use weir_output::Output;

/// Runs the command. Returns false if a plan finds buffers that are too small.
///
/// # Errors
///
/// When a file is invalid or cannot be planned, or an output cannot be written.
pub fn run(cli: &Cli, output: &Output) -> Result<bool> {
    match &cli.command {
        Some(PlanCommand::Reproduce { figure, out }) => {
            reproduce::figure(*figure, out, output)?;
            return Ok(true);
        }
        Some(PlanCommand::Buffers { out }) => {
            buffers::run(out, output)?;
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
        Some(PlanCommand::Generated(generated)) => {
            generated.run(Cli::command(), &cli::MANUAL, *output, |_| None)?;
            return Ok(true);
        }
        None => {}
    }
    let FileArguments {
        file,
        overrides,
        apply: out,
        svg,
        from_capture,
        ..
    } = &cli.file;
    let Some(file) = file else {
        anyhow::bail!("name a scenario or a configuration to plan for");
    };
    let links = cli.file.links();
    let text = std::fs::read_to_string(file).with_context(|| file.display().to_string())?;
    let planned = |text: &str| plan(text, file, overrides, from_capture.as_deref(), &links);
    let (plan, network) = planned(&text)?;
    if let Some(svg) = svg {
        show::picture::write(&network, &plan, svg)?;
    }
    output.print(&plan, show::text::text)?;
    if let Some(out) = out {
        apply::apply(&text, |text| Ok(planned(text)?.0), out)?;
        eprintln!("{} has what was advised", out.display());
    }
    Ok(plan.lossless)
}

/// Plans for the text of a scenario or a switch's configuration. `file` is its name.
fn plan(
    text: &str,
    file: &Path,
    overrides: &[Override],
    capture: Option<&Path>,
    links: &LinkOptions,
) -> Result<(Plan, Network)> {
    let name = file.display().to_string();
    // Only a configuration describes its ports.
    if is_configuration(text) {
        if !overrides.is_empty() {
            bail!("{name} is the configuration of a switch, and --set is for scenarios: change the file");
        }
        if capture.is_some() {
            bail!("{name} is the configuration of a switch, which lists no hosts: --from-capture is for scenarios");
        }
        let config = DaemonConfig::parse(text, file)?;
        let network = Network::from_configuration(&config, links);
        let pools = predict::pools::pools(&config.name, &config.switch(&[]));
        return planned(name, "configuration", network, &config.classes, pools);
    }
    let scenario = Scenario::parse(text, file, overrides)?;
    let network = match capture {
        None => Network::from_scenario(&scenario, links)?,
        Some(capture) => {
            let recorded = capture::load(capture, &scenario)?;
            Network::from_recorded(&scenario, &recorded, links)?
        }
    };
    let all_ports = scenario.all_ports();
    let mut pools = Vec::new();
    for (index, switch) in scenario.switches.iter().enumerate() {
        let built = scenario.switch(index, &all_ports[index]);
        pools.extend(predict::pools::pools(switch, &built));
    }
    planned(name, "scenario", network, &scenario.classes, pools)
}

/// Returns true if the text has a table that only a switch's configuration has. Unnamed ports count as well, so that its
/// parser reports the missing name. Invalid TOML counts as a scenario, whose parser reports the position.
fn is_configuration(text: &str) -> bool {
    const OWN: [&str; 8] = [
        "port",
        "log",
        "metrics",
        "page",
        "api",
        "forwarding",
        "dataplane",
        "lldp",
    ];
    let document = text.parse::<toml_edit::DocumentMut>();
    document.is_ok_and(|document| {
        !document.contains_key("switch") && OWN.iter().any(|table| document.contains_key(table))
    })
}

fn planned(
    file: String,
    kind: &'static str,
    network: Network,
    classes: &[Class],
    pools: Vec<PoolPlan>,
) -> Result<(Plan, Network)> {
    let (mut ingress, mut egress) = (Vec::new(), Vec::new());
    for switch in &network.switches {
        let (buffers, queues) = predict::switch(&network, switch, kind == "configuration")?;
        ingress.extend(buffers);
        egress.extend(queues);
    }
    let advice = advice::advice(classes, &ingress, &egress, &pools);
    let plan = Plan {
        file,
        kind,
        lossless: advice
            .iter()
            .all(|advice| !matches!(advice.about, "loss" | "deadlock")),
        ingress,
        egress,
        advice,
        notes: network
            .notes
            .iter()
            .cloned()
            .chain(pools.iter().flat_map(PoolPlan::notes))
            .collect(),
        pools,
    };
    Ok((plan, network))
}

#[cfg(test)]
mod tests;
