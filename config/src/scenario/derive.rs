//! What follows from a scenario: ports, routes, and each switch's configuration.

use std::collections::VecDeque;
use std::path::PathBuf;

use weir_core::{
    BitRate, ClassMode, FeedbackCoding, Neighbour, Police, PortId, PortRole, Priority,
};

use super::{Host, Link, LinkProperties, Scenario};
use crate::daemon::{
    default_dscp_map, Class, DaemonConfig, DataplaneConfig, Fallback, ForwardingConfig, LldpConfig,
    LogConfig, Port, Route, Trust,
};

/// What a port of a switch leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PortPeer {
    /// Another switch.
    Switch(usize),
    /// A host.
    Host(usize),
}

/// One port of a switch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SwitchPort {
    /// What it leads to.
    pub peer: PortPeer,
    /// Rate and delay of its link.
    pub properties: LinkProperties,
}

/// Ports of all switches: links first, in the order of the file, then hosts.
pub(super) struct Adjacency {
    ports: Vec<Vec<SwitchPort>>,
}

impl Adjacency {
    pub(super) fn new(switch_count: usize, hosts: &[Host], links: &[Link]) -> Self {
        let defaults = LinkProperties {
            rate: BitRate::from_mbit(100),
            delay: weir_core::Duration::ZERO,
            round_trip: weir_core::Duration::ZERO,
            feedback: FeedbackCoding::Pfc,
        };
        Self {
            ports: (0..switch_count)
                .map(|switch| ports_of(switch, hosts, links, defaults))
                .collect(),
        }
    }

    pub(super) fn port_to_switch(&self, from: usize, to: usize) -> Option<usize> {
        self.port_to(from, PortPeer::Switch(to))
    }

    pub(super) fn port_to_host(&self, from: usize, host: usize) -> Option<usize> {
        self.port_to(from, PortPeer::Host(host))
    }

    /// Follows `next_hops` from a switch to a host; `Err` with the switch where it ends or begins to
    /// turn in a circle.
    pub(super) fn way(
        &self,
        next_hops: &[Vec<Option<usize>>],
        from: usize,
        to: usize,
    ) -> Result<Vec<usize>, usize> {
        let mut way = vec![from];
        let mut at = from;
        loop {
            let port = next_hops[at][to].and_then(|port| self.ports[at].get(port));
            match port.map(|port| port.peer) {
                Some(PortPeer::Host(host)) if host == to => return Ok(way),
                Some(PortPeer::Switch(next)) if !way.contains(&next) => {
                    way.push(next);
                    at = next;
                }
                _ => return Err(at),
            }
        }
    }

    fn port_to(&self, from: usize, peer: PortPeer) -> Option<usize> {
        self.ports[from].iter().position(|port| port.peer == peer)
    }
}

/// Next hops of shortest paths; among equals the port that comes first in the file.
pub(super) fn shortest_next_hops(adjacency: &Adjacency, hosts: &[Host]) -> Vec<Vec<Option<usize>>> {
    let count = adjacency.ports.len();
    let mut next_hops = vec![vec![None; hosts.len()]; count];
    for (index, host) in hosts.iter().enumerate() {
        let mut distance = vec![usize::MAX; count];
        let mut queue = VecDeque::from([host.switch]);
        distance[host.switch] = 0;
        while let Some(at) = queue.pop_front() {
            for port in &adjacency.ports[at] {
                if let PortPeer::Switch(next) = port.peer {
                    if distance[next] == usize::MAX {
                        distance[next] = distance[at] + 1;
                        queue.push_back(next);
                    }
                }
            }
        }
        for (switch, row) in next_hops.iter_mut().enumerate() {
            row[index] = if switch == host.switch {
                adjacency.port_to_host(switch, index)
            } else {
                adjacency.ports[switch].iter().position(|port| {
                    matches!(port.peer, PortPeer::Switch(next)
                        if distance[next] != usize::MAX && distance[next] + 1 == distance[switch])
                })
            };
        }
    }
    next_hops
}

fn ports_of(
    switch: usize,
    hosts: &[Host],
    links: &[Link],
    host_links: LinkProperties,
) -> Vec<SwitchPort> {
    let to_switches = links.iter().filter_map(|link| {
        let peer = match link.ends {
            [a, b] if a == switch => b,
            [a, b] if b == switch => a,
            _ => return None,
        };
        Some(SwitchPort {
            peer: PortPeer::Switch(peer),
            properties: link.properties,
        })
    });
    let to_hosts = hosts
        .iter()
        .enumerate()
        .filter(|(_, host)| host.switch == switch)
        .map(|(index, _)| SwitchPort {
            peer: PortPeer::Host(index),
            properties: host_links,
        });
    to_switches.chain(to_hosts).collect()
}

