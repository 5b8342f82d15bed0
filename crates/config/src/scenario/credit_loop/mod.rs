//! Cyclic buffer dependencies caused by routes: the condition for a credit loop deadlock.

mod graph;

use std::collections::BTreeMap;

use weir_core::Priority;

use super::topology::{Adjacency, PortPeer};
use super::{Flow, Scenario};
pub use graph::Graph;

/// A cycle of switches, each of which holds frames that wait for the next. The smallest channel comes first.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct CreditLoop {
    /// The priority whose buffers wait for each other.
    pub priority: Priority,
    /// The switches, without duplicates; the last one sends to the first.
    pub switches: Vec<usize>,
}

impl Scenario {
    /// The credit loops caused by the routes of the lossless flows: for each link on a cycle of the channel dependency
    /// graph, a shortest cycle through it. Empty exactly if that graph has no cycle. A flow with `via` counts with that
    /// path, any other, and its answers, with every member that its hash may pick. A [`Baseline`](super::Baseline)
    /// counts: where a frame's priority changes, it enters another buffer.
    ///
    /// For each priority O(links on cycles × dependencies).
    pub fn credit_loops(&self) -> Vec<CreditLoop> {
        let channels = Channels::new(&self.adjacency());
        let graphs = self.dependencies(&channels);
        let loops = graphs.iter().flat_map(|(priority, graph)| {
            let cycles = graph.cycles().into_iter();
            cycles.map(|cycle| channels.credit_loop(*priority, &cycle))
        });
        loops.collect()
    }

    /// One of the credit loops, `None` exactly if there is none. O(dependencies).
    pub fn first_credit_loop(&self) -> Option<CreditLoop> {
        let channels = Channels::new(&self.adjacency());
        let graphs = self.dependencies(&channels);
        graphs.iter().find_map(|(priority, graph)| {
            let cycle = graph.first_cycle()?;
            Some(channels.credit_loop(*priority, &cycle))
        })
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

    /// By priority: which buffers wait for which. O(hosts × dependencies).
    fn dependencies(&self, channels: &Channels) -> BTreeMap<Priority, Graph> {
        let mut graphs = BTreeMap::new();
        // By class and target: sources of frames.
        let mut sources: BTreeMap<(usize, usize), Vec<usize>> = BTreeMap::new();
        let is_lossless = |class: usize| self.classes[class].mode.is_lossless();
        let answers = |flow: &&Flow| flow.transport.is_answered() && is_lossless(flow.answer_class);
        for flow in self.flows.iter().filter(answers) {
            sources
                .entry((flow.answer_class, flow.from))
                .or_default()
                .push(self.hosts[flow.to].switch);
        }
        for flow in self.flows.iter().filter(|flow| is_lossless(flow.class)) {
            match &flow.via {
                Some(way) => self.add_way(channels, &mut graphs, flow.class, way),
                None => sources
                    .entry((flow.class, flow.to))
                    .or_default()
                    .push(self.hosts[flow.from].switch),
            }
        }
        for ((class, target), mut sources) in sources {
            sources.sort_unstable();
            sources.dedup();
            self.add_ways(channels, &mut graphs, class, target, &sources);
        }
        graphs
    }

    fn add_way(
        &self,
        channels: &Channels,
        graphs: &mut BTreeMap<Priority, Graph>,
        class: usize,
        way: &[usize],
    ) {
        let mut rank = 0;
        let mut held = None;
        for pair in way.windows(2) {
            let Some(channel) = channels.find(pair[0], pair[1]) else {
                return;
            };
            let rank_behind = self.baseline.rank_behind(rank, pair[0], pair[1]);
            if let Some(held) = held.filter(|_| rank == rank_behind) {
                self.add(channels, graphs, class, rank, (held, channel));
            }
            held = Some(channel);
            rank = rank_behind;
        }
    }

    /// Adds every path from `sources` to `target`.
    fn add_ways(
        &self,
        channels: &Channels,
        graphs: &mut BTreeMap<Priority, Graph>,
        class: usize,
        target: usize,
        sources: &[usize],
    ) {
        let rank_count = self.classes[class].priorities.len();
        let state = |switch: usize, rank: usize| switch * rank_count + rank;
        let mut seen = vec![false; self.switches.len() * rank_count];
        let mut waiting: Vec<(usize, usize)> = Vec::new();
        for source in sources {
            seen[state(*source, 0)] = true;
            waiting.push((*source, 0));
        }
        let onwards = |at: usize, rank: usize| {
            let members = self.next_hops[at][target].iter();
            members.filter_map(move |port| {
                let channel = channels.of_port(at, *port)?;
                let next = channels.ends[channel].1;
                Some((channel, next, self.baseline.rank_behind(rank, at, next)))
            })
        };
        while let Some((at, rank)) = waiting.pop() {
            for (held, next, rank) in onwards(at, rank).filter(|(.., rank)| *rank < rank_count) {
                for (wanted, _, rank_behind) in onwards(next, rank) {
                    if rank_behind == rank {
                        self.add(channels, graphs, class, rank, (held, wanted));
                    }
                }
                if !std::mem::replace(&mut seen[state(next, rank)], true) {
                    waiting.push((next, rank));
                }
            }
        }
    }

    fn add(
        &self,
        channels: &Channels,
        graphs: &mut BTreeMap<Priority, Graph>,
        class: usize,
        rank: usize,
        (held, wanted): (usize, usize),
    ) {
        // Too few priorities are refused when the file is read.
        if let Some(priority) = self.classes[class].priorities.get(rank) {
            graphs
                .entry(*priority)
                .or_insert_with(|| Graph::new(channels.ends.len()))
                .add(held, wanted);
        }
    }
}

/// Links between switches, by direction, ordered by their two switches. A channel represents the ingress
/// buffer at its end.
struct Channels {
    /// By channel: its two ends.
    ends: Vec<(usize, usize)>,
    /// By switch and port: the channel that begins there, unless the port leads to a host.
    by_port: Vec<Vec<Option<usize>>>,
}

impl Channels {
    fn new(adjacency: &Adjacency) -> Self {
        let switches = 0..adjacency.switch_count();
        let leaving = |from| {
            adjacency
                .neighbours(from)
                .map(move |(_, next)| (from, next))
        };
        let mut ends: Vec<(usize, usize)> = switches.clone().flat_map(leaving).collect();
        ends.sort_unstable();
        let channel = |from: usize, peer: PortPeer| match peer {
            PortPeer::Switch(to) => ends.binary_search(&(from, to)).ok(),
            PortPeer::Host(_) => None,
        };
        let by_port = switches
            .map(|from| {
                let ports = adjacency.ports(from).iter();
                ports.map(|port| channel(from, port.peer)).collect()
            })
            .collect();
        Self { ends, by_port }
    }

    fn find(&self, from: usize, to: usize) -> Option<usize> {
        self.ends.binary_search(&(from, to)).ok()
    }

    fn of_port(&self, switch: usize, port: usize) -> Option<usize> {
        *self.by_port[switch].get(port)?
    }

    fn credit_loop(&self, priority: Priority, cycle: &[usize]) -> CreditLoop {
        CreditLoop {
            priority,
            switches: cycle.iter().map(|channel| self.ends[*channel].0).collect(),
        }
    }
}
