//! Channels in use, and their dependencies.

use std::collections::VecDeque;

use weir_config::scenario::Graph;

use super::fabric::Fabric;
use super::sets::{meet, Sets};

/// Returns by channel the destinations of frames that can take it, if every switch with hosts sends to every other. A frame
/// does not return over its incoming link.
pub(super) fn channels_in_use(fabric: &Fabric, members: &Sets) -> Sets {
    let mut in_use = Sets::new(fabric.to.len(), fabric.edges.len());
    let mut own = Sets::new(fabric.switch_count(), fabric.edges.len());
    for edge in &fabric.edges {
        // Those to the switch itself have no next hop.
        own.of_mut(*edge).fill(u64::MAX);
    }
    let mut is_waiting = vec![false; fabric.switch_count()];
    let mut waiting: VecDeque<usize> = fabric.edges.iter().copied().collect();
    for edge in &fabric.edges {
        is_waiting[*edge] = true;
    }
    while let Some(switch) = waiting.pop_front() {
        is_waiting[switch] = false;
        let channels: Vec<usize> = fabric.leaving(switch).collect();
        for (channel, arrived) in
            channels
                .iter()
                .zip(from_others(fabric, &in_use, own.of(switch), &channels))
        {
            let mut has_grown = false;
            let sets = in_use.of_mut(*channel).iter_mut().zip(members.of(*channel));
            for ((word, members), arrived) in sets.zip(arrived) {
                let now = *word | members & arrived;
                has_grown |= now != *word;
                *word = now;
            }
            let next = fabric.to[*channel];
            if has_grown && !std::mem::replace(&mut is_waiting[next], true) {
                waiting.push_back(next);
            }
        }
    }
    in_use
}

/// Returns for each channel of a switch the destinations of frames that are there and came in by another link.
fn from_others(fabric: &Fabric, in_use: &Sets, own: &[u64], channels: &[usize]) -> Vec<Vec<u64>> {
    let arriving = |index: usize| in_use.of(fabric.back[channels[index]]);
    let unite = |set: &[u64], other: &[u64]| -> Vec<u64> {
        set.iter().zip(other).map(|(a, b)| a | b).collect()
    };
    // Prefix and suffix unions, so that no channel is read for each of the others.
    let mut sets = Vec::with_capacity(channels.len());
    let mut before = own.to_vec();
    for index in 0..channels.len() {
        sets.push(before.clone());
        before = unite(&before, arriving(index));
    }
    let mut behind = vec![0; own.len()];
    for index in (0..channels.len()).rev() {
        sets[index] = unite(&sets[index], &behind);
        behind = unite(&behind, arriving(index));
    }
    sets
}

/// Returns the channel dependency graph: an edge from a channel to one for which frames in the buffer at its end wait.
pub(super) fn dependencies(fabric: &Fabric, members: &Sets, in_use: &Sets) -> Graph {
    let mut graph = Graph::new(fabric.to.len());
    for switch in 0..fabric.switch_count() {
        for outward in fabric.leaving(switch) {
            let held = fabric.back[outward];
            for wanted in fabric.leaving(switch).filter(|other| *other != outward) {
                if meet(in_use.of(held), members.of(wanted)) {
                    graph.add(held, wanted);
                }
            }
        }
    }
    graph
}
