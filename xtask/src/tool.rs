//! External tools, which may be missing.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use anyhow::{bail, Context, Result};

use crate::build;

/// Returns true if a tool is installed. `command` prints its version, which is not shown.
pub fn answers(command: &mut Command) -> bool {
    command
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}

/// Returns `remedy` for a tool that does not [answer](answers); `None` for an installed one.
pub fn remedy<'a>(command: &mut Command, remedy: &'a str) -> Option<&'a str> {
    (!answers(command)).then_some(remedy)
}

/// Returns a program installed from cargo's registry below `target/tools`. If it is missing, it is installed with these
/// `options` of `cargo install`, unless `no_install`.
pub fn of_registry(name: &str, options: &[&str], no_install: bool) -> Result<PathBuf> {
    let tools = build::root().join("target/tools");
    let program = tools.join("bin").join(name);
    if program.is_file() {
        return Ok(program);
    }
    let mut install = build::cargo();
    install.args(["install", name, "--locked"]);
    install.args(options).arg("--root").arg(&tools);
    if no_install {
        bail!(
            "{} is missing and not installed because of --no-install: {install:?}",
            program.display()
        );
    }
    run(&mut install)?;
    Ok(program)
}

/// Runs a command, with its output shown, to its end.
pub fn run(command: &mut Command) -> Result<()> {
    let status = command
        .status()
        .with_context(|| format!("starting {command:?}"))?;
    if !status.success() {
        bail!("{command:?} failed ({status})");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_has_a_remedy_and_what_is_there_has_none() {
        let there = remedy(Command::new("true").arg("--version"), "install it");
        assert_eq!(there, None);
        for missing in ["weir-no-such-tool", "false"] {
            let remedy = remedy(&mut Command::new(missing), "install it");
            assert_eq!(remedy, Some("install it"), "{missing}");
        }
    }
}
