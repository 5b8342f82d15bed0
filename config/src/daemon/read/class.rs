//! `[[class]]`.

use weir_core::config::Reserve;
use weir_core::level::LEVEL_MAX;
use weir_core::{
    BitRate, Budgets, Bytes, ClassMode, Duration, FeedbackCoding, Level, LevelRules, MarkAt,
    PartsPerMillion, Priority, RedConfig,
};

use super::{keys, within};
use crate::daemon::{Class, DataplaneConfig, DEFAULT_CLASS};
use crate::document;
use crate::names::check_name;
use crate::reader::{FromItem, Names, Table};

fn priority_of(number: u64) -> Result<Priority, String> {
    u8::try_from(number)
        .ok()
        .and_then(Priority::new)
        .ok_or_else(|| format!("priority {number} does not exist; valid are 0 to 7"))
}

impl FromItem for Priority {
    const EXAMPLE: &'static str = "a priority from 0 to 7";
    fn from_item(item: &document::Item) -> Result<Self, String> {
        priority_of(u64::from_item(item)?)
    }
}

/// Reads all classes; also used by scenarios.
pub(crate) fn classes(root: &Table<'_>, sizing: &LevelSizing) -> Vec<Class> {
    let names = Names::default();
    let mut owners: [Option<String>; 8] = Default::default();
    root.tables("class", keys("class"))
        .iter()
        .filter_map(|table| class(table, &names, &mut owners, sizing))
        .collect()
}

fn class(
    table: &Table<'_>,
    names: &Names,
    owners: &mut [Option<String>; 8],
    sizing: &LevelSizing,
) -> Option<Class> {
    let name: String = table.require("name")?;
    names.note(table, "name", &name);
    check_name(table, "name", &name);
    if name == DEFAULT_CLASS {
        table.complain(
            "name",
            "`default` is reserved for the priorities that no class has; choose another name",
        );
    }
    let priorities = priorities(table, &name, owners);
    let mode = class_mode(table, sizing)?;
    Some(Class {
        name,
        priorities: priorities?,
        mode,
        weight: within(table, "weight", 1, 1000).unwrap_or(1) as u16,
        age_limit: age_limit(table),
        ecn: ecn(table),
    })
}

