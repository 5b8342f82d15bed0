//! `cargo xtask image`: the switch as an OCI container image that contains only the programs.

mod layout;
mod root;

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{bail, Context, Result};
use clap::Args;
use flate2::Compression;

use super::programs::Platform;
use super::tree::gzip;
use super::{directory, programs, source_time, VERSION};
use crate::{build, root as user, setup};

const TESTS_VARIABLE: &str = "WEIR_IMAGE";

/// Text of `--help` after the options.
pub const HELP: &str = "\
Writes target/dist/weir-VERSION-PROCESSOR-linux.oci.tar, which `podman load`, `docker
load` and `skopeo copy oci-archive:FILE` read, and prints its path. Nothing runs
for it but cargo: no daemon, no root.

--check (needs root) has skopeo inspect the image, and crun run it as containerlab
would: interfaces that appear after the start, a ring that locks and is released.

Examples:
  cargo xtask image
  cargo xtask image --platform aarch64
  cargo xtask image --check
  cargo xtask image --programs target/debug --out /tmp/image";

#[derive(Debug, Args)]
pub struct Arguments {
    #[command(flatten)]
    setup: crate::SetupArguments,
    /// Take the programs of this directory instead of static ones, and include the libraries that they are linked with: for
    /// tests.
    #[arg(long, value_name = "DIRECTORY", conflicts_with = "check")]
    programs: Option<PathBuf>,
    /// Target processor, x86_64 or aarch64 [default: this machine's].
    #[arg(long, value_name = "PLATFORM", conflicts_with_all = ["check", "programs"])]
    platform: Option<Platform>,
    /// Output directory [default: target/dist in the repository].
    #[arg(long, value_name = "DIRECTORY")]
    out: Option<PathBuf>,
    /// Test the image.
    #[arg(long)]
    check: bool,
}

pub fn run(arguments: &Arguments) -> Result<()> {
    let out = arguments.out.clone().unwrap_or_else(directory);
    let time = source_time()?;
    let platform = match arguments.platform {
        Some(platform) => platform,
        None => Platform::native()?,
    };
    if let Some(programs) = &arguments.programs {
        return write_with(platform, programs, &out, time, Compression::fast()).map(drop);
    }
    let purpose = if arguments.check {
        user::require("cargo xtask image --check")?;
        setup::Purpose::All
    } else {
        setup::Purpose::Lab
    };
    setup::run(arguments.setup.no_install, purpose)?;
    let programs = programs::build(platform, time)?;
    programs::require_static(&programs)?;
    let image = write(platform, &programs, &out, time)?;
    if arguments.check {
        check(&image)?;
    }
    Ok(())
}

/// Writes the image of `programs` for `platform` into `directory`, with files dated `time`; returns its path.
pub fn write(platform: Platform, programs: &Path, directory: &Path, time: u64) -> Result<PathBuf> {
    write_with(platform, programs, directory, time, Compression::best())
}

fn write_with(
    platform: Platform,
    programs: &Path,
    directory: &Path,
    time: u64,
    compression: Compression,
) -> Result<PathBuf> {
    let layer = root::tree(programs)?.tar("", time)?;
    let packed = gzip(&layer, compression)?;
    let archive = layout::archive(&platform.oci(), &layer, packed, time)?;
    std::fs::create_dir_all(directory).with_context(|| directory.display().to_string())?;
    let file = directory.join(format!("weir-{VERSION}-{}.oci.tar", platform.name()));
    std::fs::write(&file, archive).with_context(|| file.display().to_string())?;
    println!("{}", file.display());
    Ok(file)
}

/// Checks that other tools can read the image, and runs it.
fn check(image: &Path) -> Result<()> {
    let mut skopeo = Command::new("skopeo");
    skopeo
        .arg("inspect")
        .arg(format!("oci-archive:{}", image.display()));
    let told = super::output(&mut skopeo).context("skopeo of the Debian package skopeo")?;
    print!("{}", String::from_utf8_lossy(&told));
    let status = build::cargo()
        .args([
            "nextest",
            "run",
            "--package",
            "weir-tests",
            "--test",
            "containers",
        ])
        .arg("--manifest-path")
        .arg(build::root().join("Cargo.toml"))
        .env(TESTS_VARIABLE, image)
        .status()
        .context("starting cargo nextest")?;
    if !status.success() {
        bail!("{} does not work: see above", image.display());
    }
    Ok(())
}
