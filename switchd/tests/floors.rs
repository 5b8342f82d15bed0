//! The daemon's modules form floors: each uses only lower floors, so there is no cycle.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// From bottom to top. Modules of one floor do not use each other.
const FLOORS: [&[&str]; 8] = [
    &["cli", "logging", "model"],
    &["os"],
    &["dataplane"],
    &["control"],
    &["capture", "export", "keeper"],
    &["api"],
    &["metrics", "page"],
    &["daemon"],
];
const DATAPLANE_FLOORS: [&[&str]; 10] = [
    &["closing", "error"],
    &["memory"],
    &["exchange"],
    &["rings"],
    &["threads"],
    &["kernel", "worker"],
    &["ways"],
    &["start"],
    &["slot"],
    &["late", "trial"],
];

fn source() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src")
}

fn floor(room: &str) -> Option<usize> {
    FLOORS.iter().position(|rooms| rooms.contains(&room))
}

/// Returns the code compiled into the daemon: no comments, and nothing after the first test.
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
fn arrows_up(room: &str, depth: usize, text: &str) -> Vec<String> {
    let text = code(text);
    let here = floor(room);
    let mut arrows: Vec<String> = named(&text)
        .into_iter()
        .filter(|other| other != room)
        .filter(|other| floor(other) >= here || floor(other).is_none())
        .collect();
    if text.contains(&"super::".repeat(depth)) {
        arrows.push("the root".to_owned());
    }
    arrows
}

/// Returns all sources, each with its top module and its depth below the root. Tests are in separate files or behind
/// `#[cfg(test)]`.
fn files() -> Vec<(PathBuf, String, usize)> {
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
    walk(&source(), &mut found);
    found.sort();
    let is_test = |path: &PathBuf| path.to_str().is_some_and(|path| path.contains("tests"));
    found
        .into_iter()
        .filter(|path| !is_test(&path.strip_prefix(source()).unwrap().to_owned()))
        .map(|path| {
            let inside = path.strip_prefix(source()).unwrap().with_extension("");
            let mut parts: Vec<&str> = inside.iter().filter_map(|part| part.to_str()).collect();
            if parts.last() == Some(&"mod") {
                parts.pop();
            }
            let (room, depth) = (parts[0].to_owned(), parts.len());
            (path, room, depth)
        })
        .collect()
}

#[test]
fn nothing_is_taken_from_above() {
    let mut wrong = Vec::new();
    let mut rooms = BTreeSet::new();
    for (path, room, depth) in files() {
        if ["lib", "main"].contains(&room.as_str()) {
            continue;
        }
        assert!(floor(&room).is_some(), "{room} stands on no floor");
        let text = std::fs::read_to_string(&path).unwrap();
        for other in arrows_up(&room, depth, &text) {
            wrong.push(format!("{} takes from {other}", path.display()));
        }
        rooms.insert(room);
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert_eq!(
        rooms.len(),
        FLOORS.iter().map(|rooms| rooms.len()).sum::<usize>()
    );
}

/// In a module of the dataplane, `super` is the module itself; in its `mod.rs`, it is the dataplane.
#[test]
fn nothing_is_taken_from_above_inside_the_dataplane() {
    let floor = |room: &str| {
        DATAPLANE_FLOORS
            .iter()
            .position(|rooms| rooms.contains(&room))
    };
    let mut wrong = Vec::new();
    let mut rooms = BTreeSet::new();
    for (path, ..) in files() {
        let Ok(inside) = path.strip_prefix(source().join("dataplane")) else {
            continue;
        };
        let first = inside.iter().next().and_then(|first| first.to_str());
        let room = first.unwrap().trim_end_matches(".rs");
        if room == "mod" {
            continue;
        }
        assert!(floor(room).is_some(), "{room} stands on no floor");
        let mut text = code(&std::fs::read_to_string(&path).unwrap());
        if inside.components().count() == 1 || inside.ends_with("mod.rs") {
            text = text.replace("use super::", "use crate::dataplane::");
        }
        let dataplane = text.replace("crate::dataplane::", "\u{1}crate::");
        for other in dataplane.split('\u{1}').skip(1).flat_map(named) {
            if other != room && floor(&other) >= floor(room) {
                wrong.push(format!("{} takes from {other}", path.display()));
            }
        }
        rooms.insert(room.to_owned());
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert_eq!(
        rooms.len(),
        DATAPLANE_FLOORS
            .iter()
            .map(|rooms| rooms.len())
            .sum::<usize>()
    );
}

#[test]
fn an_arrow_back_up_is_seen() {
    for (text, expected) in [
        ("use crate::daemon::Plan;", &["daemon"][..]),
        ("use crate::{api, dataplane};", &["api"]),
        ("fn f() { crate::page::listen() }", &["page"]),
        ("use crate::control::info;\nuse crate::model::clock;", &[]),
        ("// use crate::daemon::Plan;", &[]),
        ("use super::info;", &[]),
        ("use super::super::daemon;", &["the root"]),
        ("#[cfg(test)]\nuse crate::daemon::Plan;", &[]),
    ] {
        assert_eq!(arrows_up("control", 2, text), expected, "{text}");
    }
}
