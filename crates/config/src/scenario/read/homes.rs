//! `lines` of a `[[host]]`, and the line that a flow takes.

use std::cell::RefCell;
use std::collections::BTreeMap;

use super::{find, keys, nodes};
use crate::reader::{unknown, Names, Table};
use crate::scenario::random::Random;
use crate::scenario::routes::compute::distances;
use crate::scenario::topology::Adjacency;
use crate::scenario::{Host, Multihomed};

/// Hosts of several lines, in the order of the file. `hosts` has their lines.
pub(super) fn multihomed(root: &Table<'_>, names: &Names, hosts: &[Host]) -> Vec<Multihomed> {
    const KEY: &str = "lines";
    let tables = root.tables("host", keys("host"));
    let tables = tables.iter().filter(|table| table.has(KEY));
    let mut host_names: Vec<String> = Vec::new();
    // By line: its host.
    let mut taken: BTreeMap<usize, String> = BTreeMap::new();
    let mut found = Vec::new();
    for table in tables {
        if root.is_text("hosts", "kernel") {
            table.complain(KEY, "a host with a kernel has one line: remove hosts = \"kernel\", or make a host of each line");
        }
        for key in keys("host").iter().filter(|key| table.has(key)) {
            if !["name", KEY].contains(key) {
                table.complain(
                    key,
                    format!("belongs to a line: set it in the [[host]]s of `{KEY}`"),
                );
            }
        }
        if host_names.is_empty() {
            host_names = hosts.iter().map(|host| host.name.clone()).collect();
        }
        let name = nodes::node_name(table, names);
        let listed: Vec<String> = table.get_or(KEY, Vec::new());
        let mut lines = Vec::with_capacity(listed.len());
        for line in &listed {
            let Some(index) = find(table, KEY, "host", line, &host_names) else {
                continue;
            };
            match taken.insert(index, name.clone().unwrap_or_default()) {
                None => lines.push(index),
                Some(other) => {
                    table.complain(KEY, format!("`{line}` is a line of `{other}` already"))
                }
            }
        }
        if listed.len() < 2 {
            table.complain(
                KEY,
                "give at least two: a host of one line is a [[host]] with `switch`",
            );
        }
        if let (Some(name), 2..) = (name, lines.len()) {
            found.push(Multihomed { name, lines });
        }
    }
    found
}

/// A flow's end as it is named.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    /// The only line of a host, or one of several.
    Line(usize),
    /// Any line of a host, by index in the list of those with several.
    Any(usize),
}

/// Finds hosts by name, and lines for flows.
pub(super) struct Homes<'a> {
    hosts: &'a [Host],
    multihomed: &'a [Multihomed],
    adjacency: &'a Adjacency,
    seed: u64,
    /// By switch: links to it from every other one.
    distances: RefCell<BTreeMap<usize, Vec<usize>>>,
}

impl<'a> Homes<'a> {
    pub(super) fn new(
        hosts: &'a [Host],
        multihomed: &'a [Multihomed],
        adjacency: &'a Adjacency,
        seed: u64,
    ) -> Self {
        Self {
            hosts,
            multihomed,
            adjacency,
            seed,
            distances: RefCell::default(),
        }
    }

    /// The host or line that `key` names.
    pub(super) fn end(&self, table: &Table<'_>, key: &str) -> Option<End> {
        let name: String = table.require(key)?;
        match self.named(&name) {
            Ok(end) => Some(end),
            Err(message) => {
                table.complain(key, message);
                None
            }
        }
    }

    /// The host or line `name`.
    pub(super) fn named(&self, name: &str) -> Result<End, String> {
        let host = self.multihomed.iter().position(|host| host.name == name);
        let line = || self.hosts.iter().position(|host| host.name == name);
        let found = host.map(End::Any).or_else(|| line().map(End::Line));
        found.ok_or_else(|| {
            let lines = self.hosts.iter().map(|host| host.name.as_str());
            let hosts = self.multihomed.iter().map(|host| host.name.as_str());
            let known: Vec<&str> = lines.chain(hosts).collect();
            unknown("host", name, &known)
        })
    }

