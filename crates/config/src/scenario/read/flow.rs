//! `[[flow]]`, and the parts shared by flows and traffic.

use std::collections::BTreeMap;
use std::path::Path;

use weir_core::{BitRate, Bytes, Duration};

use super::homes::{End, Homes};
use super::{keys, reference, switch_list};
use crate::names::check_name;
use crate::reader::{Names, Table};
use crate::scenario::{After, Flow, Graph, Pattern, Transport};

/// The shortest Ethernet frame, and the longest that present switches accept, without FCS.
const FRAME_MIN: u64 = 60;
const FRAME_MAX: u64 = 9216;
/// Length of a flow's frames.
pub(super) const FRAME_DEFAULT: Bytes = Bytes::new(1500);

/// Objects that flows refer to.
pub(super) struct Nodes<'a> {
    /// All that a flow may use.
    pub(super) transports: &'a [(&'a str, Transport)],
    pub(super) switches: &'a [String],
    /// Lines of hosts.
    pub(super) hosts: &'a [String],
    pub(super) homes: &'a Homes<'a>,
    pub(super) classes: &'a [String],
    pub(super) duration: Duration,
    /// Directory of the files named in the scenario.
    pub(super) directory: &'a Path,
}

/// Keys shared by `[[flow]]` and `[[traffic]]`.
pub(super) struct Common {
    pub(super) class: Option<usize>,
    pub(super) rate: Option<BitRate>,
    pub(super) frame: Bytes,
    pub(super) pattern: Pattern,
    pub(super) transport: Transport,
    pub(super) answer_class: Option<usize>,
    pub(super) start: Duration,
    pub(super) stop: Duration,
}

impl Common {
    pub(super) fn read(table: &Table<'_>, nodes: &Nodes<'_>) -> Self {
        let rate = match table.get::<String>("rate") {
            Some(word) if word == "line" => None,
            Some(_) => table.get::<BitRate>("rate"),
            None => None,
        };
        let start = table.get_or("start", Duration::ZERO);
        let stop = table.get_or("stop", nodes.duration);
        if start >= stop || stop > nodes.duration {
            table.complain("stop", "start < stop ≤ duration must hold");
        }
        let class = reference(table, "class", "class", nodes.classes);
        let transport = table
            .choice("transport", nodes.transports)
            .unwrap_or_default();
        Self {
            class,
            rate,
            frame: frame(table),
            pattern: pattern(table),
            transport,
            answer_class: answer_class(table, nodes, transport, class),
            start,
            stop,
        }
    }
}

/// Default of `answer-class`.
fn answer_class(
    table: &Table<'_>,
    nodes: &Nodes<'_>,
    transport: Transport,
    class: Option<usize>,
) -> Option<usize> {
    const KEY: &str = "answer-class";
    if !table.has(KEY) {
        return class;
    }
    if !transport.is_answered() {
        table.complain(KEY, "needs a `transport`: without one, hosts do not answer");
    }
    reference(table, KEY, "class", nodes.classes)
}

fn frame(table: &Table<'_>) -> Bytes {
    let frame = table.get_or("frame", FRAME_DEFAULT);
    if let Err(message) = check_frame(frame) {
        table.complain("frame", message);
    }
    frame
}

/// Checks the length of a flow's frames.
pub(super) fn check_frame(frame: Bytes) -> Result<(), String> {
    if (FRAME_MIN..=FRAME_MAX).contains(&frame.get()) {
        return Ok(());
    }
    Err(format!(
        "must be between {FRAME_MIN} B and {FRAME_MAX} B, header and tag included"
    ))
}

fn pattern(table: &Table<'_>) -> Pattern {
    let is_on_off = table.has("on") || table.has("off");
    if is_on_off && table.has("size") {
        table.complain("size", "a flow has either `size`, or `on` and `off`");
        return Pattern::Steady;
    }
    if is_on_off {
        let on = above_zero(table, "on", table.require("on"));
        let off = above_zero(table, "off", table.require("off"));
        return match (on, off) {
            (Some(on), Some(off)) => Pattern::OnOff { on, off },
            _ => Pattern::Steady,
        };
    }
    match table.get::<Bytes>("size") {
        None => Pattern::Steady,
        Some(Bytes::ZERO) => {
            table.complain("size", "must be above zero");
            Pattern::Steady
        }
        Some(size) => Pattern::Burst { size },
    }
}

/// Reports a zero.
pub(super) fn above_zero(
    table: &Table<'_>,
    key: &str,
    value: Option<Duration>,
) -> Option<Duration> {
    if value.is_some_and(Duration::is_zero) {
        table.complain(key, "must be above zero");
        return None;
    }
    value
}

