//! Soak tests, which take too long for the normal tests.

use std::path::Path;
use std::process::Command;

use anyhow::{bail, Context, Result};

use crate::build;

/// Tests Theorem 1 on `networks` random networks, and on as many with faults. Writes the totals to `directory`.
///
/// # Errors
///
/// When a network violates the theorem, or building or writing fails.
pub fn run(networks: u64, first: u64, directory: &Path) -> Result<()> {
    let simulator = build::simulator()?;
    std::fs::create_dir_all(directory).with_context(|| directory.display().to_string())?;
    let mut failed = Vec::new();
    for (name, faults) in [("theorem-1", None), ("theorem-1-faults", Some("--faults"))] {
        let sums = directory.join(format!("{name}.json"));
        let status = Command::new(&simulator)
            .args(["search", "--networks", &networks.to_string()])
            .args(["--first", &first.to_string()])
            .args(faults)
            .arg("--json")
            .arg(&sums)
            .status()
            .with_context(|| format!("starting {}", simulator.display()))?;
        if !status.success() {
            failed.push(name);
        }
        println!("sums: {}", sums.display());
    }
    if !failed.is_empty() {
        bail!("{} failed: see above", failed.join(" and "));
    }
    Ok(())
}

/// Tests a wide range of `networks` random networks under Levels, and as many under PFC with the Deadlock Breaker, also
/// while traffic runs. Writes totals and findings, reduced to scenario files, to `directory`.
///
/// # Errors
///
/// When a network violates its guarantees, or building or writing fails.
pub fn wide(networks: u64, first: u64, directory: &Path) -> Result<()> {
    let simulator = build::simulator()?;
    std::fs::create_dir_all(directory).with_context(|| directory.display().to_string())?;
    let mut failed = Vec::new();
    for mode in ["level", "pfc-breaker"] {
        let sums = directory.join(format!("wide-{mode}.json"));
        let status = Command::new(&simulator)
            .args(["search", "--wide", "--mode", mode])
            .args(["--networks", &networks.to_string()])
            .args(["--first", &first.to_string()])
            .arg("--findings")
            .arg(directory.join("findings"))
            .arg("--json")
            .arg(&sums)
            .status()
            .with_context(|| format!("starting {}", simulator.display()))?;
        if !status.success() {
            failed.push(mode);
        }
        println!("sums: {}", sums.display());
    }
    if !failed.is_empty() {
        bail!("{} failed: see above", failed.join(" and "));
    }
    Ok(())
}

/// Runs real switches in namespaces under random faults for `hours` hours, with or without the express path. Writes the
/// summary to `directory`.
///
/// # Errors
///
/// When a guarantee is violated, or building or writing fails.
pub fn in_namespaces(hours: f64, express: bool, directory: &Path) -> Result<()> {
    let binaries = build::soak()?;
    std::fs::create_dir_all(directory).with_context(|| directory.display().to_string())?;
    let name = if express { "express" } else { "namespaces" };
    let summary = directory.join(format!("{name}.json"));
    let lab = binaries.join("weir-lab");
    let status = Command::new(&lab)
        .args(["soak", "--hours", &hours.to_string(), "--json"])
        .arg(&summary)
        .args(express.then_some("--express"))
        .status()
        .with_context(|| format!("starting {}", lab.display()))?;
    println!("summary: {}", summary.display());
    if !status.success() {
        bail!("some checks failed: see above");
    }
    Ok(())
}
