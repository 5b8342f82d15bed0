//! TOML to classes, and their checks; the same for a daemon's file and for a scenario.

use weir_core::config::Reserve;
use weir_core::level::LEVEL_MAX;
use weir_core::{
    Algorithm, BitRate, Budgets, Bytes, ClassMode, CreditConfig, Duration, FeedbackCoding, Level,
    LevelRules, ModeKind, PfcThresholds, Priority, SchedulerConfig,
};

use super::cable::Cables;
use super::class::{keys_of, MODE_KEYS};
use super::ecn::{self, EcnProfile};
use super::pool::{self, ClassPool};
use super::{
    Class, ClassTable, DeadlockConfig, Express, FrameConfig, Pool, CREDIT_SIZE, DEFAULT_CLASS,
    LOSSY_BUFFER,
};
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

/// Objects that classes refer to or depend on.
pub(crate) struct Surroundings<'a> {
    /// `[[pool]]`.
    pub(crate) pools: &'a [Pool],
    /// `[[ecn]]`.
    pub(crate) ecn: &'a [EcnProfile],
    /// Inputs of budgets.
    pub(crate) sizing: &'a LevelSizing,
    /// Inputs of headroom.
    pub(crate) cables: &'a Cables,
}

pub(crate) fn classes(root: &Table<'_>, around: &Surroundings<'_>) -> Vec<Class> {
    let names = Names::default();
    let mut owners: [Option<String>; 8] = Default::default();
    root.tables(ClassTable::TABLE, ClassTable::KEYS)
        .iter()
        .filter_map(|table| class(table, &names, &mut owners, around))
        .collect()
}

fn class(
    table: &Table<'_>,
    names: &Names,
    owners: &mut [Option<String>; 8],
    around: &Surroundings<'_>,
) -> Option<Class> {
    let cables = around.cables;
    let entry = ClassTable::read(table);
    if !table.has("priorities") {
        table.miss("priority", Priority::EXAMPLE);
    }
    let entry = entry?;
    names.note(table, "name", &entry.name);
    check_name(table, "name", &entry.name);
    if entry.name == DEFAULT_CLASS {
        table.complain(
            "name",
            "`default` is reserved for priorities without a class; choose another name",
        );
    }
    let priorities = priorities(table, &entry, owners);
    let has_pool = table.has("pool") && !matches!(entry.mode, ModeKind::Level | ModeKind::Credit);
    let (mode, pool) = match has_pool {
        true => pooled_mode(table, &entry, around.pools, cables).unzip(),
        false => (class_mode(table, &entry, around.sizing, cables), None),
    };
    let (ecn, ecn_profile) = ecn::marking(table, &entry, around.ecn);
    let mode = mode?;
    let class = Class {
        priorities: priorities?,
        headroom_by_cable: mode.is_lossless()
            && entry.mode != ModeKind::Credit
            && !table.has("headroom"),
        credits: (entry.mode == ModeKind::Credit).then(|| credits(&entry)),
        mode,
        weight: entry.weight.unwrap_or(1) as u16,
        scheduler: SchedulerConfig {
            algorithm: algorithm(table, &entry),
            rate_min: entry.min_rate,
            rate_max: entry.max_rate,
        },
        age_limit: entry.age_limit,
        ecn,
        ecn_profile,
        express: entry.express,
        pool,
        name: entry.name,
    };
    cables.check(table, &class);
    let obstacle = class.express_obstacle();
    if let Some(obstacle) = obstacle.filter(|_| class.express == Express::On) {
        let name = &class.name;
        table.complain(
            "express",
            format!("class `{name}` cannot use the express path: {obstacle}; write `\"auto\"`"),
        );
    }
    Some(class)
}

/// Returns the scheduler, by default the one for which the class's other keys ask.
fn algorithm(table: &Table<'_>, entry: &ClassTable) -> Algorithm {
    let mut keys = ["weight", "min-rate", "max-rate"].into_iter();
    let by_weight = keys.find(|key| table.has(key));
    match (entry.scheduler, by_weight) {
        (Some(Algorithm::Ports), Some(key)) => {
            let message = format!("`ports` does not go with `{key}`; write `\"ets\"`");
            table.complain("scheduler", message);
            Algorithm::Ets
        }
        (Some(algorithm), _) => algorithm,
        (None, Some(_)) => Algorithm::Ets,
        (None, None) => Algorithm::Ports,
    }
}

