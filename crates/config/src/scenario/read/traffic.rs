//! `[[traffic]]`.

use std::fs::File;
use std::io::Read as _;
use std::path::Path;
use std::sync::Arc;

use weir_core::Bytes;

use super::flow::{Common, Nodes};
use super::homes::End;
use super::{find, keys};
use crate::document::{Item, Value};
use crate::reader::{unknown, within, FromItem, Names, Table};
use crate::scenario::{
    Collective, Distribution, Flow, Ground, Pairs, Pattern, Sizes, Traffic, TrafficKind,
    FLOW_COUNT_MAX,
};
use crate::Fraction;

/// The flows of every `[[traffic]]`, by the scenario's seed. `flows` are the explicit ones, with their `names`.
pub(super) fn extend_flows(
    flows: &mut Vec<Flow>,
    root: &Table<'_>,
    nodes: &Nodes<'_>,
    names: &Names,
    seed: u64,
) {
    let stations = nodes.homes.stations();
    let switch_of = stations.iter().map(|end| nodes.homes.switch(*end));
    let switch_of: Vec<usize> = switch_of.collect();
    let rates = stations.iter().map(|end| nodes.homes.bits_per_second(end));
    let rates: Vec<u64> = rates.collect();
    for (index, table) in root.tables("traffic", keys("traffic")).iter().enumerate() {
        let Some(traffic) = traffic(table, nodes, &stations) else {
            continue;
        };
        let ground = Ground {
            switch_of: &switch_of,
            bits_per_second: &rates,
            seed,
            end: nodes.duration,
            taken: flows.len(),
        };
        match traffic.expand(index, &ground) {
            Ok(mut more) => {
                if !matches!(traffic.kind, TrafficKind::Collective { .. }) {
                    take_lines(&mut more, nodes, &stations);
                }
                if let Some(flow) = more.iter().find(|flow| names.is_taken(&flow.name)) {
                    table.complain(
                        "kind",
                        format!(
                            "generates a flow `{}`, but a [[flow]] already has that name: rename it",
                            flow.name
                        ),
                    );
                }
                flows.extend(more);
            }
            Err(error) => table.complain(error.key, error.message),
        }
    }
}

/// Replaces the hosts of flows by the lines that they take.
fn take_lines(flows: &mut [Flow], nodes: &Nodes<'_>, stations: &[End]) {
    for flow in flows {
        let ends = [flow.from, flow.to].map(|station| stations[station]);
        [flow.from, flow.to] = nodes.homes.pick(&flow.name, ends, None);
    }
}

#[derive(Clone, Copy)]
enum Kind {
    Permutation,
    Random,
    Incast,
    AllToAll,
    Poisson,
    Collective(Collective),
}

impl Kind {
    const NAMED: [(&'static str, Self); 8] = [
        ("permutation", Self::Permutation),
        ("random", Self::Random),
        ("incast", Self::Incast),
        ("all-to-all", Self::AllToAll),
        ("poisson", Self::Poisson),
        (
            "ring-all-reduce",
            Self::Collective(Collective::RingAllReduce),
        ),
        (
            "tree-all-reduce",
            Self::Collective(Collective::TreeAllReduce),
        ),
        (
            "all-to-all-steps",
            Self::Collective(Collective::AllToAllSteps),
        ),
    ];

    /// The keys that apply only to this kind.
    fn keys(self) -> &'static [&'static str] {
        match self {
            Self::Permutation | Self::AllToAll => &["size", "on", "off"],
            Self::Random => &["flows", "size", "on", "off"],
            Self::Incast => &["fan-in", "to", "size", "on", "off"],
            Self::Poisson => &["load", "sizes", "pairs"],
            Self::Collective(_) => &["size", "group"],
        }
    }
}

