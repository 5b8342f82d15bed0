//! Test dependencies from the Python Package Index, in an environment below `target`.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{bail, Context, Result};

use crate::tool::run;

/// Marker in the environment after a failed download: tests that need it report it and pass, and the continuous integration
/// prints it at its end.
const NOT_REACHED: &str = "not-reached";
/// Versions and digests.
const REQUIREMENTS: &str = include_str!("../../../tests/e2e/python/requirements.txt");

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// Creates the environment, or recreates it for other versions. Returns `false`, after a message, if the index was
/// unreachable.
///
/// # Errors
///
/// When it is missing or outdated with `no_install`, or cannot be created.
pub fn set_up(no_install: bool) -> Result<bool> {
    let environment = repository().join("target/python");
    let installed = environment.join("requirements.txt");
    if std::fs::read_to_string(&installed).is_ok_and(|text| text == REQUIREMENTS) {
        return Ok(true);
    }
    let requirements = "tests/e2e/python/requirements.txt";
    if no_install {
        bail!("not installed because of --no-install: target/python, with {requirements}");
    }
    println!("installing with pip into target/python: {requirements}");
    // The system's Python, which lasts as long as the system.
    run(Command::new("/usr/bin/python3")
        .args(["-m", "venv", "--clear"])
        .arg(&environment))?;
    let installing = run(Command::new(environment.join("bin/pip"))
        .current_dir(repository())
        .args(["install", "--quiet", "--disable-pip-version-check"])
        .args([
            "--require-hashes",
            "--only-binary",
            ":all:",
            "--requirement",
        ])
        .arg(requirements));
    if let Err(error) = installing {
        println!(
            "NOT INSTALLED: {requirements}, which has digests for Python 3.11 to 3.13: {error}"
        );
        std::fs::write(environment.join(NOT_REACHED), error.to_string())
            .context("target/python")?;
        return Ok(false);
    }
    std::fs::write(&installed, REQUIREMENTS).context("target/python/requirements.txt")?;
    Ok(true)
}
