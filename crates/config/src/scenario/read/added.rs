//! Flows of the caller, which have the rules of those in a file.

use std::collections::BTreeMap;

use weir_core::Bytes;

use super::flow::{check_frame, Nodes, FRAME_DEFAULT};
use super::homes::End;
use crate::names::legal_name;
use crate::reader::{unknown, Names, Table};
use crate::scenario::{AddedFlow, Additions, Flow, Pattern, Transport, FLOW_COUNT_MAX};

/// Number of wrong flows that are reported: those of a program are all wrong for the same reason.
const TOLD_MAX: usize = 20;

/// A problem of a flow: its key, and a message.
type Wrong = (&'static str, String);

/// Appends the caller's flows to `flows`, which are those of the file with their `names`, and gives all the caller's
/// transport, if it has one for all.
pub(super) fn extend_flows(
    flows: &mut Vec<Flow>,
    root: &Table<'_>,
    nodes: &Nodes<'_>,
    names: &Names,
    additions: &Additions,
) {
    let problems = root.problems();
    check_transports(root, additions);
    let room = FLOW_COUNT_MAX.saturating_sub(flows.len());
    if additions.flows.len() > room {
        let message = format!("are too many; the maximum is {FLOW_COUNT_MAX}");
        problems.add(None, "flows", message);
        return;
    }
    for flow in flows.iter() {
        names.take(&flow.name);
    }
    let mut ends = BTreeMap::new();
    let mut wrong = 0;
    for (index, added) in additions.flows.iter().enumerate() {
        match flow(index, added, nodes, names, &mut ends) {
            Ok(flow) => flows.push(flow),
            Err((key, message)) => {
                problems.add(None, format!("flows.{index}.{key}"), message);
                wrong += 1;
            }
        }
        if wrong == TOLD_MAX {
            break;
        }
    }
    if let Some(transport) = additions.every_flow {
        for flow in flows {
            flow.transport = transport;
        }
    }
}

/// A name of our own cannot have another meaning.
fn check_transports(root: &Table<'_>, additions: &Additions) {
    for (place, name) in additions.transports.iter().enumerate() {
        let is_ours = Transport::NAMED.iter().any(|(known, _)| known == name);
        if is_ours || additions.transports[..place].contains(name) {
            let message = format!("`{name}` is the name of another transport");
            root.problems().add(None, "transports", message);
        }
    }
}

/// `ends` are those found already.
fn flow<'a>(
    index: usize,
    added: &'a AddedFlow,
    nodes: &Nodes<'_>,
    names: &Names,
    ends: &mut BTreeMap<&'a str, End>,
) -> Result<Flow, Wrong> {
    let name = match &added.name {
        Some(name) => name.clone(),
        None => format!("added-{}", index + 1),
    };
    legal_name(&name).map_err(|message| ("name", message))?;
    if names.is_taken(&name) {
        let message = format!("`{name}` is already used; names must be unique");
        return Err(("name", message));
    }
    let mut end = |key: &'static str, host: &'a String| -> Result<End, Wrong> {
        if let Some(end) = ends.get(host.as_str()) {
            return Ok(*end);
        }
        let end = nodes.homes.named(host);
        let end = end.map_err(|message| (key, message))?;
        ends.insert(host, end);
        Ok(end)
    };
    let both = [end("from", &added.from)?, end("to", &added.to)?];
    let [from, to] = both.map(|end| nodes.homes.host(end));
    if from == to {
        return Err(("to", "must be another host than `from`".to_owned()));
    }
    if added.size == Bytes::ZERO {
        return Err(("size", "must be above zero".to_owned()));
    }
    if added.start >= nodes.duration {
        return Err(("start", "must be before the end of traffic".to_owned()));
    }
    let frame = added.frame.unwrap_or(FRAME_DEFAULT);
    check_frame(frame).map_err(|message| ("frame", message))?;
    let class = class(added, nodes)?;
    let transport = transport(added, nodes)?;
    names.take(&name);
    let [from, to] = nodes.homes.pick(&name, both, None);
    Ok(Flow {
        name,
        from,
        to,
        via: None,
        class,
        rate: None,
        frame,
        start: added.start,
        stop: nodes.duration,
        pattern: Pattern::Burst { size: added.size },
        transport,
        answer_class: class,
        after: Vec::new(),
    })
}

fn class(added: &AddedFlow, nodes: &Nodes<'_>) -> Result<usize, Wrong> {
    let Some(name) = &added.class else {
        let none = || ("class", "the scenario has no [[class]]".to_owned());
        return nodes.classes.first().map(|_| 0).ok_or_else(none);
    };
    let found = nodes.classes.iter().position(|known| known == name);
    found.ok_or_else(|| {
        let known: Vec<&str> = nodes.classes.iter().map(String::as_str).collect();
        ("class", unknown("class", name, &known))
    })
}

fn transport(added: &AddedFlow, nodes: &Nodes<'_>) -> Result<Transport, Wrong> {
    let Some(name) = &added.transport else {
        return Ok(Transport::Open);
    };
    let found = nodes.transports.iter().find(|(known, _)| known == name);
    found.map(|(_, transport)| *transport).ok_or_else(|| {
        let known: Vec<&str> = nodes.transports.iter().map(|(name, _)| *name).collect();
        ("transport", unknown("value", name, &known))
    })
}
