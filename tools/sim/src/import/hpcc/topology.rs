//! `topology.txt`: the numbers of nodes, switches and links; the switches; the links.

use std::collections::BTreeMap;

use weir_core::{BitRate, Duration};

use super::super::units;
use super::super::words::{ImportError, Word, Words};
use super::Text;

/// Maximum number of nodes, and of links.
const NODES_MAX: u64 = 220_000;
const LINKS_MAX: u64 = 1_200_000;
/// `src dst rate delay error_rate`.
const WORDS_OF_A_LINK: usize = 5;

/// Variants of such a file, by their first line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    /// Nodes, switches, links.
    Hpcc,
    /// Nodes, switches, those in racks, links: PowerTCP's simulator, a fork.
    PowerTcp,
    /// The same and two rates, which no link needs: Reverie, a fork of PowerTCP.
    Reverie,
}

impl Form {
    /// Returns a fork's variant if the file has exactly as many words as its first line announces.
    fn of(text: &str) -> Self {
        let first = text.lines().next().unwrap_or_default();
        let counts: Vec<&str> = first.split_ascii_whitespace().collect();
        let form = match counts.len() {
            4 => Self::PowerTcp,
            6 => Self::Reverie,
            _ => return Self::Hpcc,
        };
        let count = |at: usize| counts[at].parse::<usize>().ok();
        let promised = || {
            let of_links = count(3)?.checked_mul(WORDS_OF_A_LINK)?;
            counts.len().checked_add(count(1)?)?.checked_add(of_links)
        };
        match promised() == Some(text.split_ascii_whitespace().count()) {
            true => form,
            false => Self::Hpcc,
        }
    }
}

