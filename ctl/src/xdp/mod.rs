//! The kernel side, read through aya: works when the daemon is gone, and needs no libbpf.

mod abi;
mod pins;

use anyhow::{bail, Result};

use crate::output::{bytes, table, Output};
use crate::target::PinPlace;
use pins::PinnedPort;

/// `switchctl xdp status`.
pub fn status(place: &PinPlace, output: &Output) -> Result<()> {
    let ports = pins::read_all(&place.pins())?;
    output.print(&ports, |ports| view(ports))
}

/// `switchctl xdp detach`; false when a program stays attached.
pub fn detach(place: &PinPlace, ports: &[String], all: bool, output: &Output) -> Result<bool> {
    if let Some(pid) = place.daemon() {
        bail!(
            "the daemon (pid {pid}) is running and holds its programs itself; stop it: it detaches them (`kill {pid}`)"
        );
    }
    let known = pins::names(&place.pins())?;
    let chosen = if all { &known } else { ports };
    for port in chosen {
        if !known.contains(port) {
            bail!(
                "no port `{port}` is pinned here; there are: {}",
                known.join(", ")
            );
        }
    }
    let mut good = true;
    for port in chosen {
        let detached = pins::detach(&place.pins().join(port))?;
        good &= detached;
        output.line(&if detached {
            format!("{port}: detached, pins removed")
        } else {
            format!("{port}: pins removed, but another process holds the link: the program stays attached")
        })?;
    }
    if chosen.is_empty() {
        output.line("nothing is pinned")?;
    }
    Ok(good)
}

fn view(ports: &[PinnedPort]) -> String {
    if ports.is_empty() {
        return "nothing is pinned\n".to_owned();
    }
    let mut out = table(
        &[
            "port",
            ">device index",
            ">program",
            ">link",
            "without a socket",
            "frames by verdict",
        ],
        ports.iter().map(|port| {
            let verdicts: Vec<String> = port
                .verdicts
                .iter()
                .filter(|(_, frames)| **frames > 0)
                .map(|(name, frames)| format!("{frames} {name}"))
                .collect();
            vec![
                port.name.clone(),
                port.ifindex
                    .map_or_else(|| "–".to_owned(), |index| index.to_string()),
                port.program_id.to_string(),
                port.link_id.to_string(),
                port.fallback.to_owned(),
                if verdicts.is_empty() {
                    "–".to_owned()
                } else {
                    verdicts.join(", ")
                },
            ]
        }),
    );
    out.push('\n');
    out += &table(
        &["port", "class", ">priority", ">frames", ">bytes"],
        ports.iter().flat_map(|port| {
            port.traffic.iter().map(|entry| {
                vec![
                    port.name.clone(),
                    entry.class.to_owned(),
                    entry.priority.to_string(),
                    entry.frames.to_string(),
                    bytes(entry.bytes),
                ]
            })
        }),
    );
    out
}
