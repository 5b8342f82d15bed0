//! `[baseline]`.

use super::{find, keys};
use crate::reader::Table;
use crate::scenario::routes::Walk;
use crate::scenario::topology::Adjacency;
use crate::scenario::{Baseline, Scenario};

pub(super) fn baseline(root: &Table<'_>, switches: &[String], adjacency: &Adjacency) -> Baseline {
    #[derive(Clone, Copy)]
    enum Kind {
        None,
        BufferPools,
        VirtualChannels,
    }
    const KINDS: [(&str, Kind); 3] = [
        ("none", Kind::None),
        ("buffer-pools", Kind::BufferPools),
        ("virtual-channels", Kind::VirtualChannels),
    ];
    let Some(table) = root.table("baseline", keys("baseline")) else {
        return Baseline::None;
    };
    if !table.has("kind") {
        table.require::<String>("kind");
    }
    let kind = table.choice("kind", &KINDS).unwrap_or(Kind::None);
    if !matches!(kind, Kind::VirtualChannels) && table.has("change-at") {
        table.complain(
            "change-at",
            "does not apply to this kind; only kind = \"virtual-channels\" changes at links",
        );
    }
    match kind {
        Kind::None => Baseline::None,
        Kind::BufferPools => Baseline::BufferPools,
        Kind::VirtualChannels => Baseline::VirtualChannels {
            change_at: change_at(&table, switches, adjacency),
        },
    }
}

fn change_at(table: &Table<'_>, switches: &[String], adjacency: &Adjacency) -> Vec<[usize; 2]> {
    const KEY: &str = "change-at";
    let pairs: Vec<Vec<String>> = table.require(KEY).unwrap_or_default();
    let mut links = Vec::with_capacity(pairs.len());
    for pair in &pairs {
        let [a, b] = pair.as_slice() else {
            table.complain(
                KEY,
                "a link in one direction has two ends: [[\"s4\", \"s1\"]]",
            );
            continue;
        };
        let from = find(table, KEY, "switch", a, switches);
        let to = find(table, KEY, "switch", b, switches);
        let (Some(from), Some(to)) = (from, to) else {
            continue;
        };
        if adjacency.port_to_switch(from, to).is_none() {
            table.complain(KEY, format!("no working link from `{a}` to `{b}`"));
        } else if links.contains(&[from, to]) {
            table.complain(KEY, format!("`{a}` to `{b}` is listed twice"));
        } else {
            links.push([from, to]);
        }
    }
    links
}

/// Checks that a lossless class has a priority for every change on the longest path of its flows.
pub(super) fn check_priorities(root: &Table<'_>, scenario: &Scenario, adjacency: &Adjacency) {
    if scenario.baseline == Baseline::None {
        return;
    }
    let changes = |from, to| scenario.baseline.rank_behind(0, from, to);
    let mut needed = vec![0; scenario.classes.len()];
    for (target, ways) in scenario.ways_by_target().into_iter().enumerate() {
        if ways.is_empty() {
            // A walk has a state for each switch, and most hosts of a large network receive nothing.
            continue;
        }
        let mut walk = Walk::with_cost(adjacency, &scenario.next_hops, target, changes);
        for (flow, from) in ways {
            let flow = &scenario.flows[flow];
            let is_answer = flow.to != target;
            let class = if is_answer {
                flow.answer_class
            } else {
                flow.class
            };
            if scenario.classes[class].mode.is_lossless() {
                let changes = walk.longest(scenario.hosts[from].switch).unwrap_or(0);
                needed[class] = needed[class].max(changes + 1);
            }
        }
    }
    let Some(table) = root.table("baseline", keys("baseline")) else {
        return;
    };
    for (class, needed) in scenario.classes.iter().zip(needed) {
        if class.priorities.len() < needed {
            let message = format!(
                "class `{}` has {} priorities; its frames need up to {needed}, one after another",
                class.name,
                class.priorities.len()
            );
            table.complain("kind", message);
        }
    }
}
