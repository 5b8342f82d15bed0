//! Breadth-first search through all states of a network.

use weir_core::testing::{Clock, Digest};
use weir_core::{DropReason, Instant};

use crate::hashing::Table;
use crate::nodes::Nodes;
use crate::plan::PlanError;
use crate::rules::{Action, Rules, Step, QUEUES_OF_NODE};
use crate::world::World;

/// End of a search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// All reachable states were visited.
    Complete,
    /// A lossless frame was dropped by `action` after `state`.
    Dropped {
        /// The state before.
        state: u32,
        /// Action.
        action: Action,
        /// Switch that dropped the frame.
        node: usize,
        /// Reason of the drop.
        reason: DropReason,
    },
    /// There were more states than the limit.
    TooMany,
}

/// A step from one state to another.
#[derive(Clone, Copy, Debug)]
pub struct Edge {
    /// The state after it.
    pub to: u32,
    /// Number of the action, with the queue that it serves.
    pub label: u16,
}

/// Meaning of a label of an [`Edge`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Label {
    /// Action.
    pub action: Action,
    /// The virtual queue that a data frame leaves.
    pub served: Option<u16>,
}

/// All reachable states, numbered in the order in which they were found, and all steps between them.
#[derive(Debug)]
pub struct Graph<'a> {
    /// The network.
    pub rules: Rules<'a>,
    /// The switches' states.
    pub nodes: Nodes<'a>,
    /// End of the search.
    pub end: End,
    /// Labels of the edges.
    pub labels: Vec<Label>,
    known: Table<u128, u32>,
    bytes: Vec<u8>,
    ends: Vec<u32>,
    /// By state: its predecessor. Initial states are their own.
    parents: Vec<u32>,
    /// By state: index of the first edge, with one additional entry.
    first_edge: Vec<u32>,
    edges: Vec<Edge>,
    /// By state: the depth.
    depth: u32,
    /// By state and switch: virtual queues that hold frames.
    held: Vec<u64>,
    /// By state: true if all frames have arrived.
    empty: Vec<bool>,
    /// True if the search ends at states without frames in which hosts stop sending.
    stops_when_done: bool,
}

impl<'a> Graph<'a> {
    /// Searches all states reachable from `starts`, up to `most`.
    ///
    /// # Errors
    ///
    /// The reason for which the plan cannot be explored.
    pub fn explore(
        rules: Rules<'a>,
        nodes: Nodes<'a>,
        starts: Vec<World>,
        most: usize,
    ) -> Result<Self, PlanError> {
        let mut graph = Self {
            stops_when_done: rules.plan().timed,
            rules,
            nodes,
            end: End::Complete,
            labels: Vec::new(),
            known: Table::default(),
            bytes: Vec::new(),
            ends: vec![0],
            parents: Vec::new(),
            first_edge: vec![0],
            edges: Vec::new(),
            depth: 0,
            held: Vec::new(),
            empty: Vec::new(),
        };
        let mut label_numbers = Table::default();
        for start in starts {
            let own = graph.len() as u32;
            graph.number(start, own);
        }
        let mut state = 0;
        let mut level_end = graph.len() as u32;
        let mut steps = Vec::new();
        while (state as usize) < graph.len() {
            if state == level_end {
                graph.depth += 1;
                level_end = graph.len() as u32;
            }
            graph.expand(state, &mut steps, &mut label_numbers)?;
            if graph.end != End::Complete {
                break;
            }
            if graph.len() > most {
                graph.end = End::TooMany;
                break;
            }
            state += 1;
        }
        // States that were not expanded have no edges.
        graph
            .first_edge
            .resize(graph.len() + 1, graph.edges.len() as u32);
        Ok(graph)
    }

