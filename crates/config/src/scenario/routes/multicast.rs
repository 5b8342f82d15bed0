//! The tree for frames to group addresses.

use std::collections::VecDeque;

use weir_core::config::FloodConfig;

use crate::scenario::topology::Adjacency;
use crate::scenario::{Link, PortPeer, Scenario, SwitchPort};
use crate::switch::MulticastConfig;

/// Forwarding of frames to group addresses, and its limits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Multicast {
    /// The links of the tree, by index in [`Scenario::links`], in ascending order. A network in several parts has a
    /// tree in each.
    pub links: Vec<usize>,
    /// Flooded frames per second from one host; `None` for unlimited.
    pub edge_rate: Option<u32>,
    /// Flooded frames per second from one link between switches; `None` for unlimited.
    pub fabric_rate: Option<u32>,
    /// Requests for the MAC addresses of hosts are sent only to these hosts.
    pub suppress: bool,
}

/// The links of a tree with the shortest paths from `root` to every switch with hosts, for each part of the network.
/// The search is breadth first in the order of the ports, so a file always has the same tree. Branches that end at a
/// switch without hosts are omitted. O(switches + links).
pub(in crate::scenario) fn spanning_tree(
    adjacency: &Adjacency,
    links: &[Link],
    root: usize,
) -> Vec<usize> {
    let count = adjacency.switch_count();
    // By switch: its predecessor.
    let mut from = vec![None; count];
    let mut is_reached = vec![false; count];
    let mut order = Vec::with_capacity(count);
    for start in std::iter::once(root).chain(0..count) {
        if is_reached.get(start).copied().unwrap_or(true) {
            continue;
        }
        is_reached[start] = true;
        let mut next = VecDeque::from([start]);
        while let Some(at) = next.pop_front() {
            order.push(at);
            for (_, to) in adjacency.neighbours(at) {
                if !is_reached[to] {
                    is_reached[to] = true;
                    from[to] = Some(at);
                    next.push_back(to);
                }
            }
        }
    }
    // True for switches with hosts at or behind them; those reached last are the leaves. A root without hosts and with a
    // single branch is cut off.
    let mut branches: Vec<usize> = vec![0; count];
    let has_own = |switch: usize| adjacency.has_hosts(switch);
    for at in order.iter().rev() {
        if has_own(*at) || branches[*at] > 0 {
            if let Some(above) = from[*at] {
                branches[above] += 1;
            }
        } else {
            from[*at] = None;
        }
    }
    for at in &order {
        let is_top = from[*at].is_none();
        if is_top && !has_own(*at) && branches[*at] == 1 {
            // The switches below come later in this order, and are handled in their turn.
            let below = (0..count).find(|to| from[*to] == Some(*at));
            below.into_iter().for_each(|to| from[to] = None);
        }
    }
    let is_chosen = |link: &Link| {
        let [a, b] = link.ends;
        !link.failed && (from[a] == Some(b) || from[b] == Some(a))
    };
    let numbered = links.iter().enumerate();
    let chosen = numbered.filter(|(_, link)| is_chosen(link));
    chosen.map(|(number, _)| number).collect()
}

/// Fault of an explicit tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::scenario) enum NoTree {
    /// This link forms a loop with earlier ones.
    Loop(usize),
    /// These two switches with hosts are connected by working links, but not by the tree.
    Apart(usize, usize),
}

/// Checks that `chosen` links form no loop and connect all switches with hosts that working links connect.
pub(in crate::scenario) fn check_tree(
    adjacency: &Adjacency,
    links: &[Link],
    chosen: &[usize],
) -> Result<(), NoTree> {
    let count = adjacency.switch_count();
    let mut on_tree: Vec<usize> = (0..count).collect();
    for link in chosen {
        let [a, b] = links[*link].ends.map(|end| top(&mut on_tree, end));
        if a == b {
            return Err(NoTree::Loop(*link));
        }
        on_tree[a] = b;
    }
    let mut parts: Vec<usize> = (0..count).collect();
    for link in links.iter().filter(|link| !link.failed) {
        let [a, b] = link.ends.map(|end| top(&mut parts, end));
        parts[a] = b;
    }
    // By part of the network: its first switch with hosts.
    let mut first = vec![None; count];
    for switch in (0..count).filter(|switch| adjacency.has_hosts(*switch)) {
        let known = first[top(&mut parts, switch)].get_or_insert(switch);
        if top(&mut on_tree, *known) != top(&mut on_tree, switch) {
            return Err(NoTree::Apart(*known, switch));
        }
    }
    Ok(())
}

/// The representative of a part (union-find); halves the path to it.
fn top(parts: &mut [usize], mut at: usize) -> usize {
    while parts[at] != at {
        parts[at] = parts[parts[at]];
        at = parts[at];
    }
    at
}

impl Scenario {
    /// [`multicast_of`](Self::multicast_of) with port numbers.
    pub(in crate::scenario) fn flood_of(&self, switch: usize, ports: &[SwitchPort]) -> FloodConfig {
        self.multicast_of(switch, ports).flood(|name| {
            let mut ports = ports.iter();
            ports.position(|port| self.peer_name(port.peer) == name)
        })
    }

