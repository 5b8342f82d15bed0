//! The book: its pictures, drawn from runs, and its pages, rendered by mdBook.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{bail, Context, Result};

use crate::{build, tool};

/// Draws the pictures of the book's concepts into `directory`.
///
/// # Errors
///
/// When the simulator cannot be built, or a run does not show the subject of its picture.
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

const MDBOOK: [&str; 5] = [
    "--version",
    "0.5.4",
    "--no-default-features",
    "--features",
    "search",
];

/// Renders the book into `directory`, and returns its first page.
///
/// # Errors
///
/// When mdBook is missing and cannot be installed, or it fails.
pub fn render(directory: &Path, no_install: bool) -> Result<PathBuf> {
    let mdbook = tool::of_registry("mdbook", &MDBOOK, no_install)?;
    let mut render = Command::new(mdbook);
    render
        .arg("build")
        .arg(build::root().join("docs"))
        .arg("--dest-dir")
        .arg(std::path::absolute(directory)?)
        // Every page shows the version of the book.
        .env(
            "MDBOOK_BOOK__TITLE",
            concat!("Weir ", env!("CARGO_PKG_VERSION")),
        );
    tool::run(&mut render)?;
    Ok(directory.join("index.html"))
}