/// Plain PFC with the thresholds that the class has at edge ports.
fn without_levels(mode: ClassMode) -> ClassMode {
    match mode {
        ClassMode::Level {
            xoff,
            xon,
            headroom,
            ..
        } => ClassMode::Pfc {
            xoff,
            xon,
            headroom,
        },
        other => other,
    }
}

impl Scenario {
    /// The ports of a switch; a port's number is its index here.
    pub fn ports(&self, switch: usize) -> Vec<SwitchPort> {
        ports_of(switch, &self.hosts, &self.links, self.link_defaults)
    }

    /// A port's name: that of what it leads to.
    pub fn peer_name(&self, peer: PortPeer) -> &str {
        match peer {
            PortPeer::Switch(index) => &self.switches[index],
            PortPeer::Host(index) => &self.hosts[index].name,
        }
    }

    /// The switches that a flow goes over, first to last.
    pub fn way(&self, flow: usize) -> Vec<usize> {
        let flow = &self.flows[flow];
        let adjacency = Adjacency::new(self.switches.len(), &self.hosts, &self.links);
        adjacency
            .way(&self.next_hops, self.hosts[flow.from].switch, flow.to)
            .unwrap_or_default()
    }

    /// The priority that a flow's frames carry.
    pub fn priority(&self, flow: usize) -> Priority {
        self.classes[self.flows[flow].class].priorities[0]
    }

    /// True when classes of mode `level` meet switches that know no Levels.
    pub fn is_mixed(&self) -> bool {
        self.has_levels.contains(&false)
    }

    /// The classes as one switch has them.
    pub fn classes_of(&self, switch: usize) -> Vec<Class> {
        let mut classes = self.classes.clone();
        if !self.has_levels[switch] {
            for class in &mut classes {
                class.mode = without_levels(class.mode);
            }
        }
        classes
    }

    /// Grants need Levels on both sides.
    fn feedback_of(&self, switch: usize, port: &SwitchPort) -> FeedbackCoding {
        let both = match port.peer {
            PortPeer::Switch(peer) => self.has_levels[switch] && self.has_levels[peer],
            PortPeer::Host(_) => return FeedbackCoding::Pfc,
        };
        match port.properties.feedback {
            FeedbackCoding::Grants if !both => FeedbackCoding::Pfc,
            feedback => feedback,
        }
    }

    /// The configuration of one switch's daemon. `device` names the network device of a port.
    pub fn daemon_config(
        &self,
        switch: usize,
        run_dir: PathBuf,
        dataplane: DataplaneConfig,
        device: impl Fn(PortPeer) -> String,
    ) -> DaemonConfig {
        let ports = self
            .ports(switch)
            .into_iter()
            .map(|port| Port {
                name: self.peer_name(port.peer).to_owned(),
                device: device(port.peer),
                queue: 0,
                role: match port.peer {
                    PortPeer::Switch(_) => PortRole::Fabric,
                    PortPeer::Host(_) => PortRole::Edge,
                },
                rate: port.properties.rate,
                address: None,
                default_priority: Priority::ALL[0],
                trust: Trust::Pcp,
                pcp_map: Priority::ALL,
                dscp_map: default_dscp_map(),
                fallback: Fallback::Drop,
                round_trip: port.properties.round_trip,
                round_trip_measured: false,
                neighbour: match self.feedback_of(switch, &port) {
                    FeedbackCoding::Grants => Neighbour::Enhanced,
                    _ => Neighbour::Unknown,
                },
                feedback: self.feedback_of(switch, &port),
                police: match port.peer {
                    PortPeer::Switch(_) => Police::Off,
                    PortPeer::Host(host) => self.hosts[host].police,
                },
            })
            .collect();
        let routes = self.next_hops[switch]
            .iter()
            .zip(&self.hosts)
            .filter_map(|(port, host)| {
                Some(Route {
                    destination: host.address,
                    ports: vec![PortId::from_index((*port)?)?],
                })
            })
            .collect();
        DaemonConfig {
            name: self.switches[switch].clone(),
            api_socket: run_dir.join("api.sock"),
            run_dir,
            log: LogConfig::default(),
            metrics_listen: None,
            dataplane,
            classes: self.classes_of(switch),
            ports,
            deadlock: self.deadlock,
            forwarding: ForwardingConfig::default(),
            routes,
            lldp: LldpConfig::default(),
        }
    }
}
