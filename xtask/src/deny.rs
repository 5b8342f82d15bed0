//! Checks licences, sources and advisories of dependencies, with cargo-deny.

use std::process::{Command, ExitCode};

use anyhow::{bail, Context, Result};

use crate::build::root;
use crate::tool;

const OFFLINE: [&str; 3] = ["bans", "licenses", "sources"];
/// Exit status when RustSec's database was unreachable, so advisories are unknown.
const NOT_REACHED: u8 = 3;

/// Checks the dependencies against deny.toml; `advisories` needs RustSec's database.
///
/// # Errors
///
/// When cargo-deny is missing, or finds a violation.
pub fn run(advisories: bool) -> Result<ExitCode> {
    // Optimised, it takes minutes more to build than it ever runs.
    let program = tool::of_registry("cargo-deny", &["--debug"], false)?;
    let deny = || {
        let mut command = Command::new(&program);
        command.current_dir(root()).arg("--locked");
        command
    };
    let succeeds = |command: &mut Command| -> Result<bool> {
        let status = command.status().context("starting cargo-deny")?;
        Ok(status.success())
    };
    // Crates that were never downloaded, such as those of other systems, cannot be read offline.
    let connection = (!advisories).then_some("--offline");
    if !succeeds(deny().args(connection).arg("check").args(OFFLINE))? {
        bail!("cargo-deny found problems; the rules are in deny.toml");
    }
    if !advisories {
        return Ok(ExitCode::SUCCESS);
    }
    if !succeeds(deny().args(["fetch", "db"]))? {
        println!("NOT CHECKED: advisories, because RustSec's database cannot be reached");
        return Ok(ExitCode::from(NOT_REACHED));
    }
    if !succeeds(deny().args(["check", "advisories"]))? {
        bail!("dependencies have advisories; update them, or name each exception in deny.toml");
    }
    Ok(ExitCode::SUCCESS)
}