fn priorities(
    table: &Table<'_>,
    name: &str,
    owners: &mut [Option<String>; 8],
) -> Option<Vec<Priority>> {
    let (key, priorities) = match (table.has("priority"), table.has("priorities")) {
        (true, true) => {
            table.complain("priorities", "set priority or priorities, not both");
            return None;
        }
        (false, true) => ("priorities", table.get::<Vec<Priority>>("priorities")?),
        _ => ("priority", vec![table.require::<Priority>("priority")?]),
    };
    if priorities.is_empty() {
        table.complain(key, "a class needs at least one priority");
        return None;
    }
    for priority in &priorities {
        let owner = &mut owners[priority.index()];
        if let Some(other) = owner {
            table.complain(
                key,
                format!("priority {priority} already belongs to class `{other}`"),
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
    Level,
}

impl ModeWord {
    /// The keys that mean something in this mode.
    fn keys(self) -> &'static [&'static str] {
        match self {
            Self::Lossy => &["buffer"],
            Self::Pfc => &["xoff", "xon", "headroom"],
            Self::Level => &[
                "xoff",
                "xon",
                "headroom",
                "max-hops",
                "buffer",
                "budgets",
                "min-level",
                "ignore-feedback",
            ],
        }
    }
}

fn class_mode(table: &Table<'_>, sizing: &LevelSizing) -> Option<ClassMode> {
    table.require::<String>("mode")?;
    let mode = table.choice(
        "mode",
        &[
            ("lossy", ModeWord::Lossy),
            ("pfc", ModeWord::Pfc),
            ("level", ModeWord::Level),
        ],
    )?;
    for key in ModeWord::Lossy.keys().iter().chain(ModeWord::Level.keys()) {
        if table.has(key) && !mode.keys().contains(key) {
            table.complain(
                key,
                format!(
                    "does not apply to this mode; keys of this mode: {}",
                    mode.keys().join(", ")
                ),
            );
        }
    }
    if let ModeWord::Lossy = mode {
        return Some(ClassMode::Lossy {
            buffer: table.get_or("buffer", Bytes::new(256 * 1024)),
        });
    }
    let (xoff, xon, headroom) = (
        table.require::<Bytes>("xoff"),
        table.require::<Bytes>("xon"),
        table.require::<Bytes>("headroom"),
    );
    let (xoff, xon, headroom) = (xoff?, xon?, headroom?);
    if xon >= xoff {
        table.complain("xon", format!("xon ({xon}) must be below xoff ({xoff})"));
    }
    Some(match mode {
        ModeWord::Level => ClassMode::Level {
            budgets: budgets(table, sizing, xoff)?,
            rules: LevelRules {
                level_min: level_min(table),
                obeys_feedback: !table.get_or("ignore-feedback", false),
            },
            xoff,
            xon,
            headroom,
        },
        _ => ClassMode::Pfc {
            xoff,
            xon,
            headroom,
        },
    })
}

/// b_1 … b_D: written out, or derived from the buffer, or from what a round trip needs and xoff.
fn budgets(table: &Table<'_>, sizing: &LevelSizing, xoff: Bytes) -> Option<Budgets> {
    if table.has("budgets") {
        for key in ["max-hops", "buffer"] {
            if table.has(key) {
                table.complain(key, "follows from budgets; set only one of the two");
            }
        }
        let list = table.get::<Vec<Bytes>>("budgets")?;
        let budgets = Budgets::new(&list);
        if budgets.is_none() {
            let message = format!(
                "{} budgets; write one for each link between switches on the longest route, 1 to {LEVEL_MAX}",
                list.len()
            );
            table.complain("budgets", message);
        }
        return budgets;
    }
    let depth = match (within(table, "max-hops", 1, LEVEL_MAX as u64), sizing.depth) {
        (Some(depth), _) => depth as u8,
        (None, Some(depth)) if !table.has("max-hops") => depth,
        (None, _) => {
            table.require::<u64>("max-hops");
            return None;
        }
    };
    // A frame of the minimum Level rises as often as any other.
    let depth = depth + level_min(table).get();
    if usize::from(depth) > LEVEL_MAX {
        table.complain(
            "min-level",
            format!("makes D {depth}; max-hops and min-level together must be at most {LEVEL_MAX}"),
        );
        return None;
    }
    let least = sizing.least(depth);
    let buffer = table.get_or("buffer", least + xoff);
    if buffer < least {
        table.complain(
            "buffer",
            format!(
                "{buffer} is less than {least}: {depth} budgets, each of at least one frame ({}) and {} for what arrives in the round trip time of the longest link. Raise it, or lower round-trip",
                sizing.gamma_max, sizing.reserve
            ),
        );
        return None;
    }
    Budgets::derived(depth, buffer, sizing.each())
}

fn level_min(table: &Table<'_>) -> Level {
    within(table, "min-level", 0, LEVEL_MAX as u64 - 1)
        .and_then(|level| Level::new(level as u8))
        .unwrap_or_default()
}

/// `"off"`, or a time.
fn age_limit(table: &Table<'_>) -> Option<Duration> {
    if !table.has("age-limit") || table.is_text("age-limit", "off") {
        return None;
    }
    table.get("age-limit")
}

/// P_max where the file does not say.
const DEFAULT_PMAX: PartsPerMillion = PartsPerMillion::from_percent(1);

/// Both thresholds, or nothing.
fn ecn(table: &Table<'_>) -> Option<RedConfig> {
    if !["ecn-kmin", "ecn-kmax", "ecn-pmax", "ecn-mark-at"]
        .iter()
        .any(|key| table.has(key))
    {
        return None;
    }
    let (kmin, kmax) = (
        table.require::<Bytes>("ecn-kmin"),
        table.require::<Bytes>("ecn-kmax"),
    );
    let pmax = table.get_or("ecn-pmax", DEFAULT_PMAX);
    if pmax == PartsPerMillion::ZERO {
        table.complain(
            "ecn-pmax",
            "must be above zero; for a single threshold set ecn-kmin and ecn-kmax to the same value",
        );
    }
    let (kmin, kmax) = (kmin?, kmax?);
    if kmin > kmax {
        let message = format!("ecn-kmin ({kmin}) must not be above ecn-kmax ({kmax})");
        table.complain("ecn-kmin", message);
    }
    let at = table
        .choice("ecn-mark-at", &MarkAt::NAMED)
        .unwrap_or_default();
    Some(RedConfig {
        kmin,
        kmax,
        pmax,
        at,
    })
}

/// What budgets depend on beside the class itself.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LevelSizing {
    gamma_max: Bytes,
    /// The largest of all links.
    reserve: Bytes,
    /// D where the file does not say; `None` where it must.
    depth: Option<u8>,
}

impl LevelSizing {
    /// `links` gives rate, round trip time and coding of each link between switches.
    pub(crate) fn new(
        dataplane: &DataplaneConfig,
        links: impl Iterator<Item = (BitRate, Duration, FeedbackCoding)>,
        depth: Option<u8>,
    ) -> Self {
        let length = dataplane.frame_length_max();
        let reserves = links.map(|(rate, span, feedback)| match feedback {
            FeedbackCoding::Grants => Bytes::ZERO,
            _ => Reserve::new(rate, span, dataplane.cell, length).total(),
        });
        Self {
            gamma_max: dataplane.gamma_max(),
            reserve: reserves
                .max()
                .unwrap_or_default()
                .round_up_to(dataplane.cell),
            depth,
        }
    }

    fn least(&self, depth: u8) -> Bytes {
        Bytes::new(u64::from(depth) * self.each().get())
    }

    /// What every budget needs.
    fn each(&self) -> Bytes {
        self.gamma_max + self.reserve
    }
}
