//! The tests of the workspace, by tiers.

use std::ffi::OsString;
use std::num::NonZero;
use std::path::Path;
use std::process::Command;
use std::thread;

use anyhow::{bail, Context, Result};

use crate::build::{cargo, root};
use crate::times::Times;
use crate::tool;

/// cargo-nextest's variable for the number of its threads.
const THREADS: &str = "NEXTEST_TEST_THREADS";
/// Tests that compute take as many threads (`.config/nextest.toml`).
const THREADS_PER_PROCESSOR: usize = 2;

/// Tier of tests; `.config/nextest.toml` has a profile for each, and its reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tier {
    /// Tests that show a newcomer that the build is good.
    First,
    /// All tests, which protect a release.
    All,
}

/// Runs the tests of a tier with cargo-nextest, or all tests with cargo test, and then the documentation tests. `arguments`
/// select tests of any tier; a table of their costs is written to `times`.
pub fn run(tier: Tier, arguments: &[OsString], times: Option<&Path>) -> Result<()> {
    let mut measured = times.map(Times::begin).transpose()?;
    // The namespace tests start daemons, so these are built first, in the same profile. Tests are built as well, since they
    // select features of dependencies that would otherwise be compiled twice; not if only some tests are selected.
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
        if std::env::var_os(THREADS).is_none() {
            let processors = thread::available_parallelism().map_or(1, NonZero::get);
            nextest.env(THREADS, (THREADS_PER_PROCESSOR * processors).to_string());
        }
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

/// Runs the tests without cargo-nextest, and thus without time limits and tiers.
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
