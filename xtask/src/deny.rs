//! Licences, sources and advisories of what is built in, by cargo-deny.

use std::process::{Command, Stdio};

use anyhow::{bail, Context, Result};

use crate::build::{cargo, root};

/// What is checked without a connection.
const OFFLINE: [&str; 3] = ["bans", "licenses", "sources"];

/// Holds the dependencies against deny.toml; `advisories` needs a connection to RustSec's database.
///
/// # Errors
///
/// When cargo-deny is not there, or finds something.
pub fn run(advisories: bool) -> Result<()> {
    let answers = Command::new("cargo")
        .args(["deny", "--version"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success());
    if !answers {
        bail!("this needs cargo-deny: `cargo install cargo-deny --locked`");
    }
    let mut command = cargo();
    command.current_dir(root()).args(["deny", "--locked"]);
    if !advisories {
        command.arg("--offline");
    }
    command.arg("check").args(OFFLINE);
    if advisories {
        command.arg("advisories");
    }
    let status = command.status().context("starting cargo deny")?;
    if !status.success() {
        bail!("cargo-deny has found something; deny.toml says what is allowed");
    }
    Ok(())
}
