//! The artefacts where they were not built: clean Debians and an Ubuntu, an empty file system, another processor.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{bail, Context, Result};
use clap::ValueEnum;

use super::programs::{packaged_target, Platform, PLATFORMS};
use super::{deb, directory, sha256, VERSION};
use crate::{build, tool};

/// Where they are tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Place {
    /// Debian 12: the package, the book's ten minutes, the archive.
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

/// Scenarios whose results must be the same bytes everywhere, and until when: policies, classes, patterns, faults, transports,
/// what is drawn with logarithms.
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
/// Debian 12 does not have Ubuntu's keys.
const KEYS: &str = "http://archive.ubuntu.com/ubuntu/pool/main/u/ubuntu-keyring/ubuntu-keyring_2023.11.28.1_all.deb";
const KEYS_SHA256: &str = "36de43b15853ccae0028e9a767613770c704833f82586f28eb262f0311adb8a8";
const KEYS_WITHIN: &str = "usr/share/keyrings/ubuntu-archive-keyring.gpg";
/// The commands of a new user.
const CHAPTER: &str = "docs/src/start/ten-minutes.md";

/// Tries what target/dist has in `places`, one after the other; the package is built anew.
///
/// # Errors
///
/// What is missing, and the first thing that is not as it should be.
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
        if place == Place::Noble {
            keys(&work)?;
        }
        let name = place.to_possible_value().context("a place has a name")?;
        let mut command = Command::new("unshare");
        command
            .args(["--mount", "--propagation", "private"])
            .arg(build::root().join("packaging/elsewhere.sh"))
            .arg(&work)
            .arg(name.get_name())
            .args([&package, &archive, &build::root().join(CHAPTER)]);
        tool::run(&mut command)?;
        // As large as a distribution.
        let root = work.join(name.get_name());
        std::fs::remove_dir_all(&root).with_context(|| root.display().to_string())?;
    }
    Ok(())
}

/// The processor that this machine does not have.
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
    other.context("there is no other processor")
}

/// What this machine's programs compute.
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
        // What the scenario expects of its whole duration it need not do so early.
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

fn keys(work: &Path) -> Result<()> {
    let file: PathBuf = work.join("ubuntu-keyring.deb");
    tool::run(
        Command::new("curl")
            .args([
                "--fail",
                "--silent",
                "--show-error",
                "--location",
                "--max-time",
                "60",
            ])
            .arg("--output")
            .arg(&file)
            .arg(KEYS),
    )?;
    let bytes = std::fs::read(&file).with_context(|| file.display().to_string())?;
    let found = sha256(&bytes);
    if found != KEYS_SHA256 {
        bail!("{KEYS} is not what it was: its SHA-256 is {found}, and should be {KEYS_SHA256}");
    }
    let within = work.join("ubuntu-keyring");
    tool::run(
        Command::new("dpkg-deb")
            .arg("--extract")
            .args([&file, &within]),
    )?;
    let keys = work.join("ubuntu.gpg");
    std::fs::copy(within.join(KEYS_WITHIN), &keys).with_context(|| keys.display().to_string())?;
    Ok(())
}
