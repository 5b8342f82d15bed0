//! The tests of the workspace, by tiers.

use std::ffi::OsString;
use std::path::Path;
use std::process::Command;

use anyhow::{bail, Context, Result};

use crate::build::{cargo, root};
use crate::times::Times;
use crate::tool;

/// Which tests; `.config/nextest.toml` has the profile of each tier, and its reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tier {
    /// Those that tell a newcomer that the build is good.
    First,
    /// All of them: those that protect a release.
    All,
}

/// Runs the tests of a tier with cargo-nextest, or all with cargo test, and then the documentation tests. `arguments` select tests of any
/// tier; `times` gets a table of their costs.
///
/// # Errors
///
/// When one fails.
pub fn run(tier: Tier, arguments: &[OsString], times: Option<&Path>) -> Result<()> {
    let mut measured = times.map(Times::begin).transpose()?;
    // The namespace tests start daemons: build them first, from the same profile. With the tests, since those choose
    // features of dependencies, and all would be compiled twice; without, where only some tests are wanted.
    let mut build = cargo();
    build.args(["build", "--workspace", "--bins"]);
    if arguments.is_empty() {
        build.arg("--tests");
    }
    check(&mut build, "building the programs")?;
    if let Some(measured) = &mut measured {
        measured.built();
    }
    if tool::answers(cargo().args(["nextest", "--version"])) {
        let mut nextest = cargo();
        nextest.args(["nextest", "run", "--run-ignored", "all"]);
        if tier == Tier::All || !arguments.is_empty() {
            nextest.args(["--profile", "all"]);
        }
        if arguments.is_empty() {
            nextest.arg("--workspace");
        }
        if let Some(measured) = &measured {
            measured.measure(&mut nextest)?;
        }
        check(nextest.args(arguments), "the tests")?;
    } else if times.is_some() {
        bail!("--times needs cargo-nextest: cargo install cargo-nextest --locked");
    } else {
        println!("cargo-nextest is not installed: using cargo test, all tests, one at a time");
        with_cargo(arguments)?;
    }
    if let (Some(measured), Some(file)) = (measured, times) {
        measured.write(file)?;
    }
    match arguments.is_empty() {
        true => documentation(),
        false => Ok(()),
    }
}

/// The same without cargo-nextest, which knows no time limits and no tiers.
fn with_cargo(arguments: &[OsString]) -> Result<()> {
    let mut test = cargo();
    test.args(["test", "--no-fail-fast"]);
    if arguments.is_empty() {
        test.args(["--workspace", "--lib", "--bins", "--tests"]);
    }
    test.args(arguments);
    if !arguments.iter().any(|argument| argument == "--") {
        test.args(["--", "--include-ignored", "--test-threads=1"]);
    }
    check(&mut test, "the tests")
}

fn documentation() -> Result<()> {
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
