//! Reading and parsing of files in sysfs and procfs.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// Returns a file's text without surrounding white space; `None` for a missing or empty file.
pub(super) fn text(path: impl AsRef<Path>) -> Option<String> {
    let text = fs::read_to_string(path).ok()?;
    let text = text.trim();
    (!text.is_empty()).then(|| text.to_owned())
}

pub(super) fn number<T: std::str::FromStr>(path: impl AsRef<Path>) -> Option<T> {
    text(path)?.parse().ok()
}

/// Reads a list of CPUs in the kernel's format: `0-3,8`.
pub(super) fn cpus(path: impl AsRef<Path>) -> BTreeSet<usize> {
    text(path).as_deref().map(list).unwrap_or_default()
}

fn list(text: &str) -> BTreeSet<usize> {
    let ranges = text.split(',').filter_map(|part| {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        Some(first.parse().ok()?..=last.parse().ok()?)
    });
    ranges.flatten().collect()
}

pub(super) fn entries(path: impl AsRef<Path>) -> Vec<String> {
    let entries = fs::read_dir(path).into_iter().flatten().flatten();
    entries
        .filter_map(|entry| entry.file_name().into_string().ok())
        .collect()
}

/// Returns all devices of this network namespace; sysfs may show those of another one.
pub(super) fn device_names() -> Vec<String> {
    let all = nix::net::if_::if_nameindex();
    let names = all.iter().flatten();
    let names: BTreeSet<_> = names
        .map(|interface| interface.name().to_string_lossy().into_owned())
        .collect();
    names.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_read_as_the_kernel_writes_them() {
        assert_eq!(list("0-3,8,10-11"), [0, 1, 2, 3, 8, 10, 11].into());
        assert_eq!(list(""), BTreeSet::new());
    }

    #[test]
    fn the_loopback_device_is_everywhere() {
        assert!(device_names().contains(&"lo".to_owned()));
    }
}
