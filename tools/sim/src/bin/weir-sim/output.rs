//! Output files and progress messages.

use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::path::Path;

use anyhow::{Context, Result};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use serde::Serialize;

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
    create_directory(path)?;
    std::fs::write(path, bytes).with_context(|| path.display().to_string())
}

/// Writes `value` as JSON to `path`, creating its directory; `-` is standard output. A file never is in memory as a whole.
pub fn write_json(path: &Path, value: &impl Serialize) -> Result<()> {
    if path.as_os_str() == "-" {
        return write(path, &serde_json::to_string_pretty(value)?);
    }
    create_directory(path)?;
    let written = File::create(path).and_then(|file| {
        let mut file = BufWriter::new(file);
        serde_json::to_writer_pretty(&mut file, value)?;
        file.flush()
    });
    written.with_context(|| path.display().to_string())
}

fn create_directory(path: &Path) -> Result<()> {
    match path.parent() {
        Some(directory) => {
            std::fs::create_dir_all(directory).with_context(|| directory.display().to_string())
        }
        None => Ok(()),
    }
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