/// HPCC's network: nodes are numbers from 0.
#[derive(Debug)]
pub(super) struct Topology {
    /// By node.
    is_switch: Vec<bool>,
    /// Between switches.
    pub(super) links: Vec<Link>,
    /// By host: its lines, at least one.
    pub(super) hosts: BTreeMap<u64, Vec<HostLine>>,
    /// Most common rate and delay of hosts' lines; there is at least one host.
    pub(super) host_line: (BitRate, Duration),
    /// By switch: the smallest switch that it can reach.
    islands: Vec<u64>,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct HostLine {
    pub(super) switch: u64,
    pub(super) rate: BitRate,
    pub(super) delay: Duration,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Link {
    pub(super) ends: [u64; 2],
    pub(super) rate: BitRate,
    pub(super) delay: Duration,
}

impl Topology {
    pub(super) fn read(file: Text<'_>) -> Result<Self, ImportError> {
        let mut words = Words::new(file.name, file.text);
        let form = Form::of(file.text);
        let nodes = words.number("how many nodes there are", NODES_MAX)?;
        let switches = words.number("how many of the nodes are switches", nodes)?;
        if form != Form::Hpcc {
            words.number("how many of the switches are in racks", nodes)?;
        }
        let links = words.number("how many links there are", LINKS_MAX)?;
        if form == Form::Reverie {
            for whose in ["host links", "links between switches"] {
                words.next(&format!("the rate of {whose}; each link has it again"))?;
            }
        }
        let mut topology = Self {
            is_switch: vec![false; nodes as usize],
            links: Vec::new(),
            hosts: BTreeMap::new(),
            host_line: (BitRate::from_mbit(1), Duration::ZERO),
            islands: (0..nodes).collect(),
        };
        for _ in 0..switches {
            let word = words.next("the number of a switch")?;
            let node = topology.node(&word)?;
            if std::mem::replace(&mut topology.is_switch[node as usize], true) {
                return Err(word.wrong(format!("switch {node} is listed twice; remove one")));
            }
        }
        let mut seen = BTreeMap::new();
        for _ in 0..links {
            topology.add_link(&mut words, &mut seen)?;
        }
        let mut lines: BTreeMap<(BitRate, Duration), usize> = BTreeMap::new();
        for host in topology.hosts.values().flatten() {
            *lines.entry((host.rate, host.delay)).or_default() += 1;
        }
        let Some((line, _)) = lines.into_iter().max_by_key(|(_, count)| *count) else {
            let word = words.next("a link to a host: nodes that are no switches are hosts");
            return Err(word.map_or_else(
                |error| error,
                |word| word.wrong("no link leads to a host; is the number of links too small?"),
            ));
        };
        topology.host_line = line;
        topology.join_islands();
        Ok(topology)
    }

    /// Joins switches with links to islands, by way of those with smaller numbers (Galler and Fischer, 1964). Hosts join
    /// nothing: they do not forward.
    fn join_islands(&mut self) {
        let joins: Vec<[u64; 2]> = self.links.iter().map(|link| link.ends).collect();
        for ends in joins {
            let [a, b] = ends.map(|switch| self.island(switch));
            self.islands[a.max(b) as usize] = a.min(b);
        }
    }

    fn island(&mut self, node: u64) -> u64 {
        let mut node = node as usize;
        while self.islands[node] != node as u64 {
            self.islands[node] = self.islands[self.islands[node] as usize];
            node = self.islands[node] as usize;
        }
        node as u64
    }

    /// True if links lead from one host to the other.
    pub(super) fn is_joined(&mut self, a: u64, b: u64) -> bool {
        let [a, b] = [a, b].map(|host| {
            let lines = self.hosts.get(&host).into_iter().flatten();
            let switches: Vec<u64> = lines.map(|line| line.switch).collect();
            let islands = switches.into_iter().map(|switch| self.island(switch));
            islands.collect::<Vec<u64>>()
        });
        a.iter().any(|island| b.contains(island))
    }

    pub(super) fn node_count(&self) -> u64 {
        self.is_switch.len() as u64
    }

    pub(super) fn is_switch(&self, node: u64) -> bool {
        self.is_switch.get(node as usize) == Some(&true)
    }

    /// Returns a node's name in the scenario.
    pub(super) fn name(&self, node: u64) -> String {
        match self.is_switch(node) {
            true => format!("s{node}"),
            false => format!("h{node}"),
        }
    }

    /// Returns the numbers of switches, ascending.
    pub(super) fn switches(&self) -> impl Iterator<Item = u64> + '_ {
        (0..self.node_count()).filter(|node| self.is_switch(*node))
    }

    fn node(&self, word: &Word<'_>) -> Result<u64, ImportError> {
        let nodes = self.node_count();
        let most = nodes.saturating_sub(1);
        word.number(&format!("a node; there are {nodes}, from 0"), most)
    }

    /// Adds `src dst rate delay error_rate`. `seen` has the previous links with their lines.
    fn add_link(
        &mut self,
        words: &mut Words<'_>,
        seen: &mut BTreeMap<[u64; 2], usize>,
    ) -> Result<(), ImportError> {
        let first = words.next("the first end of a link")?;
        let from = self.node(&first)?;
        let second = words.next("the second end of a link")?;
        let to = self.node(&second)?;
        let word = words.next("the link's rate")?;
        let rate = units::rate(word.text).ok_or_else(|| {
            let message = "is no rate in whole bits a second; write one such as 100Gbps, 12.5GBps or 100000000000";
            word.wrong(format!("`{}` {message}", word.text))
        })?;
        let word = words.next("the link's delay")?;
        let delay = units::time(word.text).ok_or_else(|| {
            let message = "is no time in whole nanoseconds; write one such as 1000ns";
            word.wrong(format!("`{}` {message}", word.text))
        })?;
        let word = words.next("the link's error rate")?;
        match units::scaled(word.text, 0) {
            Some(0) => {}
            _ => {
                return Err(word.wrong(format!(
                    "error rate `{}`: a scenario's links lose nothing by chance; write 0, and lose frames by a [[fault]] of kind \"drop\"",
                    word.text
                )))
            }
        }
        if from == to {
            return Err(second.wrong(format!("a link from {from} to itself")));
        }
        let ends = [from.min(to), from.max(to)];
        if let Some(line) = seen.insert(ends, first.line) {
            return Err(first.wrong(format!(
                "{from} and {to} have a link already, in line {line}; a scenario has one between two nodes: make it as fast as both"
            )));
        }
        match (self.is_switch(from), self.is_switch(to)) {
            (true, true) => self.links.push(Link {
                ends: [from, to],
                rate,
                delay,
            }),
            (false, true) => self.add_host([from, to], (rate, delay)),
            (true, false) => self.add_host([to, from], (rate, delay)),
            (false, false) => {
                return Err(first.wrong(format!(
                    "{from} and {to} are both hosts; put a switch between them"
                )))
            }
        }
        Ok(())
    }

    fn add_host(&mut self, [host, switch]: [u64; 2], (rate, delay): (BitRate, Duration)) {
        self.hosts.entry(host).or_default().push(HostLine {
            switch,
            rate,
            delay,
        });
    }
}
