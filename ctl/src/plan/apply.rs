//! `switchctl plan --apply`: a configuration with what was advised.

use std::fs;
use std::path::Path;

use anyhow::{bail, Context, Result};
use weir_config::daemon::{Class, DaemonConfig};
use weir_config::units::parse_size;
use weir_core::{Budgets, Bytes, ClassMode};

use super::network::LinkOptions;
use super::planned_configuration;
use super::result::{Advice, Plan};

/// What is taken can call for more: so often at most.
const ROUNDS_MAX: usize = 8;

/// Takes advice until there is none, and writes the configuration that is left. What is there is not overwritten.
///
/// # Errors
///
/// When advice does not end, or what comes of it is no legal configuration.
pub fn apply(mut config: DaemonConfig, links: &LinkOptions, out: &Path) -> Result<()> {
    for _ in 0..ROUNDS_MAX {
        let (plan, _) = planned_configuration(String::new(), &config, links)?;
        if plan.advice.is_empty() {
            return write(&config, out);
        }
        take(&mut config, &plan)?;
    }
    bail!("there is still something to change after taking advice {ROUNDS_MAX} times; nothing is written")
}

fn write(config: &DaemonConfig, out: &Path) -> Result<()> {
    let name = out.display().to_string();
    if out.exists() {
        bail!("{name} exists; name a new file");
    }
    let text = config.to_toml();
    DaemonConfig::parse(&text, out).context("what was advised does not go together")?;
    fs::write(out, text).context(name)
}

fn take(config: &mut DaemonConfig, plan: &Plan) -> Result<()> {
    for advice in &plan.advice {
        let mut classes = config.classes.iter_mut();
        if let Some(class) = classes.find(|class| class.name == advice.class) {
            set(class, advice)?;
        }
    }
    Ok(())
}

fn set(class: &mut Class, advice: &Advice) -> Result<()> {
    let sizes = advice
        .value
        .trim_matches(['[', ']'])
        .split(',')
        .map(|size| parse_size(size.trim().trim_matches('"')))
        .collect::<Result<Vec<Bytes>, _>>()?;
    let size = sizes.first().copied().unwrap_or_default();
    if let Some(red) = &mut class.ecn {
        match advice.key {
            "ecn-kmin" => red.kmin = size,
            "ecn-kmax" => red.kmax = size,
            _ => {}
        }
    }
    if let ClassMode::Pfc {
        xoff,
        xon,
        headroom,
    }
    | ClassMode::Level {
        xoff,
        xon,
        headroom,
        ..
    } = &mut class.mode
    {
        match advice.key {
            "xoff" => *xoff = size,
            "xon" => *xon = size,
            "headroom" => *headroom = size,
            _ => {}
        }
    }
    if let (ClassMode::Level { budgets, .. }, "budgets") = (&mut class.mode, advice.key) {
        *budgets = Budgets::new(&sizes).context("as many budgets as were there")?;
    }
    Ok(())
}
