//! Artefacts to install: the Debian package, the archive of static programs, the container image.
//!
//! Design: docs/src/internals/design/packaging.md.

mod archive;
mod deb;
mod elsewhere;
pub mod image;
mod manual;
mod programs;
mod sbom;
mod tree;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{bail, Context, Result};
use clap::{Args, ValueEnum};
use sha2::{Digest, Sha256};

use crate::tool;
use crate::{book, build, root as user, setup};

pub use deb::package_of_tests;
use elsewhere::Place;
use programs::Platform;

const VERSION: &str = env!("CARGO_PKG_VERSION");
/// Text of `--help` after the options.
pub const HELP: &str = "\
Writes target/dist/weir_VERSION_ARCHITECTURE.deb and prints its path. Installs
cargo-deb and mdBook under target/tools if they are missing.

--check (needs root) installs the package in a clean Debian 12 made by
debootstrap, runs the daemon from the installed files, kills and restarts it,
upgrades, removes and purges the package, and prints the results.

--all also writes, for x86-64 and arm64, free of this machine's paths and times,
an archive of static programs (.tar.gz), the image of a container (.oci.tar;
`cargo xtask image` alone), the bill of materials (.cdx.json), and SHA256SUMS of
all. --platform leaves one of the two out; the package is this machine's.

--elsewhere (needs root) takes the package and the archives that --all has left to
clean Debians 12 and 13 and an Ubuntu 24.04, an empty file system, and the other
processor in an emulator. There every program runs, the simulator computes the
same bytes, a switch forwards, and the book's ten minutes are gone through.
Debian's archive is the one that apt is configured with. For Ubuntu, set
WEIR_UBUNTU_ARCHIVE to its URL and WEIR_UBUNTU_KEYRING to the file of its keys.

Examples:
  cargo xtask dist
  cargo xtask dist --all
  cargo xtask dist --all --platform x86_64
  cargo xtask dist --check
  cargo xtask dist --elsewhere --place trixie --place aarch64";
/// Checksums of all artefacts, in the format of sha256sum(1).
const SUMS: &str = "SHA256SUMS";

#[derive(Debug, Args)]
pub struct Arguments {
    #[command(flatten)]
    setup: crate::SetupArguments,
    /// Test the package in a clean Debian.
    #[arg(long, conflicts_with = "all")]
    check: bool,
    /// Build the archives of static programs, images, bills of materials, and checksums.
    #[arg(long)]
    all: bool,
    /// With --all: only for this processor, x86_64 or aarch64 [default: both].
    #[arg(long, value_name = "PLATFORM", requires = "all")]
    platform: Vec<Platform>,
    /// Test the package and archives on other systems.
    #[arg(long, conflicts_with_all = ["all", "check"])]
    elsewhere: bool,
    /// With --elsewhere: only this place. Repeat it [default: all].
    #[arg(long, value_name = "PLACE", requires = "elsewhere")]
    place: Vec<Place>,
}

pub fn run(arguments: &Arguments) -> Result<()> {
    let no_install = arguments.setup.no_install;
    if arguments.check {
        user::require("cargo xtask dist --check")?;
        setup::run(no_install, setup::Purpose::All)?;
        return deb::check(no_install);
    }
    if arguments.elsewhere {
        user::require("cargo xtask dist --elsewhere")?;
        setup::run(no_install, setup::Purpose::All)?;
        return match &arguments.place[..] {
            [] => elsewhere::check(Place::value_variants(), no_install),
            chosen => elsewhere::check(chosen, no_install),
        };
    }
    setup::run(no_install, setup::Purpose::Lab)?;
    match (arguments.all, &arguments.platform[..]) {
        (true, []) => all(&programs::PLATFORMS, no_install),
        (true, chosen) => all(chosen, no_install),
        (false, _) => deb::package(no_install).map(drop),
    }
}

