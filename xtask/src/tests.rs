//! Every test of the workspace.

use std::ffi::OsString;
use std::process::Command;

use anyhow::{bail, Context, Result};

use crate::build::{cargo, root};
use crate::tool;

/// Runs all tests with cargo-nextest or cargo test, then the documentation tests.
///
/// # Errors
///
/// When one fails.
pub fn run(arguments: &[OsString]) -> Result<()> {
    let selected = !arguments.is_empty();
    // The namespace tests start daemons: build them first, from the same profile.
    check(
        cargo().args(["build", "--workspace", "--bins"]),
        "building the programs",
    )?;
    if tool::answers(cargo().args(["nextest", "--version"])) {
        let mut nextest = cargo();
        nextest.args(["nextest", "run"]);
        if !selected {
            nextest.arg("--workspace");
        }
        check(nextest.args(arguments), "the tests")?;
    } else {
        println!("cargo-nextest is not installed: using cargo test, one test at a time");
        let mut test = cargo();
        test.args(["test", "--no-fail-fast"]);
        if !selected {
            test.args(["--workspace", "--lib", "--bins", "--tests"]);
        }
        test.args(arguments);
        if !selected {
            test.args(["--", "--test-threads=1"]);
        }
        check(&mut test, "the tests")?;
    }
    if selected {
        return Ok(());
    }
    check(
        cargo().args(["test", "--workspace", "--doc"]),
        "the documentation tests",
    )
}

fn check(command: &mut Command, what: &str) -> Result<()> {
    let status = command
        .current_dir(root())
        .status()
        .context("starting cargo")?;
    if !status.success() {
        bail!("{what} failed ({status})");
    }
    Ok(())
}
