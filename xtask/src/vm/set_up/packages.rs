//! The emulator, the guest's kernel and its drivers, downloaded once and unpacked.

use std::io::{IsTerminal, Write as _};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{bail, Context, Result};

use super::apt::{self, Apt, Archive, STABLE};
use super::lock;
use super::programs::{make_directory, pipe, remove_directory};
use crate::vm::interrupt;

/// Packages of the emulator, the guest's shell, and programs for tests of RDMA and of kinds of devices.
const PROGRAMS: [&str; 8] = [
    "qemu-system-x86",
    "busybox-static",
    "perftest",
    "rdmacm-utils",
    "ibverbs-utils",
    "iproute2",
    "libteam-utils",
    "socat",
];
/// Large directories of a kernel's packages that no guest needs.
const LEFT_OUT: [&str; 10] = [
    "*/boot/System.map*",
    "*/kernel/drivers/gpu/*",
    "*/kernel/drivers/hwmon/*",
    "*/kernel/drivers/iio/*",
    "*/kernel/drivers/input/*",
    "*/kernel/drivers/media/*",
    "*/kernel/drivers/net/wireless/*",
    "*/kernel/drivers/staging/*",
    "*/kernel/drivers/usb/*",
    "*/kernel/sound/*",
];
/// File with the recipe and the list of unpacked files. Written last, so that a directory without it is incomplete.
const MANIFEST: &str = "manifest";

#[derive(Debug)]
pub struct Packages {
    pub root: PathBuf,
    /// File names of the unpacked packages.
    pub names: Vec<String>,
}

impl Packages {
    /// Returns the version of a package, by the beginning of its name.
    pub fn version(&self, beginning: &str) -> &str {
        let name = self.names.iter().find(|name| name.starts_with(beginning));
        name.and_then(|name| name.split('_').nth(1)).unwrap_or("?")
    }
}

/// Provides the emulator, its programs and the newest kernel in `cache`, unless they are already unpacked there.
pub fn provide(cache: &Path, mirror: Option<&str>) -> Result<Packages> {
    // A directory unpacked by an older checkout may be incomplete.
    let recipe = [&PROGRAMS[..], &LEFT_OUT].concat().join(" ");
    provide_at(cache, "packages", &recipe, &STABLE, mirror, |apt| {
        let mut packages = apt.with_dependencies(&PROGRAMS)?;
        packages.extend(apt.kernel(STABLE[1])?);
        Ok(packages)
    })
}

/// Provides the kernel `release` of `suite` or, without a release, its newest one, below `directory` of `cache`.
pub fn provide_kernel(
    cache: &Path,
    directory: &str,
    suite: &str,
    release: Option<&str>,
    mirror: Option<&str>,
) -> Result<Packages> {
    let recipe = format!(
        "{suite} {} {}",
        release.unwrap_or("newest"),
        LEFT_OUT.join(" ")
    );
    // Backports complement a release.
    let main = suite.trim_end_matches("-backports");
    let mut suites = vec![main, suite];
    suites.dedup();
    provide_at(
        cache,
        directory,
        &recipe,
        &suites,
        mirror,
        |apt| match release {
            Some(release) => apt.kernel_of(release, suite),
            None => apt.kernel(suite),
        },
    )
}

/// Unpacks the `plan` of `suites` below `directory` of `cache`; reuses it if the same `recipe` left it.
fn provide_at(
    cache: &Path,
    directory: &str,
    recipe: &str,
    suites: &[&str],
    mirror: Option<&str>,
    plan: impl FnOnce(&Apt) -> Result<Vec<String>>,
) -> Result<Packages> {
    let _lock = lock::wait(&cache.join("packages.lock"))?;
    let root = cache.join(directory);
    if let Ok(manifest) = std::fs::read_to_string(root.join(MANIFEST)) {
        let mut lines = manifest.lines().map(str::to_owned);
        if lines.next().as_deref() == Some(recipe) {
            let names = lines.collect();
            return Ok(Packages { root, names });
        }
    }
    let downloads = cache.join("downloads");
    for directory in [&root, &downloads] {
        remove_directory(directory)?;
        make_directory(directory)?;
    }
    let configured = || apt::configured_archive();
    let mirror = mirror.map_or_else(configured, |mirror| Ok(mirror.to_owned()))?;
    println!("vm-test: reading Debian's lists of packages from {mirror}");
    let apt = Apt::new(&cache.join("apt"), &mirror, suites)?;
    let packages = plan(&apt)?;
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
    let lines = format!("{recipe}\n{}", names.join("\n"));
    std::fs::write(&manifest, lines).with_context(|| manifest.display().to_string())?;
    Ok(Packages { root, names })
}

/// Downloads all packages; messages name the largest.
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

/// Returns the size of all files in a directory. A file may disappear during the count.
fn size(directory: &Path) -> Result<u64> {
    let entries = std::fs::read_dir(directory)?.filter_map(Result::ok);
    let sizes = entries.filter_map(|entry| entry.metadata().ok());
    Ok(sizes.map(|metadata| metadata.len()).sum())
}

fn megabytes(bytes: u64) -> String {
    format!("{:.1} MB", bytes as f64 / 1e6)
}

/// Unpacks all archives of `downloads`; returns their names.
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
        tar.args(LEFT_OUT.map(|pattern| format!("--exclude={pattern}")));
        pipe(&mut contents, &mut tar).with_context(|| format!("unpacking {name}"))?;
        names.push(name.replace("%3a", ":"));
    }
    names.sort();
    Ok(names)
}
