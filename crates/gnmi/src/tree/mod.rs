//! The tree of nodes: containers with their leaves, made from the bodies of the switch's API. Depth first: the nodes
//! below a node are consecutive.

mod components;
mod field;
mod interfaces;
mod lldp;
mod qos;
pub mod schema;
mod system;
mod weir;

use std::collections::HashMap;
use std::sync::Arc;

use weir_api::counters::Counters;
use weir_api::daemon::{Deadlocks, Levels, PauseCounters, Pfc, Port, Queue, Status};
use weir_api::neighbors::Neighbor;

use crate::path::Elem;

use field::{Family, Field};
pub use field::{Kind, Row, Type, Value};

/// Source of the tree, taken at one time: bodies of the API, and additional state.
#[derive(Clone, Debug)]
pub struct State {
    /// Its time in nanoseconds since 1970.
    pub taken_unix_nanos: i64,
    /// `GET /v1/status`.
    pub status: Status,
    /// `GET /v1/ports`.
    pub ports: Vec<Port>,
    /// Additional state of the ports, in the same order.
    pub devices: Vec<Device>,
    /// `GET /v1/queues`.
    pub queues: Vec<Queue>,
    /// `GET /v1/pfc`.
    pub pfc: Vec<Pfc>,
    /// `GET /v1/pfc/counters`.
    pub pauses: Vec<PauseCounters>,
    /// `GET /v1/levels`.
    pub levels: Levels,
    /// `GET /v1/deadlocks`.
    pub deadlocks: Deadlocks,
    /// `GET /v1/neighbors`.
    pub neighbours: Vec<Neighbor>,
    /// `GET /v1/counters`.
    pub counters: Vec<Counters>,
    /// Length of the longest forwarded frame, without its checksum.
    pub frame_bytes_max: u64,
}

impl State {
    /// Returns a counter of a port, or of one of its priorities; `None` if it does not apply.
    fn counter(&self, port: &str, priority: Option<u8>, key: &str) -> Option<u64> {
        let is_meant =
            |row: &&Counters| row.port.as_deref() == Some(port) && row.priority == priority;
        let row = self.counters.iter().find(is_meant)?;
        row.counters.get(key).copied()
    }
}

/// A port's device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Device {
    /// Its index in the daemon's network namespace; `None` if it has none.
    pub index: Option<u32>,
    /// True if an operator has removed the port's device.
    pub removed: bool,
}

/// One leaf.
#[derive(Clone, Debug, PartialEq)]
pub struct Leaf {
    /// Its name in the YANG module.
    pub name: &'static str,
    /// Value.
    pub value: Value,
    /// Configured or observed, and how it changes.
    pub kind: Kind,
}

/// A container, or an entry of a list, with leaves.
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    /// Its path.
    pub path: Arc<[Elem]>,
    /// In the order of the module.
    pub leaves: Vec<Leaf>,
}

/// All nodes at one time.
#[derive(Clone, Debug)]
pub struct Tree {
    taken_unix_nanos: i64,
    nodes: Vec<Node>,
    places: HashMap<Arc<[Elem]>, usize>,
}

impl Tree {
    /// Builds the tree from `state`.
    pub fn new(state: &State) -> Self {
        let mut grower = Grower::default();
        interfaces::grow(&mut grower, state);
        qos::grow(&mut grower, state);
        lldp::grow(&mut grower, state);
        system::grow(&mut grower, state);
        components::grow(&mut grower, state);
        weir::grow(&mut grower, state);
        let nodes = grower.nodes;
        let place = |(place, node): (usize, &Node)| (Arc::clone(&node.path), place);
        Self {
            taken_unix_nanos: state.taken_unix_nanos,
            places: nodes.iter().enumerate().map(place).collect(),
            nodes,
        }
    }

    /// Its time in nanoseconds since 1970.
    pub fn taken_unix_nanos(&self) -> i64 {
        self.taken_unix_nanos
    }

    /// All nodes, depth first.
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// The node with this path.
    pub fn node(&self, path: &[Elem]) -> Option<&Node> {
        self.places.get(path).map(|place| &self.nodes[*place])
    }
}

#[derive(Default)]
struct Grower {
    nodes: Vec<Node>,
    path: Vec<Elem>,
}

impl Grower {
    /// Adds the container `name`; `inside` adds its contents.
    fn container(&mut self, name: &'static str, inside: impl FnOnce(&mut Self)) {
        self.path.push(Elem::container(name));
        inside(self);
        self.path.pop();
    }

    /// Adds an entry of the list `name` with its keys as leaves; `inside` adds the rest.
    fn entry(
        &mut self,
        name: &'static str,
        keys: &[(&'static str, &str)],
        inside: impl FnOnce(&mut Self),
    ) {
        let owned = keys.iter().map(|(key, value)| (*key, value.to_string()));
        let keys = owned.collect::<Vec<_>>();
        let leaves = keys.iter().map(|(name, value)| Leaf {
            name,
            value: Value::Text(value.clone()),
            kind: Kind::Key,
        });
        let leaves = leaves.collect();
        self.path.push(Elem { name, keys });
        self.add(leaves);
        inside(self);
        self.path.pop();
    }

    /// Adds the container `name` with the applicable fields of `of`.
    fn leaves<F: Family>(&mut self, name: &'static str, fields: &[Field<F>], of: &F::Of<'_>) {
        self.container(name, |grower| grower.own_leaves(fields, of));
    }

    fn own_leaves<F: Family>(&mut self, fields: &[Field<F>], of: &F::Of<'_>) {
        let leaves = fields.iter().filter_map(|field| field.leaf(of));
        self.add(leaves.collect());
    }

    fn add(&mut self, leaves: Vec<Leaf>) {
        if !leaves.is_empty() {
            let path = self.path.as_slice().into();
            self.nodes.push(Node { path, leaves });
        }
    }
}
