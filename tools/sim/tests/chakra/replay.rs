//! The slow model: replays each rank's nodes, one after another.

use std::collections::BTreeMap;

use weir_sim::import::AllReduce;

use crate::chakra::wire::{
    Node, Value, ALL_GATHER, ALL_REDUCE, ALL_TO_ALL, COMP, RECV, REDUCE_SCATTER, SEND,
};

/// Returns the start of each flow by name if a message takes a microsecond plus a nanosecond for each byte: replays each
/// rank's nodes until no time changes any more.
pub fn replay(ranks: &[Vec<Node>], all_reduce: AllReduce) -> BTreeMap<String, u64> {
    let count = ranks.len();
    let attribute = |node: &Node, name: &str| {
        let found = node.attributes.iter().find(|(other, _)| *other == name);
        match found.map(|(_, value)| value) {
            Some(Value::Int64(value) | Value::Uint32(value) | Value::Uint64(value)) => *value,
            other => panic!("{name}: {other:?}"),
        }
    };
    let mut ends: BTreeMap<(usize, u64), u64> = BTreeMap::new();
    let mut sent: BTreeMap<String, u64> = BTreeMap::new();
    loop {
        let before = (ends.clone(), sent.clone());
        let begin = |ends: &BTreeMap<(usize, u64), u64>, rank: usize, node: &Node| {
            let waits = node.data.iter().chain(&node.control);
            let waits = waits.map(|id| ends.get(&(rank, *id)).copied().unwrap_or(0));
            waits.max().unwrap_or(0)
        };
        for rank in 0..count {
            for node in &ranks[rank] {
                let began = begin(&ends, rank, node);
                let mut end = began;
                match node.kind {
                    COMP => end += node.micros * 1000,
                    SEND => {
                        sent.insert(format!("r{rank}-n{}", node.id), began);
                    }
                    RECV => {
                        let from = attribute(node, "comm_src") as usize;
                        // There is one message for each pair and tag.
                        let tag = attribute(node, "comm_tag");
                        let of_pair = ranks[from].iter().find(|other| {
                            other.kind == SEND
                                && attribute(other, "comm_dst") as usize == rank
                                && attribute(other, "comm_tag") == tag
                        });
                        let of_pair = of_pair.unwrap();
                        let at = sent.get(&format!("r{from}-n{}", of_pair.id)).copied();
                        end = end.max(at.unwrap_or(0) + took(attribute(of_pair, "comm_size")));
                    }
                    _ => {
                        let begins: Vec<u64> = (0..count)
                            .map(|other| {
                                // Collectives have the same number in all ranks here.
                                let of_rank = ranks[other].iter().find(|other| other.id == node.id);
                                begin(&ends, other, of_rank.unwrap())
                            })
                            .collect();
                        let kind = attribute(node, "comm_type");
                        let size = attribute(node, "comm_size");
                        let (messages, all) = together(kind, size, &begins, node.id, all_reduce);
                        sent.extend(messages);
                        end = end.max(all[rank]);
                    }
                }
                ends.insert((rank, node.id), end);
            }
        }
        if (&ends, &sent) == (&before.0, &before.1) {
            return sent;
        }
    }
}

pub fn took(payload: u64) -> u64 {
    1000 + payload + payload.div_ceil(1000) * 48
}

/// Returns when the messages of a collective are sent, and when each rank has received all.
pub fn together(
    kind: u64,
    size: u64,
    begins: &[u64],
    id: u64,
    all_reduce: AllReduce,
) -> (BTreeMap<String, u64>, Vec<u64>) {
    let count = begins.len();
    let part = size.div_ceil(count as u64);
    let mut sent = BTreeMap::new();
    let mut ends = begins.to_vec();
    let ring = match kind {
        ALL_REDUCE if all_reduce == AllReduce::Ring => Some((2 * count - 2, part)),
        ALL_GATHER => Some((count - 1, size)),
        REDUCE_SCATTER => Some((count - 1, part)),
        _ => None,
    };
    if let Some((steps, part)) = ring {
        let mut has = begins.to_vec();
        for step in 0..steps {
            let now = has.clone();
            for (from, sends) in now.into_iter().enumerate() {
                sent.insert(format!("r{from}-n{id}-s{step}"), sends);
                let to = (from + 1) % count;
                let arrives = sends + took(part);
                has[to] = begins[to].max(arrives);
                ends[to] = ends[to].max(arrives);
            }
        }
    } else if kind == ALL_TO_ALL {
        for (from, &sends) in begins.iter().enumerate() {
            for to in (0..count).filter(|to| *to != from) {
                sent.insert(format!("r{from}-n{id}-to{to}"), sends);
                ends[to] = ends[to].max(sends + took(part));
            }
        }
    } else {
        let mut up = begins.to_vec();
        for member in (1..count).rev() {
            sent.insert(format!("r{member}-n{id}-up"), up[member]);
            let parent = (member - 1) / 2;
            up[parent] = up[parent].max(up[member] + took(size));
        }
        let mut has = up.clone();
        ends[0] = up[0];
        for member in 1..count {
            let parent = (member - 1) / 2;
            let at = if parent == 0 { up[0] } else { has[parent] };
            sent.insert(
                format!("r{parent}-n{id}-down{member}"),
                at.max(begins[parent]),
            );
            has[member] = at.max(begins[parent]) + took(size);
            ends[member] = has[member];
        }
    }
    (sent, ends)
}
