//! TOML to [`Scenario`].

mod expect;
mod routing;

use weir_core::{BitRate, Bytes, ClassMode, Duration, FeedbackCoding, MacAddress};

use super::topology::Adjacency;
use super::{Flow, Host, Link, LinkProperties, Scenario};
use crate::daemon::read_parts::{
    classes, deadlock_table, feedback_coding, keys as daemon_keys, pfcwd, police, LevelSizing,
};
use crate::daemon::{Class, DataplaneConfig, PfcwdConfig};
use crate::document::{self, Override};
use crate::reader::{unknown, Names, Problem, Problems, Table};
use expect::{check_credit_loop, expect, expected_case};
use routing::{check_ways, longest_way, next_hops};

/// Every key by table, for the reader and for the documentation's test. `class`, `deadlock` and `pfcwd` have
/// the keys of the daemon's configuration.
pub const KEYS: &[(&str, &[&str])] = &[
    (
        "",
        &[
            "name",
            "description",
            "duration",
            "seed",
            "link-defaults",
            "class",
            "deadlock",
            "pfcwd",
            "switch",
            "host",
            "link",
            "routing",
            "route",
            "flow",
            "expect",
        ],
    ),
    (
        "link-defaults",
        &["rate", "delay", "round-trip", "feedback"],
    ),
    ("switch", &["name", "levels"]),
    ("host", &["name", "switch", "obeys-pfc", "police"]),
    (
        "link",
        &["ends", "failed", "rate", "delay", "round-trip", "feedback"],
    ),
    ("routing", &["mode", "root"]),
    ("route", &["to", "via", "at", "ports"]),
    (
        "flow",
        &[
            "name", "from", "to", "via", "class", "rate", "frame", "start", "stop",
        ],
    ),
    (
        "expect",
        &[
            "deadlock",
            "credit-loop",
            "suspected",
            "suspected-at-least",
            "lost",
            "reordered",
            "corrupted",
            "progress",
            "first-release-within",
            "off",
            "breaker",
            "loop-breaker",
            "auto",
            "watchdog",
            "lifetime",
            "level",
            "mixed",
        ],
    ),
];

fn keys(table: &str) -> &'static [&'static str] {
    KEYS.iter()
        .find(|(name, _)| *name == table)
        .map_or(&[], |(_, keys)| keys)
}

pub(super) fn scenario(text: &str, overrides: &[Override]) -> Result<Scenario, Vec<Problem>> {
    let mut root = document::parse(text)?;
    let problems = Problems::default();
    for change in overrides {
        if let Err(problem) = document::apply(&mut root, change) {
            problems.push(problem);
        }
    }
    let scenario = Table::open(&root, "", keys(""), &problems).and_then(|table| read(&table));
    match scenario {
        Some(scenario) if !problems.any() => Ok(scenario),
        _ => Err(problems.into_sorted()),
    }
}

fn read(root: &Table<'_>) -> Option<Scenario> {
    let name = root.require("name");
    let duration: Option<Duration> = root.require("duration");
    let link_defaults = link_defaults(root);
    let deadlock = root
        .table("deadlock", daemon_keys("deadlock"))
        .map(|table| deadlock_table(&table))
        .unwrap_or_default();
    let nodes = Names::default();
    let (switches, has_levels) = switches(root, &nodes);
    let hosts = hosts(root, &nodes, &switches);
    let links = links(root, &switches, link_defaults);
    let host_names: Vec<String> = hosts.iter().map(|host| host.name.clone()).collect();
    let adjacency = Adjacency::new(switches.len(), &hosts, &links);
    let next_hops = next_hops(root, &switches, &hosts, &host_names, &adjacency);
    let depth = longest_way(&adjacency, &next_hops);
    let lines = links.iter().map(|link| &link.properties);
    let lines = lines.map(|line| (line.rate, line.round_trip, line.feedback));
    let sizing = LevelSizing::new(&DataplaneConfig::default(), lines, Some(depth));
    let classes = classes(root, &sizing);
    let duration = duration?;
    check_levels(root, &classes, &has_levels);
    let flows = flows(root, &host_names, &switches, &classes, duration);
    let is_mixed = has_levels.contains(&false);
    let case = expected_case(&classes, &flows, is_mixed, deadlock.policy);
    let scenario = Scenario {
        name: name?,
        description: root.get_or("description", String::new()),
        duration,
        seed: root.get_or("seed", 1),
        expect: expect(root, case),
        classes,
        deadlock,
        pfcwd: pfcwd(root, PfcwdConfig::default()).unwrap_or_default(),
        switches,
        has_levels,
        hosts,
        links,
        link_defaults,
        next_hops,
        flows,
    };
    check_ways(root, &scenario, &adjacency);
    if !root.problems().any() {
        check_credit_loop(root, &scenario, case);
    }
    Some(scenario)
}

