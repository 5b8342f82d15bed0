//! The CLCM paper's question at scale: how often do routes close credit loops in a fat tree with failed links?
//!
//! Nothing is simulated: a credit loop is a cycle of the channel dependency graph, which follows from the routes. Every
//! switch with hosts sends to every other, so a route counts if some frame takes it. [`Scenario::first_credit_loop`]
//! does the same for any scenario file, one host at a time. Here all destinations of a switch are bits of a set, so a
//! network of 1,280 switches takes milliseconds.
//!
//! [`Scenario::first_credit_loop`]: weir_config::scenario::Scenario::first_credit_loop

mod fabric;
mod in_use;
mod report;
mod routes;
mod sets;

use weir_config::scenario::generate::{generate, GenerateError, TopologyConfig, TopologyKind};

use fabric::Fabric;
use routes::{Lengths, Routes};

pub use report::{merged, read, reproduction, Line};

/// Selection of next hops by switches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Routing {
    /// Up*/down* from the first core, one next hop: the scenarios' `mode = "up-down"`.
    UpDown,
    /// Up*/down* by tiers, all next hops: the usual routing of fat trees.
    UpDownTiers,
    /// A shortest path, over the link that comes first in the file: `mode = "shortest"`.
    Shortest,
    /// A shortest path, over a random link for each switch and destination.
    ShortestDrawn,
    /// All shortest paths: `mode = "ecmp"`.
    Ecmp,
    /// All shortest paths of the network without failures; if all links of a switch to a destination have failed, down over
    /// any other one and up again: the behaviour of switches before routes are recomputed.
    Detours,
}

impl Routing {
    /// All, in the order of tables.
    pub const ALL: [Self; 6] = [
        Self::UpDown,
        Self::UpDownTiers,
        Self::Shortest,
        Self::ShortestDrawn,
        Self::Ecmp,
        Self::Detours,
    ];

    /// Name in tables and files.
    pub const fn name(self) -> &'static str {
        match self {
            Self::UpDown => "up*/down* from a root",
            Self::UpDownTiers => "up*/down* by tiers",
            Self::Shortest => "shortest, first link",
            Self::ShortestDrawn => "shortest, drawn link",
            Self::Ecmp => "shortest, ECMP",
            Self::Detours => "ECMP with local detours",
        }
    }
}

/// A fat tree with failed links.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tree {
    /// Even, at least 2.
    pub k: usize,
    /// Number of failed links between switches.
    pub failed: usize,
}

impl Tree {
    /// Creates a tree with `percent` of its links failed, rounded to whole links.
    pub fn with_failed(k: usize, percent: u32) -> Self {
        let links = k * k * k / 2;
        Self {
            k,
            failed: (links * percent as usize + 50) / 100,
        }
    }

    /// Its topology.
    pub const fn topology(self) -> TopologyConfig {
        TopologyConfig {
            kind: TopologyKind::FatTree { k: self.k },
            // All hosts of a switch have the same routes.
            hosts: 1,
            miswired: 0,
            failed: self.failed,
        }
    }
}

/// Results of one network's routes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Count {
    /// Channels that are part of a credit loop.
    pub on_loops: u64,
    /// Channels of working links.
    pub channels: u64,
    /// Ordered pairs of switches with hosts.
    pub pairs: u64,
    /// Of these: without any path.
    pub cut: Option<u64>,
    /// Of these: with a longer path than the shortest without failures.
    pub longer: Option<u64>,
}

impl Count {
    /// Returns true if there is a credit loop.
    pub const fn has_loop(&self) -> bool {
        self.on_loops > 0
    }
}

/// Counts in trees of one kind.
#[derive(Clone, Debug)]
pub struct Counter {
    tree: Tree,
    /// All shortest paths without failures.
    whole: Routes,
}

impl Counter {
    /// Creates a counter.
    ///
    /// # Errors
    ///
    /// Such a tree cannot be built.
    pub fn new(tree: Tree) -> Result<Self, GenerateError> {
        let whole = Tree { failed: 0, ..tree };
        let whole = Fabric::new(&generate(&whole.topology(), 0)?);
        Ok(Self {
            tree,
            whole: Routes::ecmp(&whole),
        })
    }

    /// Counts in the network of `seed`, by [`Routing::ALL`].
    ///
    /// # Errors
    ///
    /// Too few links can fail.
    pub fn count(&self, seed: u64) -> Result<[Count; Routing::ALL.len()], GenerateError> {
        let fabric = Fabric::new(&generate(&self.tree.topology(), seed)?);
        let ecmp = Routes::ecmp(&fabric);
        Ok(Routing::ALL.map(|routing| {
            let routes = Routes::new(&fabric, [&ecmp, &self.whole], routing, seed);
            count_of(&fabric, &self.whole, &routes)
        }))
    }
}

fn count_of(fabric: &Fabric, whole: &Routes, routes: &Routes) -> Count {
    let in_use = in_use::channels_in_use(fabric, &routes.members);
    let graph = in_use::dependencies(fabric, &routes.members, &in_use);
    let mut count = Count {
        on_loops: graph.on_cycles().len() as u64,
        channels: fabric.failed.iter().filter(|failed| !**failed).count() as u64,
        pairs: (fabric.edges.len() * (fabric.edges.len() - 1)) as u64,
        ..Count::default()
    };
    if let (Some(before), Some(now)) = (&whole.lengths, &routes.lengths) {
        let [cut, longer] = changed(fabric, before, now);
        (count.cut, count.longer) = (Some(cut), Some(longer));
    }
    count
}

/// Counts pairs without a path, and with a longer one than before.
fn changed(fabric: &Fabric, before: &Lengths, now: &Lengths) -> [u64; 2] {
    let [mut cut, mut longer] = [0; 2];
    for source in &fabric.edges {
        for destination in 0..fabric.edges.len() {
            let now = now.get(*source, destination);
            cut += u64::from(now.is_none());
            longer += u64::from(now.is_some() && now > before.get(*source, destination));
        }
    }
    [cut, longer]
}

#[cfg(test)]
mod tests;
