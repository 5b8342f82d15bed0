//! Cyclic buffer dependencies that routes close: the condition for a credit loop deadlock.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use weir_core::{ClassMode, Priority};

use super::routes::Walk;
use super::topology::Adjacency;
use super::Scenario;

/// A link in one direction, by its two switches. It stands for the ingress buffer at its end.
type Channel = (usize, usize);
/// By channel: those that frames in its buffer wait for.
type Dependencies = BTreeMap<Channel, BTreeSet<Channel>>;

/// A cyclic sequence of switches, each of which holds frames that wait for the next. The smallest channel comes first.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct CreditLoop {
    /// The priority whose buffers wait for each other.
    pub priority: Priority,
    /// The switches, each once; the last one sends to the first.
    pub switches: Vec<usize>,
}

impl Scenario {
    /// The credit loops that the routes of the lossless flows close: for each link on a cycle of the channel dependency
    /// graph, a shortest cycle through it. Empty exactly when that graph has no cycle. A flow with `via` counts by that way,
    /// any other by every member that its hash may pick.
    ///
    /// O(links²) for each priority.
    pub fn credit_loops(&self) -> Vec<CreditLoop> {
        let adjacency = Adjacency::new(self.switches.len(), &self.hosts, &self.links);
        let mut graphs: BTreeMap<Priority, Dependencies> = BTreeMap::new();
        for (index, flow) in self.flows.iter().enumerate() {
            if matches!(self.classes[flow.class].mode, ClassMode::Lossy { .. }) {
                continue;
            }
            let channels = match &flow.via {
                Some(way) => way.windows(2).map(|pair| (pair[0], pair[1])).collect(),
                None => Walk::new(&adjacency, &self.next_hops, flow.to)
                    .links(self.hosts[flow.from].switch),
            };
            let graph = graphs.entry(self.priority(index)).or_default();
            for held in &channels {
                let next = channels.iter().filter(|next| next.0 == held.1);
                graph.entry(*held).or_default().extend(next);
            }
        }
        let loops = graphs.iter().flat_map(|(priority, graph)| {
            cycles(graph).into_iter().map(|channels| CreditLoop {
                priority: *priority,
                switches: channels.into_iter().map(|(from, _)| from).collect(),
            })
        });
        loops.collect()
    }

    /// `s1 → s2 → s3 → s1`.
    pub fn credit_loop_text(&self, credit_loop: &CreditLoop) -> String {
        let around = credit_loop.switches.iter();
        let names: Vec<&str> = around
            .chain(credit_loop.switches.first())
            .map(|switch| self.switches[*switch].as_str())
            .collect();
        names.join(" → ")
    }
}

/// For each channel on a cycle a shortest cycle through it, each cycle once.
fn cycles(graph: &Dependencies) -> Vec<Vec<Channel>> {
    let shortest = graph.keys().filter_map(|start| shortest(graph, *start));
    let distinct: BTreeSet<Vec<Channel>> = shortest.collect();
    distinct.into_iter().collect()
}

fn shortest(graph: &Dependencies, start: Channel) -> Option<Vec<Channel>> {
    let mut before: BTreeMap<Channel, Channel> = BTreeMap::new();
    let mut queue = VecDeque::from([start]);
    while let Some(at) = queue.pop_front() {
        for next in graph.get(&at).into_iter().flatten() {
            if *next == start {
                let mut cycle = vec![at];
                while let Some(previous) = before.get(cycle.last()?) {
                    cycle.push(*previous);
                }
                cycle.reverse();
                let smallest = (0..cycle.len()).min_by_key(|index| cycle[*index])?;
                cycle.rotate_left(smallest);
                return Some(cycle);
            }
            if !before.contains_key(next) {
                before.insert(*next, at);
                queue.push_back(*next);
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn graph(edges: &[(usize, usize)]) -> Dependencies {
        let channel = |number| (number, number + 100);
        let mut graph = Dependencies::new();
        for (from, to) in edges {
            graph
                .entry(channel(*from))
                .or_default()
                .insert(channel(*to));
        }
        graph
    }

    fn found(edges: &[(usize, usize)]) -> Vec<Vec<usize>> {
        let numbers = |cycle: Vec<Channel>| cycle.into_iter().map(|(from, _)| from).collect();
        cycles(&graph(edges)).into_iter().map(numbers).collect()
    }

    #[test]
    fn a_chain_has_no_cycle_and_a_ring_has_one() {
        assert!(found(&[(1, 2), (2, 3), (1, 3)]).is_empty());
        assert_eq!(found(&[(3, 1), (1, 2), (2, 3), (9, 1)]), [[1, 2, 3]]);
    }

    #[test]
    fn loops_apart_and_loops_that_share_a_channel_are_all_found() {
        assert_eq!(
            found(&[(1, 2), (2, 1), (3, 4), (4, 3), (2, 3)]),
            [[1, 2], [3, 4]]
        );
        assert_eq!(
            found(&[(1, 2), (2, 3), (3, 1), (2, 4), (4, 1)]),
            [[1, 2, 3], [1, 2, 4]]
        );
    }
}
