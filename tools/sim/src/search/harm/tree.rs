//! A random tree of switches with hosts.

use weir_core::{BitRate, Duration, PortId};

use crate::network::plan::{End, LinkPlan, PriorityMap};
use crate::random::Random;
use crate::search::wide::pick;

/// Minimum number of hosts, without the one that is silent at first.
const HOSTS_LEAST: usize = 3;

pub(super) struct Tree {
    /// By switch except the first: its parent.
    pub(super) parents: Vec<usize>,
    /// By host: its switch.
    pub(super) hosts: Vec<usize>,
    pub(super) lines: Vec<Line>,
    pub(super) host_lines: Vec<Line>,
}

#[derive(Clone, Copy)]
pub(super) struct Line {
    pub(super) rate: BitRate,
    pub(super) delay: Duration,
}

impl Line {
    pub(super) fn draw(random: &mut Random) -> Self {
        const MBIT: [u64; 5] = [1_000, 10_000, 25_000, 40_000, 100_000];
        Self {
            rate: BitRate::from_mbit(*pick(&MBIT, random)),
            delay: Duration::from_nanos(random.below(4_000)),
        }
    }
}

/// One direction of a link: from a switch to its parent, to a child or to a host, or from a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Way {
    Up(usize),
    Down(usize),
    ToHost(usize),
    FromHost(usize),
}

impl Tree {
    pub(super) fn draw(random: &mut Random) -> Self {
        let switches = random.between(1, 5) as usize;
        let parents = (1..switches).map(|it| random.below(it as u64) as usize);
        let parents: Vec<usize> = parents.collect();
        let mut hosts: Vec<usize> = (0..switches)
            .flat_map(|switch| vec![switch; random.between(1, 3) as usize])
            .collect();
        // The last one is silent at first.
        while hosts.len() < HOSTS_LEAST + 1 || random.below(2) == 0 && hosts.len() < 12 {
            hosts.push(random.below(switches as u64) as usize);
        }
        hosts.push(random.below(switches as u64) as usize);
        let usual = Line::draw(random);
        let mixed = random.below(3) == 0;
        let mut line = |_| match mixed {
            true => Line::draw(random),
            false => usual,
        };
        Self {
            lines: parents.iter().map(&mut line).collect(),
            host_lines: hosts.iter().map(&mut line).collect(),
            parents,
            hosts,
        }
    }

    pub(super) fn switches(&self) -> usize {
        self.parents.len() + 1
    }

    /// Returns the switches from `switch` to the root, both included.
    pub(super) fn to_root(&self, switch: usize) -> Vec<usize> {
        let above = |at: &usize| at.checked_sub(1).map(|place| self.parents[place]);
        std::iter::successors(Some(switch), above).collect()
    }

    pub(super) fn path(&self, from: usize, to: usize) -> Vec<Way> {
        let (up, down) = (self.to_root(self.hosts[from]), self.to_root(self.hosts[to]));
        let meets = |at: &&usize| !down.contains(at);
        let mut path = vec![Way::FromHost(from)];
        path.extend(up.iter().take_while(meets).map(|at| Way::Up(*at)));
        let below = down.iter().take_while(|at| !up.contains(at));
        let mut below: Vec<Way> = below.map(|at| Way::Down(*at)).collect();
        below.reverse();
        path.extend(below);
        path.push(Way::ToHost(to));
        path
    }

    pub(super) fn flooded(&self, from: usize) -> Vec<Way> {
        let hosts = (0..self.hosts.len()).filter(|to| *to != from);
        let mut all: Vec<Way> = hosts.flat_map(|to| self.path(from, to)).collect();
        all.sort_unstable();
        all.dedup();
        all
    }

    pub(super) fn rate(&self, way: Way) -> BitRate {
        match way {
            Way::Up(child) | Way::Down(child) => self.lines[child - 1].rate,
            Way::ToHost(host) | Way::FromHost(host) => self.host_lines[host].rate,
        }
    }

    /// Returns the children of a switch in the order of its ports, after the port to its parent.
    pub(super) fn children(&self, switch: usize) -> impl Iterator<Item = usize> + '_ {
        let parents = self.parents.iter().enumerate();
        parents.filter_map(move |(place, parent)| (*parent == switch).then_some(place + 1))
    }

    pub(super) fn hosts_at(&self, switch: usize) -> impl Iterator<Item = usize> + '_ {
        let hosts = self.hosts.iter().enumerate();
        hosts.filter_map(move |(host, at)| (*at == switch).then_some(host))
    }

    /// Returns the directions that leave a switch, in the order of its ports.
    pub(super) fn ways_of(&self, switch: usize) -> Vec<Way> {
        let up = (switch > 0).then_some(Way::Up(switch));
        let down = self.children(switch).map(Way::Down);
        let hosts = self.hosts_at(switch).map(Way::ToHost);
        up.into_iter().chain(down).chain(hosts).collect()
    }

    pub(super) fn port_of(&self, switch: usize, way: Way) -> PortId {
        let place = self.ways_of(switch).iter().position(|known| *known == way);
        PortId::new(place.unwrap_or(0) as u8)
    }

    pub(super) fn port_of_host(&self, host: usize) -> (u32, PortId) {
        let switch = self.hosts[host];
        (switch as u32, self.port_of(switch, Way::ToHost(host)))
    }

    /// Direction by which frames for a host leave a switch.
    pub(super) fn next(&self, switch: usize, host: usize) -> Way {
        let down = self.to_root(self.hosts[host]);
        match down.iter().position(|at| *at == switch) {
            None => Way::Up(switch),
            Some(0) => Way::ToHost(host),
            Some(place) => Way::Down(down[place - 1]),
        }
    }

    pub(super) fn links(&self) -> Vec<LinkPlan> {
        let end = |switch: usize, way| End::Port {
            switch: switch as u32,
            port: self.port_of(switch, way),
        };
        let link = |ends, line: &Line| LinkPlan {
            ends,
            delay: line.delay,
            priority_map: [PriorityMap::IDENTITY; 2],
        };
        let fabric = self.parents.iter().zip(&self.lines).enumerate();
        let fabric = fabric.map(|(place, (parent, line))| {
            let child = place + 1;
            let ends = [end(child, Way::Up(child)), end(*parent, Way::Down(child))];
            link(ends, line)
        });
        let hosts = self.hosts.iter().zip(&self.host_lines).enumerate();
        let hosts = hosts.map(|(host, (switch, line))| {
            let ends = [End::Host(host as u32), end(*switch, Way::ToHost(host))];
            link(ends, line)
        });
        fabric.chain(hosts).collect()
    }
}
