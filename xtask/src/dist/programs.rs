//! Builds the programs to run on any Linux of their architecture, with the same bytes on every build machine.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{bail, Context, Result};
use oci_spec::image::Arch;

use crate::build::{self, PROGRAMS};

/// Target platform of programs. They are linked statically with glibc, for which libelf and zlib are available, and whose
/// NSS needs only two files here.
#[derive(Debug, Clone, Copy)]
pub struct Platform {
    /// Rust's name of the processor: `std::env::consts::ARCH`.
    processor: &'static str,
    /// Name of the processor in Debian and in the OCI image specification.
    architecture: &'static str,
}

pub const PLATFORMS: [Platform; 2] = [
    Platform {
        processor: "x86_64",
        architecture: "amd64",
    },
    Platform {
        processor: "aarch64",
        architecture: "arm64",
    },
];

/// With this feature libxdp is compiled below the target directory rather than in cargo's home, also for another processor.
const LIBXDP_APART: &str = "weir-switchd/libxdp-apart";

impl Platform {
    /// Returns this machine's platform.
    ///
    /// # Errors
    ///
    /// When programs are not built for it.
    pub fn native() -> Result<Self> {
        let mut all = PLATFORMS.into_iter();
        let native = all.find(|platform| platform.is_native());
        native.with_context(|| {
            format!("programs for others to install are built on x86_64 and aarch64; this machine is {}", std::env::consts::ARCH)
        })
    }

    /// Returns true for this machine's platform.
    pub fn is_native(self) -> bool {
        self.processor == std::env::consts::ARCH
    }

    /// Returns the target triple of compilers.
    pub fn target(self) -> String {
        format!("{}-unknown-linux-gnu", self.processor)
    }

    /// Returns the name used in artefacts.
    pub fn name(self) -> String {
        format!("{}-linux", self.processor)
    }

    /// Returns the architecture of an image.
    pub fn oci(self) -> Arch {
        Arch::from(self.architecture)
    }

    /// Returns Debian's directory of its pkg-config files.
    pub fn pkg_config(self) -> String {
        format!("/usr/lib/{}-linux-gnu/pkgconfig", self.processor)
    }

    /// Returns the program of binutils or gcc for this platform.
    pub fn tool(self, name: &str) -> String {
        match self.is_native() {
            true => name.to_owned(),
            false => format!("{}-linux-gnu-{name}", self.processor),
        }
    }

    /// Checks for the tools required to build for another platform; the error names what to install.
    pub fn require(self) -> Result<()> {
        if self.is_native() {
            return Ok(());
        }
        let (target, debian) = (self.target(), self.architecture);
        let compiler = self.tool("gcc");
        let runs = |program: &str, arguments: &[&str]| {
            let output = Command::new(program)
                .args(arguments)
                .stderr(Stdio::null())
                .output();
            output.is_ok_and(|output| output.status.success() && !output.stdout.is_empty())
        };
        let library = |name: &str| {
            let asked = format!("-print-file-name={name}");
            let output = Command::new(&compiler).arg(asked).output();
            output.is_ok_and(|output| {
                Path::new(String::from_utf8_lossy(&output.stdout).trim()).is_absolute()
            })
        };
        if !runs(&compiler, &["--version"]) || !library("libelf.a") || !library("libz.a") {
            bail!(
                "programs for {target} need {compiler} and its libelf.a and libz.a; on Debian: `dpkg --add-architecture {debian} && \
                 apt-get update && apt-get install gcc-{}-linux-gnu libelf-dev:{debian} zlib1g-dev:{debian}`; or leave them out \
                 with `--platform {}`",
                self.processor.replace('_', "-"),
                std::env::consts::ARCH
            );
        }
        let installed = Command::new("rustc")
            .args(["--print", "target-libdir", "--target", &target])
            .output();
        let there = installed
            .is_ok_and(|output| Path::new(String::from_utf8_lossy(&output.stdout).trim()).is_dir());
        if !there {
            bail!("Rust's library for {target} is missing: `rustup target add {target}`");
        }
        Ok(())
    }
}

impl std::str::FromStr for Platform {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut all = PLATFORMS.into_iter();
        let found =
            all.find(|platform| platform.processor == text || platform.architecture == text);
        found.ok_or_else(|| format!("write x86_64 or aarch64, not {text:?}"))
    }
}

