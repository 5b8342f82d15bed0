//! The tests of the workspace, by tiers.

use std::ffi::OsString;
use std::path::Path;
use std::process::Command;

use anyhow::{bail, Context, Result};

use crate::build::{cargo, root};
use crate::times::Times;
use crate::tool;

/// Packages with nothing but tests in network namespaces. They are no default members, so that plain `cargo test` leaves
/// them out.
const NAMESPACES: [&str; 2] = ["weir-tests", "weir-bench"];

/// Which tests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Tier {
    /// All but those that need root: what plain `cargo test` runs.
    Unprivileged,
    /// Those that need root: real frames in network namespaces, BPF, capabilities.
    Namespaces,
}

/// Runs the tests of a tier, or of both, with cargo-nextest or cargo test; then, without the namespaces alone, the
/// documentation tests. `arguments` select tests of any tier; `times` gets a table of what they cost.
///
/// # Errors
///
/// When one fails.
pub fn run(tier: Option<Tier>, arguments: &[OsString], times: Option<&Path>) -> Result<()> {
    let mut measured = times
        .map(|_| Times::begin(&root().join("target")))
        .transpose()?;
    // The namespace tests start daemons: build them first, from the same profile. With the tests, since those choose
    // features of dependencies, and all would be compiled twice; without, where only some tests are wanted.
    let mut build = cargo();
    build.args(["build", "--workspace", "--bins"]);
    if arguments.is_empty() && tier.is_none() {
        build.arg("--tests");
    }
    check(&mut build, "building the programs")?;
    if let Some(measured) = &mut measured {
        measured.built();
    }
    if !tool::answers(cargo().args(["nextest", "--version"])) {
        if times.is_some() {
            bail!("--times needs cargo-nextest: cargo install cargo-nextest --locked");
        }
        println!("cargo-nextest is not installed: using cargo test, one test at a time");
        return with_cargo(tier, arguments);
    }
    let runs: &[&[&str]] = match tier {
        _ if !arguments.is_empty() => &[&["--run-ignored", "all"]],
        None => &[&["--workspace", "--run-ignored", "all"]],
        Some(Tier::Unprivileged) => &[&[]],
        Some(Tier::Namespaces) => &[
            &["--run-ignored", "only"],
            &["-p", NAMESPACES[0], "-p", NAMESPACES[1]],
        ],
    };
    for options in runs {
        let mut nextest = cargo();
        nextest.args(["nextest", "run"]).args(*options);
        if let Some(measured) = &measured {
            measured.measure(&mut nextest)?;
        }
        check(nextest.args(arguments), "the tests")?;
    }
    if let (Some(measured), Some(file)) = (measured, times) {
        measured.write(file)?;
    }
    match arguments.is_empty() && tier != Some(Tier::Namespaces) {
        true => documentation(),
        false => Ok(()),
    }
}

/// Runs the tests without cargo-nextest, and so without time limits.
fn with_cargo(tier: Option<Tier>, arguments: &[OsString]) -> Result<()> {
    const ONE_AT_A_TIME: &str = "--test-threads=1";
    let test = |options: &[&str], of_tests: &[&str]| {
        let mut test = cargo();
        test.args(["test", "--no-fail-fast"]).args(options);
        test.args(arguments);
        if !arguments.iter().any(|argument| argument == "--") {
            test.arg("--").args(of_tests);
        }
        check(&mut test, "the tests")
    };
    let all = ["--lib", "--bins", "--tests"];
    match tier {
        _ if !arguments.is_empty() => test(&[], &["--include-ignored", ONE_AT_A_TIME]),
        None => {
            test(
                &[&["--workspace"], &all[..]].concat(),
                &["--include-ignored", ONE_AT_A_TIME],
            )?;
            documentation()
        }
        Some(Tier::Unprivileged) => {
            test(&all, &[])?;
            documentation()
        }
        Some(Tier::Namespaces) => {
            test(&all, &["--ignored", ONE_AT_A_TIME])?;
            let [tests, bench] = NAMESPACES;
            test(&["-p", tests, "-p", bench], &[ONE_AT_A_TIME])
        }
    }
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
