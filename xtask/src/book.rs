//! The book: its pictures, drawn from runs, and its pages, rendered by mdBook.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{bail, Context, Result};

use crate::{build, tool};

/// Draws the pictures of the book's concepts into `directory`.
///
/// # Errors
///
/// When the simulator cannot be built, or a run does not show what its picture is about.
pub fn figures(directory: &Path) -> Result<()> {
    let simulator = build::simulator()?;
    let status = Command::new(&simulator)
        .args(["reproduce", "concepts", "--out"])
        .arg(directory)
        .status()
        .with_context(|| format!("starting {}", simulator.display()))?;
    if !status.success() {
        bail!("the pictures were not drawn: see above");
    }
    Ok(())
}

/// Renders the book, and returns its first page.
///
/// # Errors
///
/// When mdBook is not there, with how to get it, or does not render the book.
pub fn render() -> Result<PathBuf> {
    if let Some(remedy) = tool::remedy(
        Command::new("mdbook").arg("--version"),
        "cargo install mdbook --locked --version '^0.4'",
    ) {
        bail!("mdbook is not in PATH. Install it (takes some minutes):\n  {remedy}");
    }
    let directory = build::target_directory().join("book");
    let status = Command::new("mdbook")
        .arg("build")
        .arg(build::root().join("docs"))
        .arg("--dest-dir")
        .arg(std::path::absolute(&directory)?)
        .status()
        .context("starting mdbook")?;
    if !status.success() {
        bail!("mdbook failed ({status})");
    }
    Ok(directory.join("index.html"))
}
