//! `[[class]]`.

use weir_core::{Bytes, ClassMode, Priority};

use super::{keys, within};
use crate::daemon::{Class, DEFAULT_CLASS};
use crate::document;
use crate::reader::{FromItem, Names, Table};

fn priority_of(number: u64) -> Result<Priority, String> {
    u8::try_from(number)
        .ok()
        .and_then(Priority::new)
        .ok_or_else(|| format!("priority {number} does not exist; there are 0 to 7"))
}

impl FromItem for Priority {
    const EXAMPLE: &'static str = "a priority from 0 to 7";
    fn from_item(item: &document::Item) -> Result<Self, String> {
        priority_of(u64::from_item(item)?)
    }
}

/// Reads all classes; also used by scenarios.
pub(crate) fn classes(root: &Table<'_>) -> Vec<Class> {
    let names = Names::default();
    let mut owners: [Option<String>; 8] = Default::default();
    root.tables("class", keys("class"))
        .iter()
        .filter_map(|table| class(table, &names, &mut owners))
        .collect()
}

fn class(table: &Table<'_>, names: &Names, owners: &mut [Option<String>; 8]) -> Option<Class> {
    let name: String = table.require("name")?;
    names.note(table, "name", &name);
    if name == DEFAULT_CLASS {
        table.complain(
            "name",
            "`default` is the class of the priorities that no class names; choose another name",
        );
    }
    let priorities = priorities(table, &name, owners);
    let mode = class_mode(table)?;
    Some(Class {
        name,
        priorities: priorities?,
        mode,
        weight: within(table, "weight", 1, 1000).unwrap_or(1) as u16,
    })
}

fn priorities(
    table: &Table<'_>,
    name: &str,
    owners: &mut [Option<String>; 8],
) -> Option<Vec<Priority>> {
    let (key, priorities) = match (table.has("priority"), table.has("priorities")) {
        (true, true) => {
            table.complain("priorities", "write priority or priorities, not both");
            return None;
        }
        (false, true) => ("priorities", table.get::<Vec<Priority>>("priorities")?),
        _ => ("priority", vec![table.require::<Priority>("priority")?]),
    };
    if priorities.is_empty() {
        table.complain(key, "a class has at least one priority");
        return None;
    }
    for priority in &priorities {
        let owner = &mut owners[priority.index()];
        if let Some(other) = owner {
            table.complain(
                key,
                format!("priority {priority} belongs to class `{other}` already"),
            );
        }
        *owner = Some(name.to_owned());
    }
    Some(priorities)
}

#[derive(Clone, Copy)]
enum ModeWord {
    Lossy,
    Pfc,
}

fn class_mode(table: &Table<'_>) -> Option<ClassMode> {
    table.require::<String>("mode")?;
    let mode = table.choice(
        "mode",
        &[("lossy", ModeWord::Lossy), ("pfc", ModeWord::Pfc)],
    )?;
    let (needed, foreign): (&[&str], &[&str]) = match mode {
        ModeWord::Lossy => (&[], &["xoff", "xon", "headroom"]),
        ModeWord::Pfc => (&["xoff", "xon", "headroom"], &["buffer"]),
    };
    for key in foreign {
        if table.has(key) {
            let legal = if needed.is_empty() {
                "buffer".to_owned()
            } else {
                needed.join(", ")
            };
            table.complain(
                key,
                format!("has no meaning in this mode, which has {legal}"),
            );
        }
    }
    match mode {
        ModeWord::Lossy => Some(ClassMode::Lossy {
            buffer: table.get_or("buffer", Bytes::new(256 * 1024)),
        }),
        ModeWord::Pfc => {
            let (xoff, xon, headroom) = (
                table.require::<Bytes>("xoff"),
                table.require::<Bytes>("xon"),
                table.require::<Bytes>("headroom"),
            );
            let (xoff, xon, headroom) = (xoff?, xon?, headroom?);
            if xon >= xoff {
                table.complain("xon", format!("xon ({xon}) must be below xoff ({xoff})"));
            }
            Some(ClassMode::Pfc {
                xoff,
                xon,
                headroom,
            })
        }
    }
}
