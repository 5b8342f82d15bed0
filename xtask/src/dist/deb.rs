//! Builds the Debian package, and tests it in a clean Debian.

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{bail, Context, Result};

use super::{directory, generate, generate_programs, output, programs, source_time, VERSION};
use crate::vm::apt;
use crate::{build, tool};

/// Debian revision of this version.
const REVISION: &str = "1";

/// Builds the package; returns its path. With `no_install`, cargo-deb must be installed.
pub fn package(no_install: bool) -> Result<PathBuf> {
    package_at(no_install, source_time()?)
}

/// Packs the programs [of the tests](build::of_tests), which are in `binaries`, for guests. The package's book is the README
/// only.
pub fn package_of_tests(binaries: &Path) -> Result<PathBuf> {
    let cargo_deb = cargo_deb(false)?;
    let directory = directory();
    let book = directory.join("book");
    std::fs::create_dir_all(&book).with_context(|| book.display().to_string())?;
    std::fs::copy(build::root().join("README.md"), book.join("README.md")).context("the README")?;
    generate_programs(binaries, &directory)?;
    // cargo-deb packs programs of a release only.
    let built = directory.join("of-tests");
    let release = built.join("release");
    std::fs::create_dir_all(&release).with_context(|| release.display().to_string())?;
    for program in build::PROGRAMS {
        let link = release.join(program);
        if link.is_symlink() {
            std::fs::remove_file(&link).with_context(|| link.display().to_string())?;
        }
        symlink(binaries.join(program), &link).with_context(|| link.display().to_string())?;
    }
    let version = version(&format!("{REVISION}+test"));
    deb(&cargo_deb, &version, source_time()?, &built, &["--fast"])
}

/// Builds the package with files dated `time`.
pub(super) fn package_at(no_install: bool, time: u64) -> Result<PathBuf> {
    // From the Debian package dpkg-dev; without it the package would lack its dependencies.
    output(Command::new("dpkg-shlibdeps").arg("--version"))?;
    let cargo_deb = cargo_deb(no_install)?;
    let binaries = programs::packaged(time)?;
    generate(&binaries, &directory(), no_install)?;
    let package = deb(
        &cargo_deb,
        &version(REVISION),
        time,
        &programs::packaged_target(),
        &[],
    )?;
    println!("{}", package.display());
    Ok(package)
}

/// Builds the package and a higher version of it, and lets packaging/check.sh install, run, upgrade and purge them.
pub fn check(no_install: bool) -> Result<()> {
    let old = package(no_install)?;
    let new = deb(
        &cargo_deb(no_install)?,
        &version(&format!("{REVISION}+upgrade")),
        source_time()?,
        &programs::packaged_target(),
        &[],
    )?;
    // debootstrap requires an empty directory; mounts of a killed check ended with it.
    let root = directory().join("root");
    if root.exists() {
        std::fs::remove_dir_all(&root).with_context(|| root.display().to_string())?;
    }
    let mut command = Command::new("unshare");
    command
        .args(["--mount", "--propagation", "private"])
        .arg(build::root().join("packaging/check.sh"))
        .args([&root, &old, &new])
        .arg(apt::configured_archive()?);
    tool::run(&mut command)?;
    std::fs::remove_file(new)?;
    std::fs::remove_dir_all(&root).with_context(|| root.display().to_string())
}

fn version(revision: &str) -> String {
    format!("{}-{revision}", VERSION)
}

/// Packs the programs in the target directory `built`, with further `options` of cargo-deb.
fn deb(
    cargo_deb: &Path,
    version: &str,
    time: u64,
    built: &Path,
    options: &[&str],
) -> Result<PathBuf> {
    let mut command = Command::new(cargo_deb);
    command
        .arg("--manifest-path")
        .arg(build::root().join("switchd/Cargo.toml"))
        .args(["--no-build", "--locked", "--deb-version", version])
        .args(options)
        .arg("--output")
        .arg(directory())
        .env("CARGO_TARGET_DIR", built)
        .env("SOURCE_DATE_EPOCH", time.to_string());
    let told = String::from_utf8(output(&mut command)?)?;
    let package = told.lines().last().unwrap_or_default();
    if package.is_empty() {
        bail!("cargo-deb does not report the path of the package");
    }
    Ok(package.into())
}

fn cargo_deb(no_install: bool) -> Result<PathBuf> {
    // Unoptimised: it takes longer to compile than to run.
    tool::of_registry("cargo-deb", &["--debug"], no_install)
}
