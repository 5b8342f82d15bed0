//! `flow.txt`: the number of flows, then the flows.

use weir_config::scenario::FLOW_COUNT_MAX;
use weir_core::{Bytes, Duration};

use super::super::units;
use super::super::words::{ImportError, Words};
use super::topology::Topology;
use super::Hpcc;

/// Maximum size of a flow: 1 TB.
const SIZE_MAX: u64 = 1_000_000_000_000;

/// Words of a flow.
pub(super) const WORDS: usize = 6;

#[derive(Clone, Copy, Debug)]
pub(super) struct Flow {
    pub(super) from: u64,
    pub(super) to: u64,
    /// `pg`.
    pub(super) priority: u64,
    pub(super) port: u64,
    /// Maximum size of its frames, headers included.
    pub(super) size: Bytes,
    /// As in the file.
    pub(super) start: Duration,
}

/// Reads `src dst pg dport size start_time` of each flow.
pub(super) fn read(files: &Hpcc<'_>, topology: &mut Topology) -> Result<Vec<Flow>, ImportError> {
    let mut words = Words::new(files.flows.name, files.flows.text);
    let count = words.number("how many flows there are", FLOW_COUNT_MAX as u64)?;
    let mut flows = Vec::new();
    for _ in 0..count {
        flows.push(flow(&mut words, files, topology)?);
    }
    Ok(flows)
}

fn flow(
    words: &mut Words<'_>,
    files: &Hpcc<'_>,
    topology: &mut Topology,
) -> Result<Flow, ImportError> {
    let mut host = |what: &str| {
        let word = words.next(what)?;
        let nodes = topology.node_count();
        let node = word.number(
            &format!("{what}; there are {nodes} nodes, from 0"),
            nodes.saturating_sub(1),
        )?;
        if topology.is_switch(node) {
            return Err(word.wrong(format!("{node} is a switch; flows go between hosts")));
        }
        if !topology.hosts.contains_key(&node) {
            return Err(word.wrong(format!(
                "host {node} has no link; add one to {}",
                files.topology.name
            )));
        }
        Ok((word, node))
    };
    let (_, from) = host("a flow's sender")?;
    let (word, to) = host("a flow's receiver")?;
    if from == to {
        return Err(word.wrong(format!("a flow from host {from} to itself; remove it")));
    }
    if !topology.is_joined(from, to) {
        return Err(word.wrong(format!(
            "no links of {} lead from host {from} to host {to}; add one between their switches",
            files.topology.name
        )));
    }
    let priority = words.number("a flow's priority group (pg)", 7)?;
    let port = words.number("a flow's destination port", u64::from(u16::MAX))?;
    let word = words.next("a flow's size in bytes")?;
    let payload = word.number("a flow's size in bytes", SIZE_MAX)?;
    if payload == 0 {
        return Err(word.wrong("a flow of no bytes; remove it"));
    }
    let frames = payload.div_ceil(files.payload.get().max(1));
    let word = words.next("when the flow starts")?;
    // Without a unit: seconds.
    let start = units::scaled(word.text, 9).ok_or_else(|| {
        word.wrong(format!(
            "`{}` is no time in seconds with up to nine decimals",
            word.text
        ))
    })?;
    Ok(Flow {
        from,
        to,
        priority,
        port,
        size: Bytes::new(payload + frames * files.header.get()),
        start: Duration::from_nanos(start),
    })
}
