//! Files and folders of the whole repository are small enough to be read.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

/// A folder's files and folders at most.
const ENTRIES_MAX: usize = 15;
/// Lines of a source file at most.
const LINES_MAX: usize = 500;
/// Where entries are not counted: each is an input of its own, which nobody reads one after the other.
const INPUTS: [&str; 1] = ["scenarios/"];

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// All that git knows, and what it does not ignore.
fn files() -> Vec<String> {
    let listed = Command::new("git")
        .args(["ls-files", "--cached", "--others", "--exclude-standard"])
        .current_dir(repository())
        .output()
        .unwrap_or_else(|error| panic!("git: {error}"));
    assert!(listed.status.success(), "{listed:?}");
    let listed = String::from_utf8(listed.stdout).unwrap();
    let files = listed.lines().map(str::to_owned);
    files
        .filter(|file| repository().join(file).exists())
        .collect()
}

/// Folders with too many entries, and how many they have. The repository's own has the packages, and cargo makes a program of
/// each file of a package's `tests`.
fn crowded(files: &[String]) -> Vec<(String, usize)> {
    let mut folders: BTreeMap<String, BTreeSet<&str>> = BTreeMap::new();
    for file in files {
        let parts: Vec<&str> = file.split('/').collect();
        for (depth, entry) in parts.iter().enumerate().skip(1) {
            let folder = parts[..depth].join("/") + "/";
            folders.entry(folder).or_default().insert(entry);
        }
    }
    let is_counted = |folder: &str| {
        let of_programs = folder.strip_suffix("tests/").is_some_and(|package| {
            files
                .iter()
                .any(|file| *file == format!("{package}Cargo.toml"))
        });
        !of_programs && !INPUTS.iter().any(|inputs| folder.starts_with(inputs))
    };
    folders
        .into_iter()
        .filter(|(folder, entries)| entries.len() > ENTRIES_MAX && is_counted(folder))
        .map(|(folder, entries)| (folder, entries.len()))
        .collect()
}

#[test]
fn files_have_at_most_500_lines() {
    let sources = files().into_iter().filter(|file| file.ends_with(".rs"));
    let mut seen = 0;
    let mut long = Vec::new();
    for file in sources {
        let lines = std::fs::read_to_string(repository().join(&file));
        let lines = lines.unwrap().lines().count();
        seen += 1;
        if lines > LINES_MAX {
            long.push(format!("{file}: {lines} lines"));
        }
    }
    assert!(seen > 0, "git lists the sources");
    assert!(long.is_empty(), "{}", long.join("\n"));
}

#[test]
fn folders_have_at_most_15_entries() {
    let crowded = crowded(&files());
    assert!(crowded.is_empty(), "{crowded:?}");
}

#[test]
fn a_crowded_folder_is_seen() {
    let in_folder = |folder: &str| -> Vec<String> {
        let entries = (0..=ENTRIES_MAX).map(|entry| format!("{folder}/{entry}.rs"));
        entries.chain(["a/Cargo.toml".to_owned()]).collect()
    };
    for (folder, expected) in [
        ("a/src/b", 1),
        ("a/tests", 0),
        ("a/src/tests", 1),
        ("scenarios", 0),
    ] {
        let found = crowded(&in_folder(folder));
        assert_eq!(found.len(), expected, "{folder}: {found:?}");
        assert!(found.iter().all(|(_, count)| *count == ENTRIES_MAX + 1));
    }
}
