//! The committed corpora: one archive for each fuzz target.

use std::path::{Path, PathBuf};
use std::process::Command;

/// Returns the inputs of `target`'s corpus, sorted by name. They are unpacked below `directory`, which must be the caller's
/// own.
///
/// # Panics
///
/// There is no corpus, tar is missing, or `directory` cannot be written.
pub fn inputs(target: &str, directory: &Path) -> Vec<Vec<u8>> {
    let archive = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../fuzz/corpus")
        .join(format!("{target}.tar"));
    let directory = directory.join("corpus").join(target);
    // Files of an earlier archive that are missing in this one are not inputs.
    if directory.exists() {
        std::fs::remove_dir_all(&directory)
            .unwrap_or_else(|error| panic!("{}: {error}", directory.display()));
    }
    std::fs::create_dir_all(&directory)
        .unwrap_or_else(|error| panic!("{}: {error}", directory.display()));
    let status = Command::new("tar")
        .args(["--extract", "--no-same-owner", "--file"])
        .arg(&archive)
        .arg("--directory")
        .arg(&directory)
        .status()
        .unwrap_or_else(|error| panic!("tar: {error}"));
    assert!(status.success(), "{}: {status}", archive.display());
    let mut files: Vec<PathBuf> = std::fs::read_dir(&directory)
        .unwrap_or_else(|error| panic!("{}: {error}", directory.display()))
        .map(|entry| entry.map(|entry| entry.path()))
        .collect::<Result<_, _>>()
        .unwrap_or_else(|error| panic!("{}: {error}", directory.display()));
    files.sort();
    assert!(!files.is_empty(), "{} has no inputs", archive.display());
    let read = |file: &PathBuf| {
        std::fs::read(file).unwrap_or_else(|error| panic!("{}: {error}", file.display()))
    };
    files.iter().map(read).collect()
}
