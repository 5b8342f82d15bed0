//! Which port of which switch leads where.

use weir_core::{BitRate, Duration, FeedbackCoding};

use super::{Host, Link, LinkProperties};

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

/// Ports of all switches: links first, in the order of the file, then hosts. Failed links have none.
#[derive(Debug)]
pub(super) struct Adjacency {
    ports: Vec<Vec<SwitchPort>>,
}

impl Adjacency {
    /// O(switches × (links + hosts)).
    pub(super) fn new(switch_count: usize, hosts: &[Host], links: &[Link]) -> Self {
        let defaults = LinkProperties {
            rate: BitRate::from_mbit(100),
            delay: Duration::ZERO,
            round_trip: Duration::ZERO,
            feedback: FeedbackCoding::Pfc,
        };
        Self {
            ports: (0..switch_count)
                .map(|switch| ports_of(switch, hosts, links, defaults))
                .collect(),
        }
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

    /// What a port leads to.
    pub(super) fn peer(&self, switch: usize, port: usize) -> Option<PortPeer> {
        Some(self.ports.get(switch)?.get(port)?.peer)
    }

    /// Ports of a switch that lead to other switches, each with the switch, in the order of the file.
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

/// The ports of one switch.
pub(super) fn ports_of(
    switch: usize,
    hosts: &[Host],
    links: &[Link],
    host_links: LinkProperties,
) -> Vec<SwitchPort> {
    let working = links.iter().filter(|link| !link.failed);
    let to_switches = working.filter_map(|link| {
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