fn priorities(
    table: &Table<'_>,
    entry: &ClassTable,
    owners: &mut [Option<String>; 8],
) -> Option<Vec<Priority>> {
    let (key, priorities) = match (table.has("priority"), table.has("priorities")) {
        (true, true) => {
            table.complain("priorities", "set priority or priorities, not both");
            return None;
        }
        (false, true) => ("priorities", entry.priorities.clone()?),
        _ => ("priority", vec![entry.priority?]),
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
        *owner = Some(entry.name.clone());
    }
    Some(priorities)
}

/// Reports keys that are not `legal` in this mode.
fn check_keys(table: &Table<'_>, legal: &[&str]) {
    for key in MODE_KEYS {
        if table.has(key) && !legal.contains(&key) {
            let legal = legal.join(", ");
            table.complain(
                key,
                format!("does not apply to this mode; keys of this mode: {legal}"),
            );
        }
    }
}

/// The mode of a class whose buffers use a pool, with the thresholds of a buffer alone in it.
fn pooled_mode(
    table: &Table<'_>,
    entry: &ClassTable,
    pools: &[Pool],
    cables: &Cables,
) -> Option<(ClassMode, ClassPool)> {
    check_keys(table, pool::keys_with_pool(entry.mode));
    let share = pool::share(table, entry, pools);
    if let ModeKind::Lossy = entry.mode {
        let (pool, class) = share?;
        let buffer = pool.alone(&class.share);
        return Some((ClassMode::Lossy { buffer }, class));
    }
    let headroom = headroom(table, entry, cables);
    let (headroom, (pool, class)) = (headroom?, share?);
    let thresholds = pool.thresholds_alone(&class.share, headroom);
    Some((ClassMode::Pfc(thresholds), class))
}

/// The class's own headroom, or that of the cables.
fn headroom(table: &Table<'_>, entry: &ClassTable, cables: &Cables) -> Option<Bytes> {
    match table.has("headroom") {
        true => entry.headroom,
        false => cables.headroom(table, entry),
    }
}

fn class_mode(
    table: &Table<'_>,
    entry: &ClassTable,
    sizing: &LevelSizing,
    cables: &Cables,
) -> Option<ClassMode> {
    check_keys(table, keys_of(entry.mode));
    if let ModeKind::Lossy = entry.mode {
        return Some(ClassMode::Lossy {
            buffer: entry.buffer.unwrap_or(LOSSY_BUFFER),
        });
    }
    if let ModeKind::Credit = entry.mode {
        return credit_mode(table, entry);
    }
    for key in ["xoff", "xon"] {
        table.miss(key, Bytes::EXAMPLE);
    }
    let headroom = headroom(table, entry, cables);
    let (xoff, xon, headroom) = (entry.xoff?, entry.xon?, headroom?);
    let thresholds = PfcThresholds::new(xoff, xon, headroom)
        .map_err(|error| table.complain("xon", error.to_string()))
        .ok();
    Some(match entry.mode {
        ModeKind::Level => ClassMode::Level {
            budgets: budgets(table, entry, sizing, xoff)?,
            rules: LevelRules {
                level_min: level_min(entry),
                obeys_feedback: !entry.ignore_feedback.unwrap_or(false),
            },
            edge: thresholds?,
        },
        _ => ClassMode::Pfc(thresholds?),
    })
}

/// The buffer for which credits are given; part of it is the headroom towards neighbours without credits.
fn credit_mode(table: &Table<'_>, entry: &ClassTable) -> Option<ClassMode> {
    table.miss("credit-limit", Bytes::EXAMPLE);
    let limit = entry.credit_limit?;
    let headroom = entry.headroom.unwrap_or(Bytes::new(limit.get() / 2));
    let xoff = limit.saturating_sub(headroom);
    let xon = Bytes::new(xoff.get() / 4 * 3);
    let thresholds = PfcThresholds::new(xoff, xon, headroom).map_err(|_| {
        table.complain(
            "headroom",
            format!("{headroom} must be less than credit-limit ({limit})"),
        );
    });
    Some(ClassMode::Pfc(thresholds.ok()?))
}

fn credits(entry: &ClassTable) -> CreditConfig {
    CreditConfig {
        size: entry.credit_size.unwrap_or(CREDIT_SIZE),
        overhead: entry.packet_overhead.unwrap_or(0) as u8,
        fallback: entry.credit_fallback.unwrap_or_default(),
    }
}