    /// `[multicast]` of one switch with these ports, which are named after their peers.
    pub fn multicast_of(&self, switch: usize, ports: &[SwitchPort]) -> MulticastConfig {
        let Some(multicast) = &self.multicast else {
            return MulticastConfig {
                edge_rate: None,
                ..MulticastConfig::default()
            };
        };
        let chosen = multicast.links.iter().map(|link| self.links[*link].ends);
        let peers: Vec<usize> = chosen
            .filter_map(|[a, b]| match switch {
                _ if a == switch => Some(b),
                _ if b == switch => Some(a),
                _ => None,
            })
            .collect();
        let is_on = |port: &&SwitchPort| match port.peer {
            PortPeer::Switch(peer) => peers.contains(&peer),
            PortPeer::Host(_) => true,
        };
        let tree = ports.iter().filter(is_on);
        MulticastConfig {
            tree: Some(
                tree.map(|port| self.peer_name(port.peer).to_owned())
                    .collect(),
            ),
            edge_rate: multicast.edge_rate,
            fabric_rate: multicast.fabric_rate,
            suppress: multicast.suppress,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::scenario::{Host, LinkProperties};
    use weir_core::{BitRate, Duration, FeedbackCoding, MacAddress, PauseRule, Police};

    const PROPERTIES: LinkProperties = LinkProperties {
        rate: BitRate::from_mbit(100),
        delay: Duration::ZERO,
        cable: None,
        reaction: None,
        round_trip: Duration::ZERO,
        feedback: FeedbackCoding::Pfc,
        known: true,
    };

    fn link(a: usize, b: usize, failed: bool) -> Link {
        Link {
            ends: [a, b],
            failed,
            properties: PROPERTIES,
        }
    }

    fn host(switch: usize) -> Host {
        Host {
            name: String::new(),
            switch,
            obeys_pfc: true,
            obeys_credits: true,
            police: Police::Off,
            pause: PauseRule::Ignore,
            address: MacAddress::default(),
            line: PROPERTIES,
        }
    }

    proptest! {
        /// In any network, in one part or several: the computed tree connects all hosts, without a superfluous link,
        /// and any further link forms a loop or leads to a switch that is not needed.
        #[test]
        fn the_computed_routes_form_a_tree(
            pairs in prop::collection::btree_set((0usize..12, 0usize..12), 0..30),
            failed in any::<u32>(),
            with_hosts in any::<u16>(),
            root in 0usize..12,
        ) {
            let pairs = pairs.into_iter().filter(|(a, b)| a < b).enumerate();
            let links: Vec<Link> = pairs
                .map(|(number, (a, b))| link(a, b, failed >> (number % 32) & 7 == 0))
                .collect();
            let hosts: Vec<Host> = (0..12).filter(|switch| with_hosts >> switch & 1 == 1).map(host).collect();
            let adjacency = Adjacency::new(12, &hosts, &links);
            let tree = spanning_tree(&adjacency, &links, root);
            prop_assert_eq!(check_tree(&adjacency, &links, &tree), Ok(()));
            for without in 0..tree.len() {
                let mut less = tree.clone();
                less.remove(without);
                prop_assert!(matches!(check_tree(&adjacency, &links, &less), Err(NoTree::Apart(..))));
            }
            let is_on = |switch: usize| tree.iter().any(|link| links[*link].ends.contains(&switch));
            for (number, link) in links.iter().enumerate() {
                if !link.failed && !tree.contains(&number) && link.ends.iter().all(|end| is_on(*end)) {
                    let more: Vec<usize> = tree.iter().copied().chain([number]).collect();
                    prop_assert_eq!(check_tree(&adjacency, &links, &more), Err(NoTree::Loop(number)));
                }
            }
        }
    }

    #[test]
    fn a_ring_is_cut_where_it_is_farthest_from_the_root() {
        let links: Vec<Link> = (0..4).map(|a| link(a, (a + 1) % 4, false)).collect();
        let hosts: Vec<Host> = (0..4).map(host).collect();
        let adjacency = Adjacency::new(4, &hosts, &links);
        assert_eq!(spanning_tree(&adjacency, &links, 0), [0, 1, 3]);
        assert_eq!(spanning_tree(&adjacency, &links, 2), [0, 1, 2]);
    }

    #[test]
    fn an_unneeded_spine_is_not_on_the_tree() {
        // Switches 0 and 1 are spines, 2 and 3 leaves with hosts.
        let links = [(0, 2), (0, 3), (1, 2), (1, 3)].map(|(a, b)| link(a, b, false));
        let adjacency = Adjacency::new(4, &[2, 3].map(host), &links);
        assert_eq!(spanning_tree(&adjacency, &links, 0), [0, 1]);
        assert_eq!(spanning_tree(&adjacency, &links, 1), [2, 3]);
    }
}
