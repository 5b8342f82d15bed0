//! The kernel side, read through aya: works without the daemon, and needs no libbpf.

mod link;
mod pins;
mod view;

use std::fmt::Write;
use std::path::Path;

use anyhow::{bail, Context, Result};
use serde::Serialize;

use link::{OpenLink, Process};
use weir_output::Output;

/// `switchctl xdp status`; returns false if something could not be read.
pub fn status(pins: &Path, output: &Output) -> Result<bool> {
    let ports: Vec<_> = pins::names(pins)?
        .iter()
        .map(|name| pins::read(pins, name))
        .collect();
    output.print(&ports, |ports| view::ports(ports))?;
    Ok(ports.iter().all(|port| port.problems.is_empty()))
}

/// Returns the ports that have pins; `None` if unknown.
pub fn pinned(pins: &Path) -> Option<Vec<String>> {
    pins::names(pins).ok()
}

#[derive(Debug, Serialize)]
struct Detached {
    port: String,
    link_id: Option<u32>,
    /// False if the program is still attached.
    detached: bool,
    taken_from: Vec<Process>,
    /// Files that are not Weir's pins, and were kept.
    left: Vec<String>,
}

/// `switchctl xdp detach`; returns false if a program stays attached or a file is left.
///
/// # Errors
///
/// When a port is unknown, or a running daemon holds a link without `force`; nothing is changed then.
pub fn detach(
    pins: &Path,
    ports: &[String],
    all: bool,
    force: bool,
    output: &Output,
) -> Result<bool> {
    let known = pins::names(pins)?;
    let chosen = if all || ports.is_empty() {
        &known
    } else {
        ports
    };
    if let Some(unknown) = chosen.iter().find(|port| !known.contains(port)) {
        if known.is_empty() {
            bail!("port {unknown}: nothing is pinned in {}", pins.display());
        }
        bail!(
            "no port {unknown} is pinned in {}; there are: {}",
            pins.display(),
            known.join(", ")
        );
    }
    if !force {
        refuse_held(pins, chosen)?;
    }
    let mut done = Vec::new();
    for port in chosen {
        done.push(detach_one(&pins.join(port), port, force)?);
    }
    output.print(&done, |done| describe(done))?;
    Ok(done
        .iter()
        .all(|entry| entry.detached && entry.left.is_empty()))
}

fn refuse_held(pins: &Path, ports: &[String]) -> Result<()> {
    let mut held = String::new();
    for port in ports {
        let path = pins.join(port).join("link");
        if !path.exists() {
            continue;
        }
        for process in OpenLink::from_pin(&path)?.holders() {
            let _ = write!(held, "\n  {port}: {process}");
        }
    }
    if !held.is_empty() {
        bail!(
            "links are in use; nothing was detached:{held}\n\
             Stop the daemon, which detaches them itself, or use --force."
        );
    }
    Ok(())
}

fn detach_one(directory: &Path, port: &str, force: bool) -> Result<Detached> {
    let path = directory.join("link");
    let link = if path.exists() {
        Some(OpenLink::from_pin(&path)?)
    } else {
        None
    };
    let taken_from = link.as_ref().map_or_else(Vec::new, |link| link.holders());
    let mut detached = link.is_none();
    if let Some(link) = link.as_ref().filter(|_| force) {
        link.force_detach()
            .with_context(|| format!("detaching link {} of port {port}", link.id))?;
        detached = true;
    }
    let link_id = link.as_ref().map(|link| link.id);
    // This reference would keep it attached.
    drop(link);
    let left = pins::remove(directory)?;
    detached = detached || link_id.is_none_or(link::is_gone);
    Ok(Detached {
        port: port.to_owned(),
        link_id,
        detached,
        taken_from,
        left: left.iter().map(|path| path.display().to_string()).collect(),
    })
}

fn describe(done: &[Detached]) -> String {
    if done.is_empty() {
        return "nothing is pinned\n".to_owned();
    }
    let mut out = String::new();
    for entry in done {
        let what = match (entry.link_id, entry.detached) {
            (None, _) => "no link was pinned".to_owned(),
            (Some(id), true) => format!("detached (link {id})"),
            (Some(id), false) => {
                format!("STILL ATTACHED: link {id} is pinned elsewhere or held by a process that is not visible here")
            }
        };
        let _ = write!(out, "{}: {what}, ", entry.port);
        let _ = match entry.left.as_slice() {
            [] => writeln!(out, "pins and directory removed"),
            left => writeln!(out, "pins removed; other files remain: {}", left.join(", ")),
        };
        for process in &entry.taken_from {
            let _ = writeln!(out, "{}: {process} no longer receives frames", entry.port);
        }
    }
    out
}
