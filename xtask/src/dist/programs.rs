//! The programs, linked so that they run on any Linux of this architecture, and the same bytes wherever they are built.

use std::path::{Path, PathBuf};

use anyhow::{bail, Context, Result};

use crate::build;

/// What there is to install.
pub const PROGRAMS: [&str; 7] = [
    "weir-switchd",
    "weir-endpoint",
    "switchctl",
    "weir-plan",
    "weir-host",
    "weir-sim",
    "weir-lab",
];
/// glibc, linked statically: libelf and zlib are there for it, and what a program asks of NSS is in two files.
pub const TARGET: &str = "x86_64-unknown-linux-gnu";
/// What it is called in the names of artefacts.
pub const PLATFORM: &str = "x86_64-linux";

/// Builds them; returns where they are.
///
/// # Errors
///
/// When they do not compile.
pub fn build(time: u64) -> Result<PathBuf> {
    let mut cargo = build::cargo();
    cargo.args(["build", "--release", "--locked", "--target", TARGET]);
    cargo.args(["--workspace", "--exclude", build::EXPLORER]);
    for program in PROGRAMS {
        cargo.args(["--bin", program]);
    }
    let status = cargo
        .arg("--manifest-path")
        .arg(build::root().join("Cargo.toml"))
        .env(
            "RUSTFLAGS",
            format!(
                "-C target-feature=+crt-static {}",
                remapped("--remap-path-prefix=")?
            ),
        )
        .env(
            format!("CFLAGS_{}", TARGET.replace('-', "_")),
            remapped("-ffile-prefix-map=")?,
        )
        .env("SOURCE_DATE_EPOCH", time.to_string())
        .env("CARGO_INCREMENTAL", "0")
        .status()
        .context("starting cargo")?;
    if !status.success() {
        bail!("the build of static programs failed: see above; it needs libelf.a and libz.a of libelf-dev and zlib1g-dev");
    }
    Ok(build::target_directory().join(TARGET).join("release"))
}

/// Options by which compilers write other paths than those of this machine.
fn remapped(option: &str) -> Result<String> {
    let home = match std::env::var_os("CARGO_HOME") {
        Some(home) => PathBuf::from(home),
        None => {
            let home = std::env::var_os("HOME").context("neither CARGO_HOME nor HOME is set")?;
            Path::new(&home).join(".cargo")
        }
    };
    let paths = [(build::root(), "/weir"), (home, "/cargo")];
    let options = paths.map(|(path, name)| format!("{option}{}={name}", path.display()));
    Ok(options.join(" "))
}

/// Fails unless the programs in `directory` need no library of the system that they run on.
///
/// # Errors
///
/// Names the one that does.
pub fn require_static(directory: &Path) -> Result<()> {
    for program in PROGRAMS {
        let path = directory.join(program);
        let libraries = super::output(
            std::process::Command::new("readelf")
                .args(["--dynamic", "--wide"])
                .arg(&path),
        )?;
        let needed = String::from_utf8_lossy(&libraries);
        if let Some(line) = needed.lines().find(|line| line.contains("(NEEDED)")) {
            bail!("{} is not static: {}", path.display(), line.trim());
        }
    }
    Ok(())
}
