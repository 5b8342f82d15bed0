//! Licences, sources and advisories of what is built in, by cargo-deny.

use anyhow::{bail, Context, Result};

use crate::build::{cargo, root};
use crate::tool;

const OFFLINE: [&str; 3] = ["bans", "licenses", "sources"];

/// Holds the dependencies against deny.toml; `advisories` needs a connection to RustSec's database.
///
/// # Errors
///
/// When cargo-deny is not there, or finds something.
pub fn run(advisories: bool) -> Result<()> {
    let version = &mut cargo();
    version.args(["deny", "--version"]);
    if let Some(remedy) = tool::remedy(version, "cargo install cargo-deny --locked") {
        bail!("this needs cargo-deny: `{remedy}`");
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
        bail!("cargo-deny found problems; the rules are in deny.toml");
    }
    Ok(())
}
