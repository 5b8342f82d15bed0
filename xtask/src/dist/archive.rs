//! The archive of static programs and the files of an installation.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use cargo_metadata::MetadataCommand;
use flate2::Compression;

use super::programs::{require_static, Platform};
use super::tree::{gzip, Tree, DATA};
use super::{directory, VERSION};
use crate::build;

/// The package whose manifest lists the files of the Debian package, which the archive shares.
const LISTED_BY: &str = "weir-switchd";
/// Files in the archive only: source, destination and permissions.
const MORE: [(&str, &str, u32); 2] = [
    ("LICENSE-*", "usr/share/doc/weir/", DATA),
    ("packaging/archive/INSTALL", "", DATA),
];

/// Packs `programs` and their `generated` files, all dated `time`; returns the archive's path.
///
/// # Errors
///
/// When a program needs libraries, or a file is missing.
pub fn write(platform: Platform, programs: &Path, generated: &Path, time: u64) -> Result<PathBuf> {
    require_static(programs)?;
    let tree = tree(programs, generated)?;
    let name = format!("weir-{VERSION}");
    let packed = gzip(&tree.tar(&format!("{name}/"), time)?, Compression::best())?;
    let file = directory().join(format!("{name}-{}.tar.gz", platform.name()));
    std::fs::write(&file, packed).with_context(|| file.display().to_string())?;
    println!("{}", file.display());
    Ok(file)
}

fn tree(programs: &Path, generated: &Path) -> Result<Tree> {
    let root = build::root();
    let mut tree = Tree::default();
    for (from, into, mode) in listed()? {
        let from = if let Some(program) = from.strip_prefix("target/release/") {
            programs.join(program)
        } else if let Some(made) = from.strip_prefix("../target/dist/") {
            generated.join(made)
        } else {
            root.join("switchd").join(from)
        };
        tree.copy_all(&into, mode, &from)?;
    }
    for (from, into, mode) in MORE {
        tree.copy_all(into, mode, &root.join(from))?;
    }
    Ok(tree)
}

/// Returns the Debian package's files: source, destination, permissions.
fn listed() -> Result<Vec<(String, String, u32)>> {
    let metadata = MetadataCommand::new()
        .manifest_path(build::root().join("Cargo.toml"))
        .no_deps()
        .exec()
        .context("asking cargo for the workspace")?;
    let package = metadata.packages.iter().find(|it| *it.name == LISTED_BY);
    let assets = package.and_then(|it| it.metadata["deb"]["assets"].as_array());
    let assets =
        assets.with_context(|| format!("{LISTED_BY} lists no files of its Debian package"))?;
    let read = |asset: &serde_json::Value| {
        let mode = u32::from_str_radix(asset[2].as_str()?, 8).ok()?;
        Some((
            asset[0].as_str()?.to_owned(),
            asset[1].as_str()?.to_owned(),
            mode,
        ))
    };
    let all = assets.iter().map(|asset| {
        read(asset).with_context(|| format!("{LISTED_BY}: not a file of a package: {asset}"))
    });
    all.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Uses empty programs and generated files.
    #[test]
    fn the_archive_has_what_the_package_has() {
        let directory = std::env::temp_dir().join(format!("weir-archive-{}", std::process::id()));
        let (programs, made) = (directory.join("programs"), directory.join("made"));
        std::fs::create_dir_all(&programs).unwrap();
        let listed = listed().unwrap();
        let mut wanted = Vec::new();
        for (from, into, _) in &listed {
            let file = match from.strip_prefix("../target/dist/") {
                Some(file) => made.join(file.replace('*', "x.1")),
                None => programs.join(from.trim_start_matches("target/release/")),
            };
            if from.contains("target/") {
                std::fs::create_dir_all(file.parent().unwrap()).unwrap();
                std::fs::write(&file, "made").unwrap();
            }
            if into.ends_with("bin/") {
                wanted.push(format!("{into}{}", file.file_name().unwrap().display()));
            }
        }
        let packed = tree(&programs, &made).unwrap().tar("", 0).unwrap();
        std::fs::remove_dir_all(&directory).unwrap();
        let mut archive = tar::Archive::new(&packed[..]);
        let paths: Vec<String> = archive
            .entries()
            .unwrap()
            .map(|entry| entry.unwrap().path().unwrap().display().to_string())
            .collect();
        wanted.extend(
            [
                "INSTALL",
                "etc/weir/switchd.toml",
                "lib/systemd/system/weir-switchd.service",
                "usr/bin/weir-lab",
                "usr/share/bash-completion/completions/switchctl",
                "usr/share/doc/weir/LICENSE-MIT",
                "usr/share/doc/weir/book/x.1x.1/x.1",
                "usr/share/weir/netns-scripts/lab-up.sh",
                "usr/share/weir/scenarios/ring4.toml",
            ]
            .map(str::to_owned),
        );
        for path in wanted {
            assert!(paths.contains(&path), "{path} is missing: {paths:?}");
        }
    }
}
