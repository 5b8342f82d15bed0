//! Files that are written, and what is said meanwhile.

use std::path::Path;

use anyhow::{Context, Result};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// Writes `text` to `path`, and makes its directory; `-` is standard output.
pub fn write(path: &Path, text: &str) -> Result<()> {
    if path.as_os_str() == "-" {
        println!("{text}");
        return Ok(());
    }
    if let Some(directory) = path.parent() {
        std::fs::create_dir_all(directory).with_context(|| directory.display().to_string())?;
    }
    std::fs::write(path, text).with_context(|| path.display().to_string())
}

/// A bar over `length` steps on standard error; nothing is drawn where that is no terminal.
pub fn bar(length: u64, quiet: bool) -> ProgressBar {
    let target = if quiet {
        ProgressDrawTarget::hidden()
    } else {
        ProgressDrawTarget::stderr_with_hz(5)
    };
    let style =
        ProgressStyle::with_template("{bar:30} {percent:>3} % {msg} {elapsed} of about {duration}");
    ProgressBar::with_draw_target(Some(length), target)
        .with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
}
