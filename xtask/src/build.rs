//! Builds what a lab runs, and becomes the lab; builds and runs the benchmark.

use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{bail, Context, Error, Result};

/// The repository.
pub fn root() -> PathBuf {
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR"));
    manifest.parent().unwrap_or(manifest).to_owned()
}

/// The cargo that runs us.
pub fn cargo() -> Command {
    Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
}

/// Builds the switch, the lab and its endpoint, optimised; returns where they are.
///
/// # Errors
///
/// When they do not compile.
pub fn release() -> Result<PathBuf> {
    let status = cargo()
        .args([
            "build",
            "--release",
            "--package",
            "weir-switchd",
            "--package",
            "weir-lab",
        ])
        .arg("--manifest-path")
        .arg(root().join("Cargo.toml"))
        .status()
        .context("starting cargo")?;
    if !status.success() {
        bail!("the build failed: see above");
    }
    Ok(target_directory().join("release"))
}

/// Builds and runs the core's benchmark.
///
/// # Errors
///
/// When it does not compile or fails.
pub fn bench() -> Result<()> {
    let status = cargo()
        .args([
            "bench",
            "--package",
            "weir-core",
            "--bench",
            "cost_of_levels",
        ])
        .arg("--manifest-path")
        .arg(root().join("Cargo.toml"))
        .status()
        .context("starting cargo")?;
    if !status.success() {
        bail!("the benchmark failed: see above");
    }
    Ok(())
}

/// Builds the simulator, optimised; returns where it is.
///
/// # Errors
///
/// When it does not compile.
pub fn simulator() -> Result<PathBuf> {
    let status = cargo()
        .args(["build", "--release", "--package", "weir-sim"])
        .arg("--manifest-path")
        .arg(root().join("Cargo.toml"))
        .status()
        .context("starting cargo")?;
    if !status.success() {
        bail!("the build failed: see above");
    }
    Ok(target_directory().join("release/weir-sim"))
}

/// Replaces this process by the lab, so that signals reach it and its exit status is ours. Returns only
/// what went wrong.
pub fn become_lab(binaries: &Path, arguments: &[OsString]) -> Error {
    replace_by(&binaries.join("weir-lab"), arguments)
}

/// Replaces this process by `program`. Returns only what went wrong.
pub fn replace_by(program: &Path, arguments: &[OsString]) -> Error {
    let error = Command::new(program).args(arguments).exec();
    Error::new(error).context(format!("starting {}", program.display()))
}

fn target_directory() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from)
}
