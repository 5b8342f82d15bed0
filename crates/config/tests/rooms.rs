//! The description of a switch depends neither on the daemon nor on scenarios, those two are independent of each other,
//! and the simulator sees no device, path or listener.

use std::path::{Path, PathBuf};

/// Sources below the first, a file or folder beside this crate's manifest, mention none of the others.
const STRANGERS: [(&str, &[&str]); 9] = [
    ("src/units.rs", &["crate::"]),
    (
        "src/reader",
        &[
            "crate::settings",
            "crate::switch",
            "crate::daemon",
            "crate::scenario",
        ],
    ),
    (
        "src/settings",
        &["crate::switch", "crate::daemon", "crate::scenario"],
    ),
    (
        "src/frames",
        &["crate::switch", "crate::daemon", "crate::scenario"],
    ),
    (
        "src/switch",
        &["crate::daemon", "crate::scenario", "crate::drivers"],
    ),
    (
        "src/scenario",
        &["crate::daemon", "crate::drivers", "crate::sweep"],
    ),
    (
        "src/sweep",
        &["crate::daemon", "crate::drivers", "crate::switch"],
    ),
    ("src/daemon", &["crate::scenario"]),
    (
        "../../tools/sim/src",
        &["weir_config::daemon", "weir_config::drivers"],
    ),
];

fn sources(path: &Path) -> Vec<PathBuf> {
    if path.is_file() {
        return vec![path.to_owned()];
    }
    let entries = std::fs::read_dir(path).unwrap();
    entries
        .flat_map(|entry| sources(&entry.unwrap().path()))
        .collect()
}

#[test]
fn modules_use_none_above_them() {
    for (room, strangers) in STRANGERS {
        let files = sources(&Path::new(env!("CARGO_MANIFEST_DIR")).join(room));
        assert!(!files.is_empty(), "{room}");
        for file in files {
            let text = std::fs::read_to_string(&file).unwrap();
            for name in strangers {
                assert!(!text.contains(name), "{} names {name}", file.display());
            }
        }
    }
}
