//! Output files and progress messages.

use std::path::Path;

use anyhow::{Context, Result};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// Writes `text` to `path`, creating its directory; `-` is standard output.
pub fn write(path: &Path, text: &str) -> Result<()> {
    if path.as_os_str() == "-" {
        weir_output::sayln!("{text}")?;
        return Ok(());
    }
    write_bytes(path, text.as_bytes())
}

/// Writes `bytes` to `path`, creating its directory.
pub fn write_bytes(path: &Path, bytes: &[u8]) -> Result<()> {
    if let Some(directory) = path.parent() {
        std::fs::create_dir_all(directory).with_context(|| directory.display().to_string())?;
    }
    std::fs::write(path, bytes).with_context(|| path.display().to_string())
}

/// Returns a bar of `length` steps on standard error; hidden if that is no terminal.
pub fn bar(length: u64, quiet: bool) -> ProgressBar {
    bar_of(
        length,
        quiet,
        "{bar:30} {percent:>3} % {msg} {elapsed} of about {duration}",
    )
}

/// Returns a bar with lines below it.
pub fn bar_with_lines(length: u64) -> ProgressBar {
    bar_of(
        length,
        false,
        "{bar:30} {percent:>3} % {elapsed} of about {duration}{msg}",
    )
}

pub fn bar_of_runs(length: u64, quiet: bool) -> ProgressBar {
    bar_of(
        length,
        quiet,
        "{bar:30} {pos} of {len} runs{msg}, {elapsed}, about {eta} left",
    )
}

fn bar_of(length: u64, quiet: bool, template: &str) -> ProgressBar {
    let target = if quiet {
        ProgressDrawTarget::hidden()
    } else {
        ProgressDrawTarget::stderr_with_hz(5)
    };
    let style = ProgressStyle::with_template(template);
    ProgressBar::with_draw_target(Some(length), target)
        .with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
}
