//! All distinct states of switches so far, and the result of every input.
//!
//! The switches of a network share only the traffic on links, so a state of the network is one number for each switch and
//! the frames in flight. Each (state of a switch, input) is computed once, by the real core; the far more numerous network
//! states are composed of numbers.

use std::collections::VecDeque;

use crate::hashing::Table;
use crate::node::{Frames, Input, Node, Output};
use crate::plan::{Plan, PlanError};

/// Number of cached states, besides those always kept: about 80 kB each.
const KEPT_MAX: usize = 1500;
/// A state this many steps from the last one always kept is always kept.
const DISTANCE_MAX: u32 = 32;

/// State of a switch as needed by the network.
#[derive(Clone, Copy, Debug)]
pub struct NodeView {
    /// Bit p: the host at port p may not send.
    pub pausing: u32,
    /// Bit (ingress × destinations + destination): such frames are held.
    pub held: u64,
    /// Number of held frames.
    pub held_count: u8,
    /// Ticks for which the oldest event has waited for the control plane, plus one; zero without any.
    pub lag: u8,
}

/// All states of switches so far.
#[derive(Debug)]
pub struct Nodes<'a> {
    plan: &'a Plan,
    destinations: usize,
    /// Numbers of states by digest.
    known: Table<u128, u32>,
    /// The states themselves; one that is not kept is recomputed from its predecessor.
    states: Vec<Option<Box<Node>>>,
    /// By state: its predecessor and the input, and the number of steps from one always kept.
    origins: Vec<Option<(u32, Input, u32)>>,
    /// Cached states, oldest first.
    kept: VecDeque<u32>,
    views: Vec<NodeView>,
    done: Table<(u32, Input), (u32, Output)>,
    /// Control frames by number.
    pub frames: Frames,
}

impl<'a> Nodes<'a> {
    /// Creates an empty set of states.
    pub fn new(plan: &'a Plan) -> Self {
        let destinations = plan.nodes.iter().map(|node| node.routes.len()).max();
        Self {
            plan,
            destinations: destinations.unwrap_or(1),
            known: Table::default(),
            states: Vec::new(),
            origins: Vec::new(),
            kept: VecDeque::new(),
            views: Vec::new(),
            done: Table::default(),
            frames: Frames::default(),
        }
    }

    /// Returns the number of a state without predecessor.
    ///
    /// # Errors
    ///
    /// [`PlanError::NoDigest`].
    pub fn number(&mut self, node: Node) -> Result<u32, PlanError> {
        self.number_from(node, None)
    }

    fn number_from(&mut self, node: Node, origin: Option<(u32, Input)>) -> Result<u32, PlanError> {
        let digest = node.digest()?;
        if let Some(number) = self.known.get(&digest) {
            return Ok(*number);
        }
        let number = self.states.len() as u32;
        let origin = origin.and_then(|(from, input)| {
            let distance = self.origins[from as usize].map_or(0, |(_, _, distance)| distance) + 1;
            (distance < DISTANCE_MAX).then_some((from, input, distance))
        });
        self.views.push(self.view_of(&node));
        self.states.push(Some(Box::new(node)));
        self.origins.push(origin);
        self.known.insert(digest, number);
        if origin.is_some() {
            self.keep(number);
        }
        Ok(number)
    }

    fn keep(&mut self, number: u32) {
        self.kept.push_back(number);
        if self.kept.len() > KEPT_MAX {
            if let Some(oldest) = self.kept.pop_front() {
                self.states[oldest as usize] = None;
            }
        }
    }

    fn view_of(&self, node: &Node) -> NodeView {
        let mut view = NodeView {
            pausing: 0,
            held: 0,
            held_count: 0,
            lag: node.control_lag().map_or(0, |ticks| ticks as u8 + 1),
        };
        for flow in &self.plan.flows {
            view.pausing |= u32::from(node.is_pausing(flow.port)) << flow.port;
        }
        for (ingress, destination) in node.held() {
            view.held_count += 1;
            view.held |= 1 << self.queue(ingress, destination);
        }
        view
    }

    /// Returns the number of a virtual queue within its switch.
    pub fn queue(&self, ingress: u8, destination: u8) -> u32 {
        u32::from(ingress) * self.destinations as u32 + u32::from(destination)
    }

    /// Returns the successor of the state `number` by `input`.
    ///
    /// # Errors
    ///
    /// Those of [`Node::step`] and [`Node::digest`].
    pub fn step(&mut self, number: u32, input: Input) -> Result<(u32, Output), PlanError> {
        if let Some(done) = self.done.get(&(number, input)) {
            return Ok(*done);
        }
        let mut node = self.node(number)?;
        let output = node.step(self.plan, &mut self.frames, input)?;
        let next = match output {
            // A refused frame ends the search, so its successor is not needed.
            Output::Dropped(_) => number,
            _ => self.number_from(node, Some((number, input)))?,
        };
        self.done.insert((number, input), (next, output));
        Ok((next, output))
    }

    /// Returns the view of a state.
    pub fn view(&self, number: u32) -> &NodeView {
        &self.views[number as usize]
    }

    /// Returns the state itself, recomputed if it was not kept.
    ///
    /// # Errors
    ///
    /// Only those of its first computation.
    pub fn node(&mut self, number: u32) -> Result<Node, PlanError> {
        let mut inputs = Vec::new();
        let mut at = number;
        let mut node = loop {
            if let Some(node) = &self.states[at as usize] {
                break Node::clone(node);
            }
            let Some((from, input, _)) = self.origins[at as usize] else {
                return Err(PlanError::Lost(at));
            };
            inputs.push(input);
            at = from;
        };
        let made_again = !inputs.is_empty();
        for input in inputs.into_iter().rev() {
            node.step(self.plan, &mut self.frames, input)?;
        }
        if made_again {
            self.states[number as usize] = Some(Box::new(node.clone()));
            self.keep(number);
        }
        Ok(node)
    }

    /// Returns the number of states.
    pub fn len(&self) -> usize {
        self.states.len()
    }

    /// Returns true without any state.
    pub fn is_empty(&self) -> bool {
        self.states.is_empty()
    }
}