    fn expand(
        &mut self,
        state: u32,
        steps: &mut Vec<Step>,
        label_numbers: &mut Table<Label, u16>,
    ) -> Result<(), PlanError> {
        let Some(world) = self.world(state) else {
            return Ok(());
        };
        let is_done = self.stops_when_done
            && self.empty[state as usize]
            && world.left.iter().all(|left| *left == 0);
        if !is_done {
            self.rules.steps(&mut self.nodes, &world, steps)?;
            for step in steps.drain(..) {
                if let Some((node, reason)) = step.dropped {
                    self.end = End::Dropped {
                        state,
                        action: step.action,
                        node,
                        reason,
                    };
                    return Ok(());
                }
                let label = Label {
                    action: step.action,
                    served: step.served,
                };
                let labels = &mut self.labels;
                let number = *label_numbers.entry(label).or_insert_with(|| {
                    labels.push(label);
                    (labels.len() - 1) as u16
                });
                let to = self.number(step.world, state);
                self.edges.push(Edge { to, label: number });
            }
        }
        self.first_edge.push(self.edges.len() as u32);
        Ok(())
    }

    /// Returns the number of a state, which may be new.
    fn number(&mut self, world: World, parent: u32) -> u32 {
        let begin = self.bytes.len();
        world.encode(&mut self.bytes);
        let mut digest = Digest::new(Clock::Stopped(Instant::ZERO));
        for chunk in self.bytes[begin..].chunks(8) {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            digest.word(u64::from_le_bytes(word));
        }
        let next = self.parents.len() as u32;
        let number = *self.known.entry(digest.finish()).or_insert(next);
        if number != next {
            self.bytes.truncate(begin);
            return number;
        }
        self.ends.push(self.bytes.len() as u32);
        self.parents.push(parent);
        self.empty
            .push(self.rules.frames_in(&self.nodes, &world) == 0);
        let views = world.nodes.iter().map(|node| self.nodes.view(*node).held);
        self.held.extend(views);
        number
    }

    /// Returns a state.
    pub fn world(&self, state: u32) -> Option<World> {
        let index = state as usize;
        let range = self.ends[index] as usize..self.ends[index + 1] as usize;
        World::decode(self.rules.plan(), self.bytes.get(range)?)
    }

    /// Returns the number of states.
    pub fn len(&self) -> usize {
        self.parents.len()
    }

    /// Returns false, since there is an initial state.
    pub fn is_empty(&self) -> bool {
        self.parents.is_empty()
    }

    /// Returns the number of transitions of all states together.
    pub fn transitions(&self) -> usize {
        self.edges.len()
    }

    /// Returns the length of the shortest path to the most distant state.
    pub fn depth(&self) -> u32 {
        self.depth
    }

    /// Returns the steps from a state.
    pub fn edges(&self, state: u32) -> &[Edge] {
        let index = state as usize;
        let range = self.first_edge[index] as usize..self.first_edge[index + 1] as usize;
        &self.edges[range]
    }

    /// Returns true if all frames have arrived.
    pub fn is_drained(&self, state: u32) -> bool {
        self.empty[state as usize]
    }

    /// Returns true if a virtual queue, numbered as in [`Step::served`], holds frames.
    pub fn waits(&self, state: u32, queue: u16) -> bool {
        let nodes = self.rules.plan().nodes.len();
        let node = usize::from(queue) / QUEUES_OF_NODE as usize;
        let bit = u32::from(queue) % QUEUES_OF_NODE;
        self.held[state as usize * nodes + node] & (1 << bit) != 0
    }

    /// Returns the shortest path to a state, from its initial state.
    pub fn way_to(&self, state: u32) -> Vec<u32> {
        let mut way = vec![state];
        let mut at = state;
        while self.parents[at as usize] != at {
            at = self.parents[at as usize];
            way.push(at);
        }
        way.reverse();
        way
    }

    /// Returns the steps from a state.
    ///
    /// # Errors
    ///
    /// Only those of the exploration.
    pub fn steps_from(&mut self, state: u32) -> Result<Vec<Step>, PlanError> {
        let mut steps = Vec::new();
        if let Some(world) = self.world(state) {
            self.rules.steps(&mut self.nodes, &world, &mut steps)?;
        }
        Ok(steps)
    }
}