/// Builds the programs, linked statically; returns their directory.
pub fn build(platform: Platform, time: u64) -> Result<PathBuf> {
    platform.require()?;
    let target = platform.target();
    let target_directory = build::target_directory();
    let mut cargo = comparable(
        platform,
        &target_directory,
        "-C target-feature=+crt-static",
        time,
    )?;
    cargo.args(["--target", &target]);
    if !platform.is_native() {
        let variable = target.replace('-', "_");
        let upper = variable.to_uppercase();
        cargo
            .env(format!("CARGO_TARGET_{upper}_LINKER"), platform.tool("gcc"))
            .env(format!("CC_{variable}"), platform.tool("gcc"))
            .env(format!("AR_{variable}"), platform.tool("ar"))
            .env("LD", platform.tool("ld"))
            .env("OBJCOPY", platform.tool("objcopy"));
    }
    let status = cargo.status().context("starting cargo")?;
    if !status.success() {
        bail!("the build of static programs failed: see above; it needs libelf.a and libz.a of libelf-dev and zlib1g-dev");
    }
    Ok(target_directory.join(target).join("release"))
}

/// Builds the Debian package's programs, for this machine and linked with its libraries; returns their directory.
pub fn packaged(time: u64) -> Result<PathBuf> {
    let target_directory = packaged_target();
    let status = comparable(Platform::native()?, &target_directory, "", time)?
        .status()
        .context("starting cargo")?;
    if !status.success() {
        bail!("the build of the package's programs failed: see above");
    }
    Ok(target_directory.join("release"))
}

/// Returns the target directory of the package's programs. Ordinary builds contain paths of this machine.
pub fn packaged_target() -> PathBuf {
    build::target_directory().join("package")
}

/// Returns cargo with settings for reproducible programs in `target_directory`, and further `flags` of rustc.
fn comparable(
    platform: Platform,
    target_directory: &Path,
    flags: &str,
    time: u64,
) -> Result<Command> {
    let mut cargo = build::cargo();
    cargo.args(["build", "--release", "--locked"]);
    cargo.args(["--workspace", "--exclude", build::EXPLORER]);
    cargo.args(["--features", LIBXDP_APART]);
    for program in PROGRAMS {
        cargo.args(["--bin", program]);
    }
    let remapped = |option| remapped(option, target_directory);
    let variable = platform.target().replace('-', "_");
    cargo
        .arg("--manifest-path")
        .arg(build::root().join("Cargo.toml"))
        .arg("--target-dir")
        .arg(target_directory)
        .env(
            "RUSTFLAGS",
            format!("{flags} {}", remapped("--remap-path-prefix=")?.join(" ")),
        )
        .env(
            format!("CFLAGS_{variable}"),
            remapped("-ffile-prefix-map=")?.join(" "),
        )
        // For objects that crates compile for the kernel with clang: `#` suppresses messages about each option, `+` appends
        // one.
        .env(
            "CCC_OVERRIDE_OPTIONS",
            format!("# {}", remapped("+-ffile-prefix-map=")?.join(" ")),
        )
        .env("SOURCE_DATE_EPOCH", time.to_string())
        .env("CARGO_INCREMENTAL", "0");
    Ok(cargo)
}

/// Returns compiler options that replace this machine's paths.
fn remapped(option: &str, target_directory: &Path) -> Result<Vec<String>> {
    let home = match std::env::var_os("CARGO_HOME") {
        Some(home) => PathBuf::from(home),
        None => {
            let home = std::env::var_os("HOME").context("neither CARGO_HOME nor HOME is set")?;
            Path::new(&home).join(".cargo")
        }
    };
    // The last match counts.
    let paths = [
        (build::root(), "/weir"),
        (target_directory.to_owned(), "/weir/target"),
        (home, "/cargo"),
    ];
    let options = paths.map(|(path, name)| format!("{option}{}={name}", path.display()));
    Ok(options.to_vec())
}

/// Fails, naming the program, if a program in `directory` needs a system library.
pub fn require_static(directory: &Path) -> Result<()> {
    for program in PROGRAMS {
        let path = directory.join(program);
        let libraries = super::output(
            Command::new("readelf")
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