/// Builds everything: the archive, the image and the bill of materials for each of `platforms`; the package, and checksums.
fn all(platforms: &[Platform], no_install: bool) -> Result<()> {
    let time = source_time()?;
    // Before half an hour of compiling.
    for platform in platforms {
        platform.require()?;
    }
    // The programs' generated files are the same on all platforms, so this machine's programs generate them. They are
    // separate from the Debian package's, which differ.
    let generated = directory().join("static");
    generate(
        &programs::build(Platform::native()?, time)?,
        &generated,
        no_install,
    )?;
    let mut artefacts = Vec::new();
    for &platform in platforms {
        let programs = programs::build(platform, time)?;
        artefacts.push(archive::write(platform, &programs, &generated, time)?);
        artefacts.push(image::write(platform, &programs, &directory(), time)?);
        artefacts.push(sbom::write(platform, &directory(), time)?);
    }
    artefacts.push(deb::package_at(no_install, time)?);
    println!("{}", sums(&artefacts)?.display());
    Ok(())
}

/// Writes the checksums of `artefacts` next to them.
fn sums(artefacts: &[PathBuf]) -> Result<PathBuf> {
    let mut lines = Vec::new();
    for artefact in artefacts {
        let bytes = std::fs::read(artefact).with_context(|| artefact.display().to_string())?;
        let name = artefact.file_name().unwrap_or_default();
        lines.push(format!("{}  {}\n", sha256(&bytes), name.display()));
    }
    lines.sort_by(|a, b| a[64..].cmp(&b[64..]));
    let file = directory().join(SUMS);
    std::fs::write(&file, lines.concat()).with_context(|| file.display().to_string())?;
    Ok(file)
}

/// Returns hexadecimal digits.
fn sha256(bytes: &[u8]) -> String {
    let digest = Sha256::digest(bytes);
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Returns the date of all files in artefacts, in seconds since 1970: the commit's, or `SOURCE_DATE_EPOCH`
/// (<https://reproducible-builds.org/specs/source-date-epoch/>).
fn source_time() -> Result<u64> {
    let told = match std::env::var("SOURCE_DATE_EPOCH") {
        Ok(told) => told,
        Err(_) => {
            let mut git = Command::new("git");
            git.args(["log", "-1", "--format=%ct"])
                .current_dir(build::root());
            String::from_utf8(output(&mut git)?)?
        }
    };
    told.trim().parse().with_context(|| {
        format!("SOURCE_DATE_EPOCH, or the time of the last commit, is not a number of seconds: {told:?}")
    })
}

fn directory() -> PathBuf {
    build::root().join("target/dist")
}

/// Generates the book, and lets the programs generate manual pages and completions.
fn generate(binaries: &Path, directory: &Path, no_install: bool) -> Result<()> {
    book::render(&directory.join("book"), no_install)?;
    generate_programs(binaries, directory)
}

fn generate_programs(binaries: &Path, directory: &Path) -> Result<()> {
    for section in ["man1", "man5", "man8"] {
        std::fs::create_dir_all(directory.join(section))?;
    }
    let daemon = output(Command::new(binaries.join("weir-switchd")).arg("--manual"))?;
    std::fs::write(directory.join("man8/weir-switchd.8"), daemon)?;
    let reference = build::root().join("docs/src/reference/configuration.md");
    let reference =
        std::fs::read_to_string(&reference).with_context(|| reference.display().to_string())?;
    std::fs::write(
        directory.join("man5/weir-switchd.toml.5"),
        manual::page(&reference),
    )?;
    for name in ["switchctl", "weir-plan", "weir-host", "weir-page"] {
        let program = binaries.join(name);
        tool::run(
            Command::new(&program)
                .arg("man")
                .arg(directory.join("man1")),
        )?;
        for shell in ["bash", "zsh", "fish"] {
            let script = output(Command::new(&program).args(["completions", shell]))?;
            std::fs::write(directory.join(format!("{name}.{shell}")), script)?;
        }
    }
    Ok(())
}

fn output(command: &mut Command) -> Result<Vec<u8>> {
    let output = command
        .stderr(Stdio::inherit())
        .output()
        .with_context(|| format!("starting {command:?}"))?;
    if !output.status.success() {
        bail!("{command:?} failed ({})", output.status);
    }
    Ok(output.stdout)
}
