//! Rooms of a package: its modules, on floors of which each uses only those below it.
#![allow(dead_code)] // each test file uses its own part

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Rooms from bottom to top. Those of one floor do not use each other.
pub type Floors<'a> = [&'a [&'a str]];

fn floor(floors: &Floors<'_>, room: &str) -> Option<usize> {
    floors.iter().position(|rooms| rooms.contains(&room))
}

/// Returns the code compiled into the package: no comments, and nothing after the first test.
fn code(text: &str) -> String {
    let lines = text.lines().take_while(|line| *line != "#[cfg(test)]");
    let lines = lines.map(|line| line.split("//").next().unwrap_or(line));
    lines.collect::<Vec<_>>().join("\n")
}

/// Returns the modules that `text` names, by `crate::ROOM` or `crate::{ROOM, …}`.
fn named(text: &str) -> BTreeSet<String> {
    let mut rooms = BTreeSet::new();
    for behind in text.split("crate::").skip(1) {
        let group = behind.strip_prefix('{').map(|group| {
            let end = group.find('}').unwrap_or(group.len());
            &group[..end]
        });
        for name in group.unwrap_or(behind).split(',') {
            let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
            let room: String = name
                .trim_start()
                .chars()
                .take_while(|c| is_part(*c))
                .collect();
            rooms.insert(room);
            if group.is_none() {
                break;
            }
        }
    }
    rooms
}

/// Returns the uses of the own floor or a higher one by `text`, in `room` and this many modules below the root.
pub fn arrows_up(floors: &Floors<'_>, room: &str, depth: usize, text: &str) -> Vec<String> {
    let text = code(text);
    let here = floor(floors, room);
    let mut arrows: Vec<String> = named(&text)
        .into_iter()
        .filter(|other| other != room)
        .filter(|other| floor(floors, other) >= here || floor(floors, other).is_none())
        .collect();
    if text.contains(&"super::".repeat(depth)) {
        arrows.push("the root".to_owned());
    }
    arrows
}

/// Returns all sources below `source`, each with its top module and its depth below the root. Tests are in separate files or behind
/// `#[cfg(test)]`.
fn files(source: &Path) -> Vec<(PathBuf, String, usize)> {
    fn walk(folder: &Path, found: &mut Vec<PathBuf>) {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                walk(&path, found);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                found.push(path);
            }
        }
    }
    let mut found = Vec::new();
    walk(source, &mut found);
    found.sort();
    let is_test = |path: &PathBuf| path.to_str().is_some_and(|path| path.contains("tests"));
    found
        .into_iter()
        .filter(|path| !is_test(&path.strip_prefix(source).unwrap().to_owned()))
        .map(|path| {
            let inside = path.strip_prefix(source).unwrap().with_extension("");
            let mut parts: Vec<&str> = inside.iter().filter_map(|part| part.to_str()).collect();
            if parts.last() == Some(&"mod") {
                parts.pop();
            }
            let (room, depth) = (parts[0].to_owned(), parts.len());
            (path, room, depth)
        })
        .collect()
}

/// Returns the arrows up in the package whose manifest is in `package`, as sentences.
///
/// # Panics
///
/// When `floors` lacks a room, or has one that does not exist.
pub fn all_arrows_up(package: &str, floors: &Floors<'_>) -> Vec<String> {
    let mut wrong = Vec::new();
    let mut rooms = BTreeSet::new();
    for (path, room, depth) in files(&Path::new(package).join("src")) {
        if ["lib", "main"].contains(&room.as_str()) {
            continue;
        }
        assert!(floor(floors, &room).is_some(), "{room} stands on no floor");
        let text = std::fs::read_to_string(&path).unwrap();
        for other in arrows_up(floors, &room, depth, &text) {
            wrong.push(format!("{room}: {} takes from {other}", path.display()));
        }
        rooms.insert(room);
    }
    assert_eq!(
        rooms.len(),
        floors.iter().map(|rooms| rooms.len()).sum::<usize>()
    );
    wrong
}
