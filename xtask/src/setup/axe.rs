//! axe-core, which checks the live page for accessibility: a file from the npm registry, below `target`.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{bail, Context, Result};
use flate2::read::GzDecoder;
use sha2::{Digest, Sha256};

use crate::tool::run;

/// The release's name in npm, and the file that npm writes.
const RELEASE: &str = "axe-core@4.14.1";
const ARCHIVE: &str = "axe-core-4.14.1.tgz";
const ARCHIVE_SHA256: &str = "e6b0ce02b84d892e2e33e403485e7f3d6c29e2be6df65daf44d89ba564139745";
/// Path of the required file in the package.
const SCRIPT: &str = "package/axe.min.js";
/// Checksum of that file.
const SCRIPT_SHA256: &str = "29348999450cdf2849a8e70b7912fc2da85a849da39c0d0d5394f51d4a9ed95c";
const MILLISECONDS_MAX: &str = "120000";
/// Marker next to it after a failed download: the page's test reports it, and runs only its own checks.
const NOT_REACHED: &str = "not-reached";

fn directory() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/axe")
}

/// Fetches the script, unless the right release is present. Returns `false`, after a message, if the registry was
/// unreachable.
///
/// # Errors
///
/// When it is missing with `no_install`, the checksum differs, or it cannot be written.
pub fn set_up(no_install: bool) -> Result<bool> {
    let script = directory().join("axe.min.js");
    if std::fs::read(&script).is_ok_and(|bytes| digest(&bytes) == SCRIPT_SHA256) {
        return Ok(true);
    }
    if no_install {
        bail!("not fetched because of --no-install: target/axe/axe.min.js, of {RELEASE}");
    }
    std::fs::create_dir_all(directory()).context("target/axe")?;
    println!("fetching into target/axe: {RELEASE}");
    let archive = directory().join(ARCHIVE);
    let fetched = run(Command::new("npm")
        .args(["pack", "--silent", RELEASE])
        .args(["--fetch-timeout", MILLISECONDS_MAX, "--pack-destination"])
        .arg(directory()));
    if let Err(error) = fetched {
        println!("NOT INSTALLED: axe-core: {error}");
        std::fs::write(directory().join(NOT_REACHED), error.to_string()).context("target/axe")?;
        return Ok(false);
    }
    let bytes = std::fs::read(&archive).context("target/axe: the archive")?;
    std::fs::write(&script, script_of(&bytes)?).context("target/axe/axe.min.js")?;
    std::fs::remove_file(&archive).context("target/axe: the archive")?;
    // Left by an earlier attempt.
    let _ = std::fs::remove_file(directory().join(NOT_REACHED));
    Ok(true)
}

/// Extracts the script from the archive `bytes`.
fn script_of(bytes: &[u8]) -> Result<Vec<u8>> {
    let found = digest(bytes);
    if found != ARCHIVE_SHA256 {
        bail!("{ARCHIVE} has changed: SHA-256 {found} instead of {ARCHIVE_SHA256}");
    }
    let mut archive = tar::Archive::new(GzDecoder::new(bytes));
    for entry in archive.entries().context("axe-core's archive")? {
        let mut entry = entry.context("axe-core's archive")?;
        let is_it = *entry.path().context("axe-core's archive")? == *Path::new(SCRIPT);
        if is_it {
            let mut script = Vec::new();
            entry.read_to_end(&mut script).context(SCRIPT)?;
            return Ok(script);
        }
    }
    bail!("{ARCHIVE} has no {SCRIPT}")
}

fn digest(bytes: &[u8]) -> String {
    let digest = Sha256::digest(bytes);
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_the_pinned_archive_is_refused() {
        let error = script_of(b"something else").unwrap_err().to_string();
        assert!(error.contains(ARCHIVE_SHA256), "{error}");
    }
}
