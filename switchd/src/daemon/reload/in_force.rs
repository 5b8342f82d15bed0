//! The configuration in force as text, for a keeper that has to start the same switch again.

use std::io;
use std::path::{Path, PathBuf};

use crate::os::run_dir;

/// The run directory's file.
const NAME: &str = "in-force.toml";

/// Writes `text` to a file in `run_dir` and returns its path.
///
/// # Errors
///
/// When the file cannot be written.
pub fn leave(run_dir: &Path, text: &str) -> io::Result<PathBuf> {
    let path = path(run_dir);
    run_dir::replace_file(&path, text.as_bytes())?;
    Ok(path)
}

/// Returns the path of the file.
pub fn path(run_dir: &Path) -> PathBuf {
    run_dir.join(NAME)
}
