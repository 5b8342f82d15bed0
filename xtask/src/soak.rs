//! What takes too long for the tests.

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
        bail!(
            "{} did not do what it promises: see above",
            failed.join(" and ")
        );
    }
    Ok(())
}