fn link_defaults(root: &Table<'_>) -> LinkProperties {
    let default = LinkProperties {
        rate: BitRate::from_mbit(100),
        delay: Duration::from_micros(10),
        // Many switches and hosts share few cores: how long it takes until one of them reacts.
        round_trip: Duration::from_millis(80),
        feedback: FeedbackCoding::Pfc,
    };
    root.table("link-defaults", keys("link-defaults"))
        .map_or(default, |table| LinkProperties {
            rate: table.get_or("rate", default.rate),
            delay: table.get_or("delay", default.delay),
            round_trip: table.get_or("round-trip", default.round_trip),
            feedback: feedback_coding(&table).unwrap_or(default.feedback),
        })
}

/// Names, and whether each knows Levels.
fn switches(root: &Table<'_>, nodes: &Names) -> (Vec<String>, Vec<bool>) {
    let switches: (Vec<String>, Vec<bool>) = root
        .tables("switch", keys("switch"))
        .iter()
        .filter_map(|table| Some((node_name(table, nodes)?, table.get_or("levels", true))))
        .unzip();
    if switches.0.is_empty() {
        root.complain("switch", "a scenario needs at least one [[switch]]");
    }
    switches
}

/// A switch without Levels means something only beside one that has them.
fn check_levels(root: &Table<'_>, classes: &[Class], has_levels: &[bool]) {
    let is_level = |class: &Class| matches!(class.mode, ClassMode::Level { .. });
    let message = if !classes.iter().any(is_level) {
        "no class has mode = \"level\": every switch speaks plain PFC without this"
    } else if !has_levels.contains(&true) {
        "no switch is left that knows Levels: write mode = \"pfc\" in the class instead"
    } else {
        return;
    };
    for table in root.tables("switch", keys("switch")) {
        if table.get("levels") == Some(false) {
            table.complain("levels", message);
        }
    }
}

/// Names become namespaces, devices and directories.
fn node_name(table: &Table<'_>, nodes: &Names) -> Option<String> {
    const LENGTH_MAX: usize = 11;
    let name: String = table.require("name")?;
    let legal = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    if name.is_empty() || name.len() > LENGTH_MAX || !name.chars().all(legal) {
        table.complain(
            "name",
            format!(
                "`{name}` becomes part of a device's name: 1 to {LENGTH_MAX} of a-z, 0-9 and -"
            ),
        );
    }
    nodes.note(table, "name", &name);
    Some(name)
}

fn hosts(root: &Table<'_>, nodes: &Names, switches: &[String]) -> Vec<Host> {
    root.tables("host", keys("host"))
        .iter()
        .enumerate()
        .filter_map(|(index, table)| {
            let name = node_name(table, nodes);
            let switch = reference(table, "switch", "switch", switches);
            let [high, low] = (index as u16 + 1).to_be_bytes();
            Some(Host {
                obeys_pfc: table.get_or("obeys-pfc", true),
                police: police(table).unwrap_or_default(),
                name: name?,
                switch: switch?,
                address: MacAddress([0x02, 0x57, 0, 0, high, low]),
            })
        })
        .collect()
}

fn reference(table: &Table<'_>, key: &str, what: &str, names: &[String]) -> Option<usize> {
    let name: String = table.require(key)?;
    find(table, key, what, &name, names)
}

