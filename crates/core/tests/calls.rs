//! Rooms of the switch call methods of `Switch`, and take names, only from rooms below them.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// From bottom to top, as in ARCHITECTURE.md. Files beside the rooms belong to all of them.
const ROOMS: [&str; 11] = [
    "outbox",
    "forwarding",
    "virtual_queues",
    "levels",
    "credits",
    "admission",
    "link",
    "schedule",
    "recovery",
    "observe",
    "commands",
];

fn sources(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(sources(&path));
        } else if !path.to_str().unwrap().contains("tests") {
            found.push(path);
        }
    }
    found
}

/// Returns the bodies of all `impl Switch` blocks, without comments and tests.
fn methods_of_the_switch(text: &str) -> String {
    let code = text
        .lines()
        .take_while(|line| *line != "#[cfg(test)]")
        .map(|line| line.split("//").next().unwrap_or(line));
    let mut bodies = String::new();
    let mut is_inside = false;
    for line in code {
        match line {
            "impl Switch {" => is_inside = true,
            "}" => is_inside = false,
            line if is_inside => {
                bodies.push_str(line);
                bodies.push('\n');
            }
            _ => {}
        }
    }
    bodies
}

fn name(text: &str) -> &str {
    let end = text.find(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    &text[..end.unwrap_or(text.len())]
}

/// Returns the names of the methods that `bodies` defines.
fn defined(bodies: &str) -> BTreeSet<&str> {
    let lines = bodies.lines().filter(|line| line.starts_with("    "));
    lines
        .filter(|line| !line.starts_with("     "))
        .filter_map(|line| line.split_once("fn "))
        .map(|(_, rest)| name(rest))
        .collect()
}

/// Returns the names of the methods that `bodies` calls on the switch itself, also where a line begins with the dot.
fn called(bodies: &str) -> Vec<&str> {
    let calls = |before: &str| -> Vec<usize> {
        let places = bodies.match_indices(before);
        places.map(|(at, _)| at + before.len()).collect()
    };
    let of_self = calls("self").into_iter().filter_map(|at| {
        let rest = bodies[at..].trim_start();
        rest.strip_prefix('.')
    });
    let of_type = calls("Self::").into_iter().map(|at| &bodies[at..]);
    of_self
        .chain(of_type)
        .filter(|rest| rest[name(rest).len()..].starts_with('('))
        .map(name)
        .collect()
}

fn floor(room: &str) -> Option<usize> {
    ROOMS.iter().position(|other| *other == room)
}

/// Returns the code of each room after `part`.
fn code(part: impl Fn(&str) -> String) -> BTreeMap<&'static str, String> {
    let switch = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/switch");
    let read = |path: &PathBuf| part(&std::fs::read_to_string(path).unwrap());
    let of_room = |room| (room, sources(&switch.join(room)).iter().map(read).collect());
    ROOMS.into_iter().map(of_room).collect()
}

#[test]
fn no_call_runs_up() {
    let bodies = code(methods_of_the_switch);
    let mut homes = BTreeMap::new();
    for (room, body) in &bodies {
        homes.extend(defined(body).into_iter().map(|method| (method, *room)));
    }
    assert!(homes.len() > 100, "the methods of the switch are not found");
    let mut up = BTreeSet::new();
    for (room, body) in &bodies {
        for method in called(body) {
            if let Some(home) = homes.get(method).filter(|home| floor(home) > floor(room)) {
                up.insert((*room, *home, method));
            }
        }
    }
    assert_eq!(up, BTreeSet::new(), "caller, called room, method");
}

#[test]
fn no_name_comes_from_a_room_above() {
    let texts = code(str::to_owned);
    let mut up = BTreeSet::new();
    for (room, text) in &texts {
        let others = text.split("crate::switch::").skip(1).map(name);
        up.extend(
            others
                .filter(|other| floor(other) > floor(room))
                .map(|other| (*room, other)),
        );
    }
    assert_eq!(up, BTreeSet::new(), "room, room above");
}

#[test]
fn calls_are_found_in_any_form() {
    let text = "impl Switch {\n    fn own(&mut self) {\n        self.first(); // self.no()\n        self\n            .second(self.field.third());\n        Self::fourth();\n    }\n}\nimpl Other {\n    fn strange(&self) { self.fifth() }\n}\n";
    let bodies = methods_of_the_switch(text);
    assert_eq!(defined(&bodies), BTreeSet::from(["own"]));
    assert_eq!(called(&bodies), ["first", "second", "fourth"]);
}
