//! Soak tests, which take too long for the tests.

use std::path::Path;
use std::process::Command;

use anyhow::{bail, Context, Result};

use crate::build;

/// Theorem 1 by trial on `networks` random networks, and as many with faults. The sums go to `directory`.
///
/// # Errors
///
/// When a network does not keep the promise, or nothing can be built or written.
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

/// `networks` wide random networks under Levels, and as many under PFC with the Deadlock Breaker, judged while traffic
/// runs as well. Sums and what was found, shrunk to scenario files, go to `directory`.
///
/// # Errors
///
/// When a network does not keep the promise, or nothing can be built or written.
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

/// Real switches in namespaces under random faults for so many hours, with the express path or without. The summary goes to
/// `directory`.
///
/// # Errors
///
/// When a promise is not kept, or nothing can be built or written.
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