/// `name`, which it records, and the hosts `from` and `to`.
pub(super) fn name_and_ends(
    table: &Table<'_>,
    nodes: &Nodes<'_>,
    names: &Names,
) -> (Option<String>, [Option<End>; 2]) {
    let name: Option<String> = table.require("name");
    if let Some(name) = &name {
        names.note(table, "name", name);
        check_name(table, "name", name);
    }
    let ends = ["from", "to"].map(|end| nodes.homes.end(table, end));
    let [from, to] = ends.map(|end| end.map(|end| nodes.homes.host(end)));
    if from.is_some() && from == to {
        table.complain("to", "must be another host than `from`");
    }
    (name, ends)
}

/// Reads `[[flow]]` and records the names.
pub(super) fn flows(root: &Table<'_>, nodes: &Nodes<'_>, names: &Names) -> Vec<Flow> {
    let tables = root.tables("flow", keys("flow"));
    let flows: Vec<Option<Flow>> = tables
        .iter()
        .map(|table| {
            let (name, [from, to]) = name_and_ends(table, nodes, names);
            let via = if table.has("via") {
                Some(switch_list(table, "via", nodes.switches)?)
            } else {
                None
            };
            let common = Common::read(table, nodes);
            let name = name?;
            let [from, to] = nodes.homes.pick(&name, [from?, to?], via.as_deref());
            Some(Flow {
                name,
                from,
                to,
                via,
                class: common.class?,
                rate: common.rate,
                frame: common.frame,
                start: common.start,
                stop: common.stop,
                pattern: common.pattern,
                transport: common.transport,
                answer_class: common.answer_class?,
                after: Vec::new(),
            })
        })
        .collect();
    // After an invalid flow, indices of others would be wrong.
    let count = flows.len();
    let mut flows: Vec<Flow> = flows.into_iter().flatten().collect();
    if flows.len() == count {
        add_waits(&tables, &mut flows, nodes.homes);
    }
    flows
}

/// Reads `after` and `compute` of each table.
fn add_waits(tables: &[Table<'_>], flows: &mut [Flow], homes: &Homes<'_>) {
    let mut graph = Graph::new(flows.len());
    let names: BTreeMap<String, usize> = flows
        .iter()
        .enumerate()
        .map(|(index, flow)| (flow.name.clone(), index))
        .collect();
    for (index, table) in tables.iter().enumerate() {
        let after = waits((table, tables), index, flows, &names, homes);
        for wait in &after {
            graph.add(wait.flow, index);
        }
        flows[index].after = after;
    }
    // The first one suffices as an example.
    if let Some(circle) = graph.first_cycle() {
        let names: Vec<&str> = circle
            .iter()
            .map(|flow| flows[*flow].name.as_str())
            .collect();
        tables[circle[0]].complain(
            "after",
            format!(
                "{} wait for each other: none of them would begin",
                names.join(", ")
            ),
        );
    }
}

/// `table` is that of flow `index`, one of `tables`.
fn waits(
    (table, tables): (&Table<'_>, &[Table<'_>]),
    index: usize,
    flows: &[Flow],
    names: &BTreeMap<String, usize>,
    homes: &Homes<'_>,
) -> Vec<After> {
    let after: Vec<String> = table.get_or("after", Vec::new());
    let compute: Vec<Duration> = table.get_or("compute", Vec::new());
    if table.has("compute") && compute.len() != after.len() {
        let message = format!(
            "has {} times for {} flows in `after`: give one for each",
            compute.len(),
            after.len()
        );
        table.complain("compute", message);
    }
    let mut waits: Vec<After> = Vec::with_capacity(after.len());
    for (place, name) in after.iter().enumerate() {
        let Some(flow) = names.get(name).copied() else {
            table.complain("after", format!("there is no [[flow]] `{name}`"));
            continue;
        };
        let message = if flow == index {
            Some("waits for itself".to_owned())
        } else if homes.is_any(table, "from") || homes.is_any(&tables[flow], "to") {
            Some(format!(
                "the line on which `{name}` arrives must be the one on which this flow leaves: name one line in both, not a host of several"
            ))
        } else if flows[flow].to != flows[index].from {
            Some(format!(
                "`{name}` does not end at this flow's sender, which therefore cannot wait for it"
            ))
        } else if !matches!(flows[flow].pattern, Pattern::Burst { .. }) {
            Some(format!("`{name}` never ends: give it a `size`"))
        } else if waits.iter().any(|wait| wait.flow == flow) {
            Some(format!("`{name}` is listed twice"))
        } else {
            None
        };
        match message {
            Some(message) => table.complain("after", message),
            None => waits.push(After {
                flow,
                compute: compute.get(place).copied().unwrap_or(Duration::ZERO),
            }),
        }
    }
    waits
}