fn traffic(table: &Table<'_>, nodes: &Nodes<'_>, stations: &[End]) -> Option<Traffic> {
    const COMMON: [&str; 8] = [
        "kind",
        "class",
        "rate",
        "frame",
        "transport",
        "answer-class",
        "start",
        "stop",
    ];
    table.require::<String>("kind")?;
    let kind = table.choice("kind", &Kind::NAMED)?;
    for key in keys("traffic") {
        if table.has(key) && !COMMON.contains(key) && !kind.keys().contains(key) {
            let message = format!(
                "does not apply to this kind; keys of this kind: {}",
                kind.keys().join(", ")
            );
            table.complain(key, message);
        }
    }
    let common = Common::read(table, nodes);
    let others = stations.len().saturating_sub(1) as u64;
    let kind = match kind {
        Kind::Permutation => TrafficKind::Permutation,
        Kind::AllToAll => TrafficKind::AllToAll,
        Kind::Random => {
            table.require::<u64>("flows");
            TrafficKind::Random {
                flows: within(table, "flows", 1, FLOW_COUNT_MAX as u64)? as usize,
            }
        }
        Kind::Incast => TrafficKind::Incast {
            to: station(table, "to", nodes, stations)?,
            fan_in: if table.has("fan-in") {
                within(table, "fan-in", 1, others)? as usize
            } else {
                others as usize
            },
        },
        Kind::Poisson => TrafficKind::Poisson {
            load: load(table)?,
            sizes: sizes(table, nodes.directory)?,
            pairs: table.choice("pairs", &Pairs::NAMED).unwrap_or_default(),
        },
        Kind::Collective(collective) => TrafficKind::Collective {
            collective,
            group: group(table, nodes, stations)?,
            size: match common.pattern {
                Pattern::Burst { size } => size,
                _ => {
                    table.miss("size", Bytes::EXAMPLE);
                    return None;
                }
            },
        },
    };
    Some(Traffic {
        kind,
        class: common.class?,
        rate: common.rate,
        frame: common.frame,
        pattern: common.pattern,
        transport: common.transport,
        answer_class: common.answer_class?,
        start: common.start,
        stop: common.stop,
    })
}

fn load(table: &Table<'_>) -> Option<Fraction> {
    let load: Fraction = table.require("load")?;
    if load.is_zero() {
        table.complain("load", "must be above zero");
        return None;
    }
    Some(load)
}

/// A size and its probability: `["10kB", 0.5]`.
struct Share(Bytes, Fraction);

impl FromItem for Share {
    const EXAMPLE: &'static str = "a pair such as [\"10kB\", 0.5]";
    fn from_item(item: &Item) -> Result<Self, String> {
        match &item.value {
            Value::Array(pair) => match pair.as_slice() {
                [size, probability] => {
                    let size = Bytes::from_item(size)?;
                    if size == Bytes::ZERO {
                        return Err("a size must be above zero".into());
                    }
                    Ok(Self(size, Fraction::from_item(probability)?))
                }
                _ => Err(format!("expected {}", Self::EXAMPLE)),
            },
            other => Err(format!(
                "expected {}, found {}",
                Self::EXAMPLE,
                other.kind()
            )),
        }
    }
}

/// `sizes`: pairs, the name of a known distribution, or a file with one.
enum Written {
    Shares(Vec<Share>),
    Named(String),
}

impl FromItem for Written {
    const EXAMPLE: &'static str =
        "pairs such as [[\"10kB\", 0.5], [\"1MB\", 0.5]], \"web-search\", \"fb-hadoop\", or a CSV file such as \"sizes.csv\"";
    fn from_item(item: &Item) -> Result<Self, String> {
        match &item.value {
            Value::Text(name) => Ok(Self::Named(name.clone())),
            _ => Vec::from_item(item).map(Self::Shares),
        }
    }
}

/// `directory` contains the files.
fn sizes(table: &Table<'_>, directory: &Path) -> Option<Sizes> {
    match table.require("sizes")? {
        Written::Shares(shares) => listed(table, shares),
        Written::Named(name) => match distribution(&name, directory) {
            Ok(distribution) => Some(Sizes::Distribution(Arc::new(distribution))),
            Err(message) => {
                table.complain("sizes", message);
                None
            }
        },
    }
}

fn listed(table: &Table<'_>, shares: Vec<Share>) -> Option<Sizes> {
    /// Tolerance for the sum of rounded thirds.
    const ROUNDING_IN_PARTS: u64 = 1000;
    let sum: u64 = shares.iter().map(|share| u64::from(share.1.parts())).sum();
    if sum.abs_diff(u64::from(Fraction::ONE_IN_PARTS)) > ROUNDING_IN_PARTS {
        let sum = sum as f64 / f64::from(Fraction::ONE_IN_PARTS);
        table.complain(
            "sizes",
            format!("the probabilities add up to {sum}; they must add up to 1"),
        );
        return None;
    }
    let shares = shares.into_iter();
    Some(Sizes::Listed(
        shares.map(|Share(size, share)| (size, share)).collect(),
    ))
}

