//! Tests the artefacts away from the build machine: clean Debians and an Ubuntu, an empty file system, another processor.

use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{bail, Context, Result};
use clap::ValueEnum;

use super::programs::{packaged_target, Platform, PLATFORMS};
use super::{deb, directory, VERSION};
use crate::vm::apt;
use crate::{build, tool};

/// Place of a test.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Place {
    /// Debian 12: the package, the book's ten minutes, and the archive.
    Bookworm,
    /// Debian 13: the same.
    Trixie,
    /// Ubuntu 24.04: the same.
    Noble,
    /// A file system with nothing but the archive.
    Nothing,
    /// The same for the other processor, run by qemu-user.
    Aarch64,
}

/// Scenarios whose results must be identical on all machines, with their durations: policies, classes, patterns, faults,
/// transports, pictures with logarithms.
const FIGURES: [(&str, &str); 8] = [
    ("all-reduce", "5ms"),
    ("faults", "4s"),
    ("fat-tree", "2ms"),
    ("incast", "20ms"),
    ("ring4", "400ms"),
    ("ring4-ecmp", "400ms"),
    ("shared-buffers", "50ms"),
    ("workload", "2ms"),
];
/// Environment variables for Ubuntu's archive and its keys, which no package of Debian 12 has.
const UBUNTU: [&str; 2] = ["WEIR_UBUNTU_ARCHIVE", "WEIR_UBUNTU_KEYRING"];
/// Chapter with the commands of a new user.
const CHAPTER: &str = "docs/src/start/ten-minutes.md";

/// Tests the artefacts in target/dist in `places`, one after the other; rebuilds the package.
///
/// # Errors
///
/// The first missing artefact or failed test.
pub fn check(places: &[Place], no_install: bool) -> Result<()> {
    let package = deb::package(no_install)?;
    let native = Platform::native()?;
    let work = directory().join("elsewhere");
    std::fs::create_dir_all(&work).with_context(|| work.display().to_string())?;
    figures(&work)?;
    for &place in places {
        let platform = match place {
            Place::Aarch64 => emulated()?,
            _ => native,
        };
        let archive = directory().join(format!("weir-{VERSION}-{}.tar.gz", platform.name()));
        if !archive.is_file() {
            bail!(
                "{} is not there; first `cargo xtask dist --all`",
                archive.display()
            );
        }
        let mirror = match place {
            Place::Noble => ubuntu(&work)?,
            _ => apt::configured_archive()?,
        };
        let name = place
            .to_possible_value()
            .context("a place without a name")?;
        let mut command = Command::new("unshare");
        command
            .args(["--mount", "--propagation", "private"])
            .arg(build::root().join("packaging/elsewhere.sh"))
            .arg(&work)
            .arg(name.get_name())
            .args([&package, &archive, &build::root().join(CHAPTER)])
            .arg(mirror);
        tool::run(&mut command)?;
        // As large as a distribution.
        let root = work.join(name.get_name());
        std::fs::remove_dir_all(&root).with_context(|| root.display().to_string())?;
    }
    Ok(())
}

/// Returns the processor that this machine has to emulate.
fn emulated() -> Result<Platform> {
    let other = PLATFORMS.into_iter().find(|platform| !platform.is_native());
    let there = Command::new("qemu-aarch64-static")
        .arg("--version")
        .stdout(Stdio::null())
        .status();
    if !there.is_ok_and(|status| status.success()) {
        bail!(
            "programs for arm64 are run by qemu-aarch64-static: `apt-get install qemu-user-static`"
        );
    }
    other.context("no other processor is supported")
}

/// Compares the results of the archive's programs with this machine's programs.
fn figures(work: &Path) -> Result<()> {
    let figures = work.join("figures");
    std::fs::create_dir_all(&figures).with_context(|| figures.display().to_string())?;
    let simulator = packaged_target().join("release/weir-sim");
    for (name, until) in FIGURES {
        let scenario = build::root().join(format!("scenarios/{name}.toml"));
        let file = figures.join(format!("{name}@{until}.json"));
        let mut command = Command::new(&simulator);
        command.arg("run").arg(&scenario);
        command
            .args(["--quiet", "--until", until, "--json"])
            .arg(&file);
        // The scenario's expectations for its whole duration need not hold so early.
        command.stdout(Stdio::null());
        command
            .status()
            .with_context(|| simulator.display().to_string())?;
        if !file.is_file() {
            bail!("{command:?} wrote no results");
        }
    }
    Ok(())
}

/// Returns Ubuntu's archive, after writing its keys to `work`: apt of a Debian has neither.
fn ubuntu(work: &Path) -> Result<String> {
    let [archive, keyring] = UBUNTU.map(|name| {
        let value = std::env::var(name).ok();
        value.with_context(|| {
            format!(
                "set {name}: {} name Ubuntu's archive and the file of its keys",
                UBUNTU.join(" and ")
            )
        })
    });
    let keys = work.join("ubuntu.gpg");
    std::fs::copy(keyring?, &keys).with_context(|| keys.display().to_string())?;
    archive
}