    /// Returns true if `key` names a host of several lines.
    pub(super) fn is_any(&self, table: &Table<'_>, key: &str) -> bool {
        let is_named = |host: &Multihomed| table.is_text(key, &host.name);
        self.multihomed.iter().any(is_named)
    }

    /// Every host once, in the order of their first lines.
    pub(super) fn stations(&self) -> Vec<End> {
        let mut of_line: BTreeMap<usize, Option<End>> = BTreeMap::new();
        for (index, host) in self.multihomed.iter().enumerate() {
            of_line.extend(host.lines.iter().map(|line| (*line, None)));
            if let Some(first) = host.lines.iter().min() {
                of_line.insert(*first, Some(End::Any(index)));
            }
        }
        let lines = 0..self.hosts.len();
        lines
            .filter_map(|line| of_line.get(&line).copied().unwrap_or(Some(End::Line(line))))
            .collect()
    }

    /// The host of an end, as its only line or as a whole.
    pub(super) fn host(&self, end: End) -> End {
        let End::Line(line) = end else { return end };
        let mut hosts = self.multihomed.iter();
        let host = hosts.position(|host| host.lines.contains(&line));
        host.map_or(end, End::Any)
    }

    pub(super) fn name(&self, end: End) -> &str {
        match end {
            End::Line(line) => &self.hosts[line].name,
            End::Any(host) => &self.multihomed[host].name,
        }
    }

    fn lines<'b>(&'b self, end: &'b End) -> &'b [usize] {
        match end {
            End::Line(line) => std::slice::from_ref(line),
            End::Any(host) => &self.multihomed[*host].lines,
        }
    }

    /// The switch of the first line.
    pub(super) fn switch(&self, end: End) -> usize {
        match end {
            End::Line(line) => self.hosts[line].switch,
            End::Any(host) => self.hosts[self.multihomed[host].lines[0]].switch,
        }
    }

    /// The rate of all lines of a host together.
    pub(super) fn bits_per_second(&self, end: &End) -> u64 {
        let lines = self.lines(end).iter();
        lines.map(|line| self.hosts[*line].line.rate.get()).sum()
    }

    /// The lines of flow `name`: a hash of its name and the seed picks one of the pairs with the fewest links between their
    /// switches, or of those at the two ends of `via`.
    pub(super) fn pick(&self, name: &str, ends: [End; 2], via: Option<&[usize]>) -> [usize; 2] {
        if let [End::Line(from), End::Line(to)] = ends {
            return [from, to];
        }
        let switch = |line: usize| self.hosts[line].switch;
        let [from, to] = [&ends[0], &ends[1]].map(|end| self.lines(end));
        let pairs = from
            .iter()
            .flat_map(|from| to.iter().map(|to| [*from, *to]));
        let rated = pairs.map(|[from, to]| {
            let ends = [switch(from), switch(to)];
            let links = match via {
                Some(via) => {
                    usize::from(via.first() != Some(&ends[0]))
                        + usize::from(via.last() != Some(&ends[1]))
                }
                None => self.links(ends),
            };
            (links, [from, to])
        });
        let rated: Vec<(usize, [usize; 2])> = rated.collect();
        let fewest = rated.iter().map(|(links, _)| *links).min();
        let nearest: Vec<[usize; 2]> = rated
            .into_iter()
            .filter(|(links, _)| Some(*links) == fewest)
            .map(|(_, pair)| pair)
            .collect();
        /// Apart from the streams of networks and traffic.
        const STREAM: u64 = 1 << 63;
        let mut random = Random::new(self.seed, STREAM | hash(name));
        nearest[random.index(nearest.len())]
    }

    fn links(&self, [from, to]: [usize; 2]) -> usize {
        let mut known = self.distances.borrow_mut();
        let to_it = known
            .entry(to)
            .or_insert_with(|| distances(self.adjacency, to, |_, _| true));
        to_it[from]
    }
}

/// FNV-1a of 64 bits (Fowler, Noll and Vo).
fn hash(name: &str) -> u64 {
    let add = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    name.bytes().fold(0xcbf2_9ce4_8422_2325, add)
}
