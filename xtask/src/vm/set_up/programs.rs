//! Host programs used to build the guest.

use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{bail, Context, Result};

/// Name of each, and its package in Debian and Ubuntu.
const NEEDED: [(&str, &str); 17] = [
    ("apt-get", "apt"),
    ("apt-cache", "apt"),
    ("dpkg-deb", "dpkg"),
    ("tar", "tar"),
    ("xz", "xz-utils"),
    ("depmod", "kmod"),
    ("modprobe", "kmod"),
    ("mke2fs", "e2fsprogs"),
    ("zstd", "zstd"),
    ("strip", "binutils"),
    ("setpriv", "util-linux"),
    ("nsenter", "util-linux"),
    ("mountpoint", "util-linux"),
    ("ip", "iproute2"),
    ("ethtool", "ethtool"),
    ("dash", "dash"),
    ("ldd", "libc-bin"),
];

/// Checks that all are installed, and that this machine can run the guest's programs; the error lists everything missing.
pub fn check() -> Result<()> {
    if std::env::consts::ARCH != "x86_64" {
        bail!(
            "this is an {} machine: the guest is an x86-64 PC and runs the programs built here",
            std::env::consts::ARCH
        );
    }
    check_also(&NEEDED)
}

/// Checks that programs, each with its package, are installed; the error lists everything missing.
pub fn check_also(needed: &[(&str, &str)]) -> Result<()> {
    let missing: Vec<String> = needed
        .iter()
        .filter(|(name, _)| find(name).is_none())
        .map(|(name, package)| format!("{name} (package {package})"))
        .collect();
    if !missing.is_empty() {
        bail!("not installed: {}", missing.join(", "));
    }
    Ok(())
}

/// Finds a program, also among administrators' tools that a user's path may lack.
pub fn find(name: &str) -> Option<std::path::PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let system = ["/usr/sbin", "/sbin", "/usr/local/sbin"].map(Into::into);
    std::env::split_paths(&path)
        .chain(system)
        .map(|directory| directory.join(name))
        .find(|program| program.is_file())
}

/// Runs a command to its end; returns its standard output.
///
/// # Errors
///
/// When it fails, with its output.
pub fn output(command: &mut Command) -> Result<Vec<u8>> {
    let output = command
        .stdin(Stdio::null())
        .output()
        .with_context(|| format!("starting {}", command.get_program().display()))?;
    if !output.status.success() {
        bail!(
            "{} failed ({}): {}",
            command.get_program().display(),
            output.status,
            String::from_utf8_lossy(&output.stderr).trim()
        );
    }
    Ok(output.stdout)
}

/// `first | second`: the standard output of the latter goes as in `second`.
///
/// # Errors
///
/// When one of them fails.
pub fn pipe(first: &mut Command, second: &mut Command) -> Result<()> {
    let starting = |command: &Command| format!("starting {}", command.get_program().display());
    let mut source = first
        .stdout(Stdio::piped())
        .spawn()
        .with_context(|| starting(first))?;
    let out = source.stdout.take().context("no pipe")?;
    let sink = second.stdin(out).status().with_context(|| starting(second));
    let source = source.wait().with_context(|| starting(first))?;
    if !sink?.success() || !source.success() {
        bail!("{first:?} | {second:?} failed: see above");
    }
    Ok(())
}

/// Creates a directory and its parents; the error contains its name.
pub fn make_directory(directory: &Path) -> Result<()> {
    std::fs::create_dir_all(directory).with_context(|| directory.display().to_string())
}

/// Removes a directory with its contents, if it exists; the error contains its name.
pub fn remove_directory(directory: &Path) -> Result<()> {
    match std::fs::remove_dir_all(directory) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(error).with_context(|| directory.display().to_string())
        }
        _ => Ok(()),
    }
}
