//! Networks of any shape: switches, links, and flows on given paths.

use std::collections::BTreeMap;

use super::{host_address, End, Network, RingOptions};
use weir_core::config::RouteConfig;
use weir_core::PortId;

/// A host that sends for ever to a separate receiver, along the given switches.
#[derive(Clone, Debug)]
pub struct Path {
    /// From the sender's switch to the receiver's.
    pub via: Vec<usize>,
    /// Alternative next hops on the path: (switch, next switch).
    pub alternatives: Vec<(usize, usize)>,
}

impl Path {
    pub fn new(via: &[usize]) -> Self {
        Self {
            via: via.to_vec(),
            alternatives: Vec::new(),
        }
    }
}

/// Every path has a separate sender and receiver, so paths are independent of each other.
#[derive(Clone, Debug, Default)]
pub struct Topology {
    pub switches: usize,
    /// Links between switches, at most one for each pair.
    pub links: Vec<(usize, usize)>,
    pub paths: Vec<Path>,
    /// Detours, where a destination is reached off its path: (path, switch, next switch).
    pub detours: Vec<(usize, usize, usize)>,
}

impl Topology {
    /// A ring of `members`, all clockwise over two links, with a second sender at the last one.
    pub fn add_ring(&mut self, members: &[usize]) {
        let count = members.len();
        for (index, member) in members.iter().enumerate() {
            let next = members[(index + 1) % count];
            let known =
                |link: &(usize, usize)| *link == (*member, next) || *link == (next, *member);
            if !self.links.iter().any(known) {
                self.links.push((*member, next));
            }
            let over_two = [0, 1, 2].map(|step| members[(index + step) % count]);
            self.paths.push(Path::new(&over_two));
            if index == count - 1 {
                self.paths.push(Path::new(&over_two));
            }
        }
    }
}

impl Network {
    /// The network of `topology` with the options of a ring. Flow `i` follows path `i`.
    pub fn of(topology: &Topology, options: &RingOptions) -> Self {
        let mut network = Self::empty(options);
        // Fabric ports in the order of the links, then the senders', then the receivers'.
        let mut fabric: Vec<BTreeMap<usize, PortId>> = vec![BTreeMap::new(); topology.switches];
        for (a, b) in &topology.links {
            for (from, to) in [(*a, *b), (*b, *a)] {
                let port = PortId::new(fabric[from].len() as u8);
                fabric[from].insert(to, port);
            }
        }
        let mut next_port: Vec<usize> = fabric.iter().map(BTreeMap::len).collect();
        let mut take = |switch: usize| {
            next_port[switch] += 1;
            PortId::new(next_port[switch] as u8 - 1)
        };
        let senders: Vec<PortId> = topology
            .paths
            .iter()
            .map(|path| take(path.via[0]))
            .collect();
        let receivers: Vec<PortId> = topology
            .paths
            .iter()
            .map(|path| take(*path.via.last().expect("a path has switches")))
            .collect();
        let count = topology.paths.len();
        let mut hashes = vec![0; count];
        for switch in 0..topology.switches {
            let mut routes = Vec::new();
            for (index, path) in topology.paths.iter().enumerate() {
                let mut ports = Vec::new();
                for pair in path.via.windows(2).filter(|pair| pair[0] == switch) {
                    ports.push(fabric[switch][&pair[1]]);
                }
                for (_, to) in path.alternatives.iter().filter(|(at, _)| *at == switch) {
                    ports.push(fabric[switch][to]);
                }
                for (_, _, to) in topology
                    .detours
                    .iter()
                    .filter(|(of, at, _)| (*of, *at) == (index, switch))
                {
                    ports.push(fabric[switch][to]);
                }
                if path.via.last() == Some(&switch) {
                    ports = vec![receivers[index]];
                }
                if ports.len() > 1 {
                    // Buckets are dealt in the order of the ports: the hash must lead along the path.
                    let first = ports[0];
                    ports.sort_unstable();
                    hashes[index] = ports.iter().position(|port| *port == first).unwrap() as u32;
                }
                if !ports.is_empty() {
                    let destination = host_address(count + index);
                    routes.push(RouteConfig::new(destination, ports));
                }
            }
            let fabric_count = fabric[switch].len();
            network.add_switch(
                switch,
                fabric_count,
                next_port[switch] - fabric_count,
                routes,
                options,
            );
        }
        for (a, b) in &topology.links {
            network.connect(
                End::Switch(*a, fabric[*a][b]),
                End::Switch(*b, fabric[*b][a]),
            );
        }
        for (index, path) in topology.paths.iter().enumerate() {
            let target = host_address(count + index);
            network.add_host(index, path.via[0], senders[index], Some(target));
            network.hosts[index].flow_hash = hashes[index];
        }
        for (index, path) in topology.paths.iter().enumerate() {
            let last = *path.via.last().expect("a path has switches");
            network.add_host(count + index, last, receivers[index], None);
        }
        network
    }
}