fn find(table: &Table<'_>, key: &str, what: &str, name: &str, names: &[String]) -> Option<usize> {
    let found = names.iter().position(|known| known == name);
    if found.is_none() {
        let known: Vec<&str> = names.iter().map(String::as_str).collect();
        table.complain(key, unknown(what, name, &known));
    }
    found
}

/// Names of switches; `None` when one is wrong (which is then noted).
fn switch_list(table: &Table<'_>, key: &str, switches: &[String]) -> Option<Vec<usize>> {
    let names: Vec<String> = table.require(key)?;
    let found = names
        .iter()
        .map(|name| find(table, key, "switch", name, switches));
    let found: Vec<Option<usize>> = found.collect();
    found.into_iter().collect()
}

fn links(root: &Table<'_>, switches: &[String], defaults: LinkProperties) -> Vec<Link> {
    let pairs = Names::default();
    root.tables("link", keys("link"))
        .iter()
        .filter_map(|table| {
            let names: Vec<String> = table.require("ends")?;
            let [a, b] = names.as_slice() else {
                table.complain("ends", "a link has two ends: ends = [\"s1\", \"s2\"]");
                return None;
            };
            let ends = [
                find(table, "ends", "switch", a, switches)?,
                find(table, "ends", "switch", b, switches)?,
            ];
            if ends[0] == ends[1] {
                table.complain("ends", format!("`{a}` cannot be linked to itself"));
                return None;
            }
            let mut sorted = [a.as_str(), b.as_str()];
            sorted.sort_unstable();
            pairs.note(table, "ends", &format!("{}-{}", sorted[0], sorted[1]));
            Some(Link {
                ends,
                failed: table.get_or("failed", false),
                properties: LinkProperties {
                    rate: table.get_or("rate", defaults.rate),
                    delay: table.get_or("delay", defaults.delay),
                    round_trip: table.get_or("round-trip", defaults.round_trip),
                    feedback: feedback_coding(table).unwrap_or(defaults.feedback),
                },
            })
        })
        .collect()
}

fn flows(
    root: &Table<'_>,
    hosts: &[String],
    switches: &[String],
    classes: &[Class],
    duration: Duration,
) -> Vec<Flow> {
    /// What the lab's frames need for their headers, and what fits a payload of 1500 B behind a tag.
    const FRAME_MIN: u64 = 80;
    const FRAME_MAX: u64 = 1518;
    let names = Names::default();
    let class_names: Vec<String> = classes.iter().map(|class| class.name.clone()).collect();
    root.tables("flow", keys("flow"))
        .iter()
        .filter_map(|table| {
            let name: Option<String> = table.require("name");
            if let Some(name) = &name {
                names.note(table, "name", name);
            }
            let from = reference(table, "from", "host", hosts);
            let to = reference(table, "to", "host", hosts);
            if from.is_some() && from == to {
                table.complain("to", "a flow goes to another host");
            }
            let via = if table.has("via") {
                Some(switch_list(table, "via", switches)?)
            } else {
                None
            };
            let class = reference(table, "class", "class", &class_names);
            let rate = match table.get::<String>("rate") {
                Some(word) if word == "line" => None,
                Some(_) => table.get::<BitRate>("rate"),
                None => None,
            };
            let frame = table.get_or("frame", Bytes::new(1500));
            if !(FRAME_MIN..=FRAME_MAX).contains(&frame.get()) {
                table.complain(
                    "frame",
                    format!(
                        "must be between {FRAME_MIN} B and {FRAME_MAX} B, header and tag included"
                    ),
                );
            }
            let start = table.get_or("start", Duration::ZERO);
            let stop = table.get_or("stop", duration);
            if start >= stop || stop > duration {
                table.complain("stop", "start < stop ≤ duration must hold");
            }
            Some(Flow {
                name: name?,
                from: from?,
                to: to?,
                via,
                class: class?,
                rate,
                frame,
                start,
                stop,
            })
        })
        .collect()
}
