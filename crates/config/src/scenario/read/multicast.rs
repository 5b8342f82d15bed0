//! `[multicast]`.

use weir_core::Priority;

use super::{find, keys, reference};
use crate::reader::{within, Table};
use crate::scenario::routes::multicast::{check_tree, spanning_tree, Multicast, NoTree};
use crate::scenario::topology::Adjacency;
use crate::scenario::{HostKind, Link};
use crate::switch::{Class, STATIONS_MAX};

/// The given or computed tree; `None` if the file requests none and the hosts need none.
pub(super) fn multicast(
    root: &Table<'_>,
    switches: &[String],
    links: &[Link],
    adjacency: &Adjacency,
    (host_kind, host_count): (HostKind, usize),
) -> Option<Multicast> {
    const RATE_MAX: u64 = 1_000_000_000;
    let Some(table) = root.table("multicast", keys("multicast")) else {
        return (host_kind == HostKind::Kernel).then(|| Multicast {
            links: spanning_tree(adjacency, links, 0),
            edge_rate: None,
            fabric_rate: None,
            suppress: false,
        });
    };
    let rate = |key: &str| within(&table, key, 1, RATE_MAX).map(|rate| rate as u32);
    if table.has("links") && table.has("root") {
        table.complain(
            "root",
            "a tree has either `links`, or a `root` from which it is computed",
        );
    }
    let chosen = if table.has("links") {
        written(&table, switches, links, adjacency)
    } else {
        let at = match table.has("root") {
            true => reference(&table, "root", "switch", switches).unwrap_or(0),
            false => 0,
        };
        spanning_tree(adjacency, links, at)
    };
    let suppress = table.get_or("suppress", false);
    let obstacle = match host_kind {
        HostKind::Endpoint => Some("hosts that ask for addresses are those with a kernel: write `hosts = \"kernel\"`, or remove this line".to_owned()),
        HostKind::Kernel if host_count > STATIONS_MAX => Some(format!("there are {host_count} hosts, but a switch supports at most {STATIONS_MAX} stations: remove this line")),
        HostKind::Kernel => None,
    };
    if let Some(obstacle) = obstacle.filter(|_| suppress) {
        table.complain("suppress", obstacle);
    }
    Some(Multicast {
        links: chosen,
        edge_rate: rate("edge-rate"),
        fabric_rate: rate("fabric-rate"),
        suppress,
    })
}

/// The links named by the file, if they form a tree.
fn written(
    table: &Table<'_>,
    switches: &[String],
    links: &[Link],
    adjacency: &Adjacency,
) -> Vec<usize> {
    let pairs: Vec<String> = table.require("links").unwrap_or_default();
    let mut chosen = Vec::new();
    for pair in &pairs {
        let Some(link) = link(table, pair, switches, links) else {
            return Vec::new();
        };
        chosen.push(link);
    }
    let name = |switch: usize| &switches[switch];
    match check_tree(adjacency, links, &chosen) {
        Ok(()) => {}
        Err(NoTree::Loop(link)) => {
            let [a, b] = links[link].ends.map(name);
            table.complain(
                "links",
                format!("`{a}-{b}` closes a loop with the links before it, and frames to group addresses would circulate for ever: remove one of them"),
            );
        }
        Err(NoTree::Apart(a, b)) => table.complain(
            "links",
            format!(
                "the tree does not join the hosts of `{}` and `{}`: add links that lead from one to the other",
                name(a),
                name(b)
            ),
        ),
    }
    chosen.sort_unstable();
    chosen
}

/// The working link between two switches, named with a hyphen between their names.
fn link(table: &Table<'_>, pair: &str, switches: &[String], links: &[Link]) -> Option<usize> {
    // A switch's name may contain hyphens itself.
    let known = |name: &str| switches.iter().position(|known| known == name);
    let splits = pair.match_indices('-');
    let mut ends =
        splits.filter_map(|(at, _)| Some((known(&pair[..at])?, known(&pair[at + 1..])?)));
    let Some((a, b)) = ends.next() else {
        if let Some((first, second)) = pair.split_once('-') {
            let _ = find(table, "links", "switch", first, switches)
                .and_then(|_| find(table, "links", "switch", second, switches));
        } else {
            table.complain("links", format!("`{pair}` is not a link: write \"s1-s2\""));
        }
        return None;
    };
    let is_it = |link: &Link| !link.failed && (link.ends == [a, b] || link.ends == [b, a]);
    let found = links.iter().position(is_it);
    if found.is_none() {
        let [a, b] = [a, b].map(|end| &switches[end]);
        table.complain("links", format!("there is no working link `{a}-{b}`"));
    }
    found
}

/// Untagged frames have priority 0, and lossless frames are not flooded to groups.
pub(super) fn check_untagged(root: &Table<'_>, classes: &[Class]) {
    let untagged = Priority::ALL[0];
    let lossless =
        |class: &&Class| class.mode.is_lossless() && class.priorities.contains(&untagged);
    if let Some(class) = classes.iter().find(lossless) {
        root.problems().add(
            None,
            format!("class.{}", class.name),
            "frames to group addresses, such as ARP, have priority 0 and are flooded in lossy classes only: give the class another priority",
        );
    }
}
