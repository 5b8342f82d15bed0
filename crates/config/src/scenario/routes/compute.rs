//! Next hops computed from the topology.

use std::collections::VecDeque;

use super::Builder;
use crate::scenario::topology::Adjacency;
use crate::scenario::Host;

const UNREACHED: usize = usize::MAX;

/// Number of next hops of equal distance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::scenario) enum Members {
    /// The one whose link comes first in the file.
    First,
    /// All, in the order of the file.
    All,
}

/// Routes of every switch to its own hosts only.
pub(in crate::scenario) fn local(adjacency: &Adjacency, hosts: &[Host], routes: &mut Builder) {
    for (index, host) in hosts.iter().enumerate() {
        if let Some(port) = adjacency.port_to_host(host.switch, index) {
            routes.set(host.switch, index, &[port]);
        }
    }
}

/// Next hops on paths with the fewest links. O(switches with hosts × links).
pub(in crate::scenario) fn minimal(
    adjacency: &Adjacency,
    hosts: &[Host],
    members: Members,
    routes: &mut Builder,
) {
    let count = match members {
        Members::First => 1,
        Members::All => usize::MAX,
    };
    local(adjacency, hosts, routes);
    for (target, hosts) in targets(adjacency, hosts, routes) {
        let distance = distances(adjacency, target, |_, _| true);
        for switch in (0..adjacency.switch_count()).filter(|switch| *switch != target) {
            let nearer = adjacency.neighbours(switch).filter(|(_, next)| {
                distance[*next] != UNREACHED && distance[*next] + 1 == distance[switch]
            });
            let group: Vec<usize> = nearer.take(count).map(|(port, _)| port).collect();
            routes.set_all(switch, &hosts, &group);
        }
    }
}

/// Switches with hosts that are targets, with these hosts.
fn targets(
    adjacency: &Adjacency,
    hosts: &[Host],
    routes: &Builder,
) -> impl Iterator<Item = (usize, Vec<usize>)> {
    let mut by_switch = vec![Vec::new(); adjacency.switch_count()];
    for (index, host) in hosts.iter().enumerate() {
        if routes.is_target(index) {
            by_switch[host.switch].push(index);
        }
    }
    by_switch
        .into_iter()
        .enumerate()
        .filter(|(_, hosts)| !hosts.is_empty())
}

/// Up*/down* next hops (Autonet; the CLCM paper's reference 13). The upper end of a link is the one nearer to `root`,
/// or, if equally near, the one whose switch comes first in the file. A path goes up, then down, and never up again, so
/// links that wait for each other are ordered and form no loop.
///
/// Autonet's tables also consider the ingress port of a frame; ours have only the destination. A frame that has gone
/// down must therefore find, at any switch, a next hop that leads down: **a switch from which the destination can be
/// reached by going only down goes down**, by the fewest links, even if a shorter path starts upwards. Every other
/// switch goes up, to where the path is shortest. Each step down ends at a switch that can continue down, so no path
/// turns up again. O(switches with hosts × links).
pub(in crate::scenario) fn up_down(
    adjacency: &Adjacency,
    hosts: &[Host],
    root: usize,
    routes: &mut Builder,
) {
    let rank = ranks(adjacency, root);
    let mut upper_first: Vec<usize> = (0..adjacency.switch_count()).collect();
    upper_first.sort_unstable_by_key(|switch| rank[*switch]);
    local(adjacency, hosts, routes);
    for (target, hosts) in targets(adjacency, hosts, routes) {
        let down = distances(adjacency, target, |lower, upper| rank[upper] < rank[lower]);
        let mut length = down.clone();
        for switch in upper_first.iter().copied() {
            if switch == target {
                continue;
            }
            let goes_down = down[switch] != UNREACHED;
            let onwards = adjacency
                .neighbours(switch)
                .filter(|(_, next)| (rank[switch] < rank[*next]) == goes_down)
                .map(|(port, next)| (if goes_down { down[next] } else { length[next] }, port));
            // The first of the shortest: ports are in the order of the file.
            if let Some((rest, port)) = onwards.filter(|(rest, _)| *rest != UNREACHED).min() {
                length[switch] = rest + 1;
                routes.set_all(switch, &hosts, &[port]);
            }
        }
    }
}

/// Links from every switch to `target`, computed backwards over steps `may_step(from, to)`.
pub(in crate::scenario) fn distances(
    adjacency: &Adjacency,
    target: usize,
    may_step: impl Fn(usize, usize) -> bool,
) -> Vec<usize> {
    let mut distance = vec![UNREACHED; adjacency.switch_count()];
    let mut queue = VecDeque::from([target]);
    distance[target] = 0;
    while let Some(at) = queue.pop_front() {
        for (_, next) in adjacency.neighbours(at) {
            if distance[next] == UNREACHED && may_step(at, next) {
                distance[next] = distance[at] + 1;
                queue.push_back(next);
            }
        }
    }
    distance
}

/// Each switch's rank from the root down: links from the root, then the position in the file. In a part of the network
/// that `root` does not reach, the first switch is the root.
fn ranks(adjacency: &Adjacency, root: usize) -> Vec<(usize, usize)> {
    let mut level = distances(adjacency, root, |_, _| true);
    for switch in 0..level.len() {
        if level[switch] == UNREACHED {
            for (other, links) in distances(adjacency, switch, |_, _| true)
                .into_iter()
                .enumerate()
                .filter(|(_, links)| *links != UNREACHED)
            {
                level[other] = links;
            }
        }
    }
    level.into_iter().zip(0..).collect()
}
