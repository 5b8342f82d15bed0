//! Checks for the privileges that network namespaces, XDP and mounts need.

use anyhow::{bail, Context, Result};

/// CAP_NET_ADMIN and CAP_SYS_ADMIN, by bit number (linux/capability.h).
const NEEDED: u64 = 1 << 12 | 1 << 21;

/// Fails, with the command to use instead, unless this process may create network namespaces.
pub fn require(command: &str) -> Result<()> {
    if effective_capabilities()? & NEEDED == NEEDED {
        return Ok(());
    }
    bail!(
        "`{command}` makes network namespaces, attaches XDP programs and mounts BPF file systems: that \
         needs root (CAP_NET_ADMIN and CAP_SYS_ADMIN). Try:\n  sudo -E env PATH=\"$PATH\" {command}"
    )
}

pub fn is_root() -> bool {
    status_field("Uid:")
        .ok()
        .and_then(|line| {
            line.split_whitespace()
                .nth(1)
                .map(|effective| effective == "0")
        })
        .unwrap_or(false)
}

fn effective_capabilities() -> Result<u64> {
    let text = status_field("CapEff:")?;
    u64::from_str_radix(text.trim(), 16).context("/proc/self/status: CapEff")
}

fn status_field(name: &str) -> Result<String> {
    let status = std::fs::read_to_string("/proc/self/status").context("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix(name));
    line.map(str::to_owned)
        .with_context(|| format!("/proc/self/status has no {name}"))
}
