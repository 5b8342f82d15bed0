//! The emulator, the guest's kernel and its drivers, downloaded once and unpacked.

use std::io::{IsTerminal, Write as _};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{bail, Context, Result};

use super::apt::{Apt, Archive};
use super::programs::{make_directory, pipe, remove_directory};
use crate::vm::interrupt;

/// What the emulator, the guest's shell and its tests of RDMA come from.
const PROGRAMS: [&str; 5] = [
    "qemu-system-x86",
    "busybox-static",
    "perftest",
    "rdmacm-utils",
    "ibverbs-utils",
];
/// What of a kernel's package is unpacked: the rest has a thousand drivers.
const OF_THE_KERNEL: [&str; 9] = [
    "*/vmlinuz*",
    "*/kernel/drivers/net/*",
    "*/kernel/drivers/dca/*",
    "*/kernel/drivers/i2c/algos/*",
    "*/kernel/drivers/infiniband/core/*",
    "*/kernel/drivers/infiniband/sw/*",
    "*/kernel/fs/*",
    "*/kernel/lib/*",
    "*/kernel/net/*",
];
/// Says what was to be unpacked, and lists what was. Written last: without it the directory is incomplete.
const MANIFEST: &str = "manifest";

/// Unpacked packages.
#[derive(Debug)]
pub struct Packages {
    /// Where they are.
    pub root: PathBuf,
    /// File names of what was unpacked, one for each package.
    pub names: Vec<String>,
}

impl Packages {
    /// The version of a package, by the beginning of its name.
    pub fn version(&self, beginning: &str) -> &str {
        let name = self.names.iter().find(|name| name.starts_with(beginning));
        name.and_then(|name| name.split('_').nth(1)).unwrap_or("?")
    }
}

/// The packages in `cache`, from there if they are unpacked already.
///
/// # Errors
///
/// When something cannot be downloaded or unpacked.
pub fn provide(cache: &Path, mirror: &str) -> Result<Packages> {
    let root = cache.join("packages");
    // What an older checkout has unpacked lacks something.
    let recipe = [&PROGRAMS[..], &OF_THE_KERNEL].concat().join(" ");
    if let Ok(manifest) = std::fs::read_to_string(root.join(MANIFEST)) {
        let mut lines = manifest.lines().map(str::to_owned);
        if lines.next() == Some(recipe.clone()) {
            let names = lines.collect();
            return Ok(Packages { root, names });
        }
    }
    let downloads = cache.join("downloads");
    for directory in [&root, &downloads] {
        remove_directory(directory)?;
        make_directory(directory)?;
    }
    println!("vm-test: reading Debian's lists of packages from {mirror}");
    let apt = Apt::new(&cache.join("apt"), mirror)?;
    let mut packages = apt.with_dependencies(&PROGRAMS)?;
    packages.extend(apt.kernel()?);
    let archives = apt.archives(&packages)?;
    if archives.len() != packages.len() {
        bail!(
            "{} packages are needed, the archive has {}",
            packages.len(),
            archives.len()
        );
    }
    fetch(&apt, &packages, &archives, &downloads)?;
    let names = unpack(&downloads, &root)?;
    remove_directory(&cache.join("apt"))?;
    remove_directory(&downloads)?;
    let manifest = root.join(MANIFEST);
    let lines = recipe + "\n" + &names.join("\n");
    std::fs::write(&manifest, lines).with_context(|| manifest.display().to_string())?;
    Ok(Packages { root, names })
}

/// Downloads all, the largest named.
fn fetch(apt: &Apt, packages: &[String], archives: &[Archive], to: &Path) -> Result<()> {
    const NAMED_FROM: u64 = 5_000_000;
    let total: u64 = archives.iter().map(|archive| archive.bytes).sum();
    println!(
        "vm-test: downloading {} packages, {}, once, to {}:",
        archives.len(),
        megabytes(total),
        to.parent().unwrap_or(to).display()
    );
    for archive in archives.iter().filter(|one| one.bytes >= NAMED_FROM) {
        println!("  {:>9}  {}", megabytes(archive.bytes), archive.file);
    }
    let rest = archives.iter().map(|archive| archive.bytes);
    let rest: Vec<u64> = rest.filter(|bytes| *bytes < NAMED_FROM).collect();
    println!("  {:>9}  {} more", megabytes(rest.iter().sum()), rest.len());
    let is_seen = std::io::stdout().is_terminal();
    apt.download(packages, to, || {
        interrupt::check()?;
        if is_seen {
            let done = megabytes(size(to)?);
            print!("\r\x1b[K  {done} of {}", megabytes(total));
            std::io::stdout().flush()?;
        }
        Ok(())
    })?;
    if is_seen {
        print!("\r\x1b[K");
    }
    Ok(())
}

/// Of all files in a directory. One may go while they are counted.
fn size(directory: &Path) -> Result<u64> {
    let entries = std::fs::read_dir(directory)?.filter_map(Result::ok);
    let sizes = entries.filter_map(|entry| entry.metadata().ok());
    Ok(sizes.map(|metadata| metadata.len()).sum())
}

fn megabytes(bytes: u64) -> String {
    format!("{:.1} MB", bytes as f64 / 1e6)
}

/// Unpacks all archives of `downloads`; gives their names.
fn unpack(downloads: &Path, root: &Path) -> Result<Vec<String>> {
    println!("vm-test: unpacking");
    let mut names = Vec::new();
    for entry in std::fs::read_dir(downloads)? {
        interrupt::check()?;
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let mut contents = Command::new("dpkg-deb");
        contents.arg("--fsys-tarfile").arg(entry.path());
        let mut tar = Command::new("tar");
        tar.arg("-x").arg("-C").arg(root);
        tar.args([
            "--no-same-owner",
            "--exclude=*/share/doc",
            "--exclude=*/share/man",
        ]);
        if name.starts_with("linux-modules-") {
            tar.arg("--wildcards").args(&OF_THE_KERNEL[1..]);
        } else if name.starts_with("linux-image-") {
            tar.arg("--wildcards").args(OF_THE_KERNEL);
        }
        pipe(&mut contents, &mut tar).with_context(|| format!("unpacking {name}"))?;
        names.push(name.replace("%3a", ":"));
    }
    names.sort();
    Ok(names)
}
