//! `[[traffic]]`.

use weir_core::{BitRate, Bytes};

use super::flow::{Common, Nodes};
use super::{keys, reference};
use crate::document::{Item, Value};
use crate::reader::{within, FromItem, Names, Table};
use crate::scenario::{Flow, Traffic, TrafficKind, FLOW_COUNT_MAX};
use crate::Fraction;

/// The flows of every `[[traffic]]`, by the scenario's seed. `flows` are those written out, with their `names`.
pub(super) fn extend_flows(
    flows: &mut Vec<Flow>,
    root: &Table<'_>,
    nodes: &Nodes<'_>,
    names: &Names,
    line: BitRate,
    seed: u64,
) {
    for (index, table) in root.tables("traffic", keys("traffic")).iter().enumerate() {
        let Some(traffic) = traffic(table, nodes) else {
            continue;
        };
        let room = FLOW_COUNT_MAX.saturating_sub(flows.len());
        match traffic.expand(index, nodes.hosts.len(), line, seed, room) {
            Ok(more) => {
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

#[derive(Clone, Copy)]
enum Kind {
    Permutation,
    Random,
    Incast,
    AllToAll,
    Poisson,
}

impl Kind {
    const NAMED: [(&'static str, Self); 5] = [
        ("permutation", Self::Permutation),
        ("random", Self::Random),
        ("incast", Self::Incast),
        ("all-to-all", Self::AllToAll),
        ("poisson", Self::Poisson),
    ];

    /// The keys that mean something for this kind alone.
    fn keys(self) -> &'static [&'static str] {
        match self {
            Self::Permutation | Self::AllToAll => &["size", "on", "off"],
            Self::Random => &["flows", "size", "on", "off"],
            Self::Incast => &["fan-in", "to", "size", "on", "off"],
            Self::Poisson => &["load", "sizes"],
        }
    }
}

fn traffic(table: &Table<'_>, nodes: &Nodes<'_>) -> Option<Traffic> {
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
    let others = nodes.hosts.len().saturating_sub(1) as u64;
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
            to: reference(table, "to", "host", nodes.hosts)?,
            fan_in: if table.has("fan-in") {
                within(table, "fan-in", 1, others)? as usize
            } else {
                others as usize
            },
        },
        Kind::Poisson => TrafficKind::Poisson {
            load: load(table)?,
            sizes: sizes(table)?,
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

/// A size and how likely it is: `["10kB", 0.5]`.
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

fn sizes(table: &Table<'_>) -> Option<Vec<(Bytes, Fraction)>> {
    /// What three thirds may miss.
    const ROUNDING_IN_PARTS: u64 = 1000;
    let shares: Vec<Share> = table.require("sizes")?;
    let sum: u64 = shares.iter().map(|share| u64::from(share.1.parts())).sum();
    if sum.abs_diff(u64::from(Fraction::ONE_IN_PARTS)) > ROUNDING_IN_PARTS {
        let sum = sum as f64 / f64::from(Fraction::ONE_IN_PARTS);
        table.complain(
            "sizes",
            format!("the probabilities add up to {sum}; they must add up to 1"),
        );
        return None;
    }
    Some(
        shares
            .into_iter()
            .map(|Share(size, share)| (size, share))
            .collect(),
    )
}

/// What frames of flows and traffic need, before anything else of them is known. A wrong value counts for nothing here:
/// who reads the flow complains about it.
pub(super) fn longest_frame(root: &Table<'_>) -> Bytes {
    let tables = ["flow", "traffic"]
        .into_iter()
        .flat_map(|key| root.tables(key, keys(key)));
    let frames = tables.filter_map(|table| table.get::<Bytes>("frame"));
    frames.max().unwrap_or(Bytes::ZERO)
}