/// b_1 … b_D: explicit, or derived from the buffer, or from the needs of a round trip and xoff.
fn budgets(
    table: &Table<'_>,
    entry: &ClassTable,
    sizing: &LevelSizing,
    xoff: Bytes,
) -> Option<Budgets> {
    if table.has("budgets") {
        for key in ["max-hops", "buffer"] {
            if table.has(key) {
                table.complain(key, "follows from budgets; set only one of the two");
            }
        }
        let list = entry.budgets.as_ref()?;
        let budgets = Budgets::new(list);
        if budgets.is_none() {
            let message = format!(
                "{} budgets; write one for each link between switches on the longest route, 1 to {LEVEL_MAX}",
                list.len()
            );
            table.complain("budgets", message);
        }
        return budgets;
    }
    let depth = match (entry.max_hops, sizing.depth) {
        (Some(depth), _) => depth as u8,
        (None, Some(depth)) if !table.has("max-hops") => depth,
        (None, _) => {
            table.miss("max-hops", u64::EXAMPLE);
            return None;
        }
    };
    // A frame of the minimum Level rises as often as any other.
    let depth = depth + level_min(entry).get();
    if usize::from(depth) > LEVEL_MAX {
        table.complain(
            "min-level",
            format!("makes D {depth}; max-hops and min-level together must be at most {LEVEL_MAX}"),
        );
        return None;
    }
    let least = sizing.least(depth);
    let buffer = entry.buffer.unwrap_or(least + xoff);
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

fn level_min(entry: &ClassTable) -> Level {
    let level = entry.min_level.and_then(|level| Level::new(level as u8));
    level.unwrap_or_default()
}

/// Inputs of budgets other than the class itself.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LevelSizing {
    gamma_max: Bytes,
    /// The largest reserve of all links.
    reserve: Bytes,
    /// Default D; `None` if the file must set it.
    depth: Option<u8>,
}

impl LevelSizing {
    /// `links` returns rate, round trip time and coding of each link between switches.
    pub(crate) fn new(
        frames: &FrameConfig,
        links: impl Iterator<Item = (BitRate, Duration, FeedbackCoding)>,
        depth: Option<u8>,
    ) -> Self {
        let length = frames.frame_length_max();
        let reserves = links.map(|(rate, span, feedback)| match feedback {
            FeedbackCoding::Grants => Bytes::ZERO,
            _ => Reserve::new(rate, span, frames.cell, length).total(),
        });
        Self {
            gamma_max: frames.gamma_max(),
            reserve: reserves.max().unwrap_or_default().round_up_to(frames.cell),
            depth,
        }
    }

    fn least(&self, depth: u8) -> Bytes {
        Bytes::new(u64::from(depth) * self.each().get())
    }

    /// Minimum of every budget.
    fn each(&self) -> Bytes {
        self.gamma_max + self.reserve
    }
}

/// Checks the steps of a traffic release.
pub(crate) fn check_steps(table: &Table<'_>, config: &DeadlockConfig) {
    if config.traffic_release_max < config.traffic_release {
        table.complain("traffic-release-max", "must not be below traffic-release");
    }
}

/// A release lends only headroom (see `ClassMode::memory_bound`): an explicit amount must fit that of every class of
/// mode `pfc`, and the default is limited to it.
pub(crate) fn fit_release_buffer(
    root: &Table<'_>,
    classes: &[Class],
    cables: &Cables,
    deadlock: &mut DeadlockConfig,
) {
    let headrooms = classes.iter().filter_map(|class| match class.mode {
        ClassMode::Pfc(_) if class.headroom_by_cable => {
            Some((cables.least(ModeKind::Pfc)?, &class.name))
        }
        ClassMode::Pfc(thresholds) => Some((thresholds.headroom(), &class.name)),
        _ => None,
    });
    let Some((headroom, class)) = headrooms.min_by_key(|(headroom, _)| *headroom) else {
        return;
    };
    let table = root.table(DeadlockConfig::TABLE, DeadlockConfig::KEYS);
    match table.filter(|table| table.has("release-buffer")) {
        None => deadlock.release_buffer = deadlock.release_buffer.min(headroom),
        Some(table) if deadlock.policy.releases() && deadlock.release_buffer > headroom => table
            .complain(
                "release-buffer",
                format!(
                    "{} is more than the headroom of class `{class}`, {headroom}, the most that a release can lend: write at most {headroom}, or raise headroom",
                    deadlock.release_buffer
                ),
            ),
        Some(_) => {}
    }
}
