//! Peers of the ports of all switches.

use super::{Host, Link, LinkProperties};

/// Peer of a switch's port.
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
    /// Its peer.
    pub peer: PortPeer,
    /// Rate and delay of its link.
    pub properties: LinkProperties,
}

/// Ports of all switches: links first, in the order of the file, then hosts. Failed links have none.
#[derive(Debug)]
pub(super) struct Adjacency {
    ports: Vec<Vec<SwitchPort>>,
}

impl Adjacency {
    /// O(switches + links + hosts).
    pub(super) fn new(switch_count: usize, hosts: &[Host], links: &[Link]) -> Self {
        let mut ports = vec![Vec::new(); switch_count];
        for link in links.iter().filter(|link| !link.failed) {
            let [a, b] = link.ends;
            for (at, to) in [(a, b), (b, a)] {
                ports[at].push(SwitchPort {
                    peer: PortPeer::Switch(to),
                    properties: link.properties,
                });
            }
        }
        for (index, host) in hosts.iter().enumerate() {
            ports[host.switch].push(SwitchPort {
                peer: PortPeer::Host(index),
                properties: host.line,
            });
        }
        Self { ports }
    }

    pub(super) fn into_ports(self) -> Vec<Vec<SwitchPort>> {
        self.ports
    }

    pub(super) fn ports(&self, switch: usize) -> &[SwitchPort] {
        &self.ports[switch]
    }

    pub(super) fn switch_count(&self) -> usize {
        self.ports.len()
    }

    pub(super) fn port_to_switch(&self, from: usize, to: usize) -> Option<usize> {
        self.port_to(from, PortPeer::Switch(to))
    }

    pub(super) fn port_to_host(&self, from: usize, host: usize) -> Option<usize> {
        self.port_to(from, PortPeer::Host(host))
    }

    pub(super) fn has_hosts(&self, switch: usize) -> bool {
        let is_host = |port: &SwitchPort| matches!(port.peer, PortPeer::Host(_));
        self.ports[switch].iter().any(is_host)
    }

    pub(super) fn peer(&self, switch: usize, port: usize) -> Option<PortPeer> {
        Some(self.ports.get(switch)?.get(port)?.peer)
    }

    /// Ports of a switch that lead to other switches, with these switches, in the order of the file.
    pub(super) fn neighbours(&self, switch: usize) -> impl Iterator<Item = (usize, usize)> + '_ {
        let ports = self.ports[switch].iter().enumerate();
        ports.filter_map(|(port, to)| match to.peer {
            PortPeer::Switch(next) => Some((port, next)),
            PortPeer::Host(_) => None,
        })
    }

    fn port_to(&self, from: usize, peer: PortPeer) -> Option<usize> {
        self.ports[from].iter().position(|port| port.peer == peer)
    }
}