/// Suffix of files with sizes.
pub(super) const SIZES_SUFFIX: &str = ".csv";

fn distribution(name: &str, directory: &Path) -> Result<Distribution, String> {
    if let Some(known) = Distribution::known(name) {
        return Ok(known);
    }
    if !name.ends_with(SIZES_SUFFIX) {
        let known = Distribution::KNOWN.map(|(name, _)| name);
        let message = unknown("value", name, &known);
        return Err(format!(
            "{message}, or a file with a name that ends in {SIZES_SUFFIX}"
        ));
    }
    let path = directory.join(name);
    let text = short_file(&path).map_err(|error| format!("{}: {error}", path.display()))?;
    Distribution::from_csv(&text).map_err(|error| format!("{}:{error}", path.display()))
}

/// The files named by any `[[traffic]]`.
pub(super) fn files(root: &Table<'_>) -> Vec<String> {
    let tables = root.tables("traffic", keys("traffic"));
    let named = tables.iter().filter_map(|table| match table.get("sizes") {
        Some(Written::Named(name)) if name.ends_with(SIZES_SUFFIX) => Some(name),
        _ => None,
    });
    named.collect()
}

/// Reads a regular file of moderate length.
pub(super) fn short_file(path: &Path) -> Result<String, String> {
    const LENGTH_MAX: u64 = 4 << 20;
    let refused = |error: std::io::Error| error.to_string();
    if !std::fs::metadata(path).map_err(refused)?.is_file() {
        return Err("is not a regular file".into());
    }
    let mut text = String::new();
    let file = File::open(path).map_err(refused)?;
    file.take(LENGTH_MAX + 1)
        .read_to_string(&mut text)
        .map_err(refused)?;
    if text.len() as u64 > LENGTH_MAX {
        return Err(format!("is longer than {LENGTH_MAX} bytes"));
    }
    Ok(text)
}

/// The place in `stations` of the host that `key` names.
fn station(table: &Table<'_>, key: &str, nodes: &Nodes<'_>, stations: &[End]) -> Option<usize> {
    let end = nodes.homes.end(table, key)?;
    let found = stations.iter().position(|station| *station == end);
    if found.is_none() {
        let host = nodes.homes.name(nodes.homes.host(end));
        table.complain(
            key,
            format!(
                "`{}` is a line of `{host}`: name the host",
                nodes.homes.name(end)
            ),
        );
    }
    found
}

/// The lines of a collective, in order: those of all hosts if the file does not set them.
fn group(table: &Table<'_>, nodes: &Nodes<'_>, stations: &[End]) -> Option<Vec<usize>> {
    const KEY: &str = "group";
    if !table.has(KEY) {
        let line = |end: &End| match end {
            End::Line(line) => Some(*line),
            End::Any(_) => {
                let host = nodes.homes.name(*end);
                table.complain(
                    "kind",
                    format!("`{host}` has several lines, and flows wait for those that arrive on their own: set `{KEY}`, with one line of each host"),
                );
                None
            }
        };
        return stations.iter().map(line).collect();
    }
    let names: Vec<String> = table.get(KEY)?;
    let mut group = Vec::with_capacity(names.len());
    let mut is_in = vec![false; nodes.hosts.len()];
    for name in &names {
        let host = find(table, KEY, "host", name, nodes.hosts)?;
        if std::mem::replace(&mut is_in[host], true) {
            table.complain(KEY, format!("`{name}` is listed twice"));
            return None;
        }
        group.push(host);
    }
    Some(group)
}

/// Longest frame of flows and traffic, needed before anything else of them is known. Ignores invalid values: they are
/// reported when the flow is read.
pub(super) fn longest_frame(root: &Table<'_>) -> Bytes {
    let tables = ["flow", "traffic"]
        .into_iter()
        .flat_map(|key| root.tables(key, keys(key)));
    let frames = tables.filter_map(|table| table.get::<Bytes>("frame"));
    frames.max().unwrap_or(Bytes::ZERO)
}
