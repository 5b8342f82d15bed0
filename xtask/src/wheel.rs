//! The wheel of the Python package, and its check in an environment with nothing else.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{bail, Context, Result};

use crate::tool::run;
use crate::{build, setup};

/// Text of `--help` after the options.
pub const HELP: &str = "\
Writes target/dist/weir-VERSION-cp311-abi3-….whl, for Python 3.11 and later, and
prints its path. maturin comes from the Python Package Index, into
target/wheel/builder. The wheel is then installed in a fresh environment,
target/wheel/check, where runs must give what weir-sim gives.";

/// The system's Python, which lasts as long as the system.
const PYTHON: &str = "/usr/bin/python3";
/// The package, from the root.
const PACKAGE: &str = "tools/python";

/// Builds the wheel and checks it.
///
/// # Errors
///
/// It cannot be built, or does not give what `weir-sim` gives.
pub fn run_wheel(no_install: bool) -> Result<()> {
    setup::run(no_install, setup::Purpose::Lab)?;
    let builder = builder(no_install)?;
    let wheels = build::root().join("target/dist");
    let before = newest(&wheels);
    // Cargo is that of this command.
    run(Command::new(builder.join("bin/maturin"))
        .current_dir(build::root().join(PACKAGE))
        .args(["build", "--release", "--locked", "--quiet", "--out"])
        .arg(&wheels)
        .arg("--interpreter")
        .arg(builder.join("bin/python")))?;
    let wheel = newest(&wheels).context("maturin has written no wheel")?;
    if before.is_some_and(|before| before == wheel) {
        bail!("maturin has not written {}", wheel.0.display());
    }
    check(&wheel.0)?;
    println!("{}", wheel.0.display());
    Ok(())
}

/// Returns an environment with maturin.
fn builder(no_install: bool) -> Result<PathBuf> {
    let builder = build::root().join("target/wheel/builder");
    let requirements = build::root().join(PACKAGE).join("requirements.txt");
    let wanted = std::fs::read_to_string(&requirements)
        .with_context(|| requirements.display().to_string())?;
    let installed = builder.join("requirements.txt");
    if std::fs::read_to_string(&installed).is_ok_and(|text| text == wanted) {
        return Ok(builder);
    }
    if no_install {
        bail!("not installed because of --no-install: maturin, into target/wheel/builder");
    }
    environment(&builder)?;
    run(Command::new(builder.join("bin/pip"))
        .args(["install", "--quiet", "--disable-pip-version-check"])
        .args(["--require-hashes", "--only-binary", ":all:"])
        .arg("--requirement")
        .arg(&requirements))?;
    std::fs::write(&installed, wanted).with_context(|| installed.display().to_string())?;
    Ok(builder)
}

/// Makes an empty environment.
fn environment(path: &Path) -> Result<()> {
    run(Command::new(PYTHON)
        .args(["-m", "venv", "--clear"])
        .arg(path))
}

/// Returns the newest wheel, and when it was written.
fn newest(wheels: &Path) -> Option<(PathBuf, std::time::SystemTime)> {
    let entries = std::fs::read_dir(wheels).ok()?;
    let files = entries.filter_map(|entry| {
        let path = entry.ok()?.path();
        let is_wheel = path.extension().is_some_and(|it| it == "whl");
        let written = path.metadata().ok()?.modified().ok()?;
        is_wheel.then_some((path, written))
    });
    files.max_by_key(|(_, written)| *written)
}

fn check(wheel: &Path) -> Result<()> {
    let program = build::simulator()?.with_file_name("weir-sim");
    let fresh = build::root().join("target/wheel/check");
    environment(&fresh)?;
    run(Command::new(fresh.join("bin/pip"))
        .args(["install", "--quiet", "--disable-pip-version-check"])
        .args(["--no-index", "--no-deps"])
        .arg(wheel))?;
    // Isolated: nothing of this directory or the user is imported.
    run(Command::new(fresh.join("bin/python"))
        .current_dir(build::root())
        .args(["-I", "-B"])
        .arg(build::root().join(PACKAGE).join("check.py"))
        .arg(program))
}
