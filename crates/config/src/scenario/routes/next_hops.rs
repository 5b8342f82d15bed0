//! Next hops of all switches, with each group of ports stored once per switch: a large network has many hosts and few
//! groups.

use std::collections::BTreeMap;
use std::ops::Index;
use std::sync::Arc;

/// `next_hops[switch][host]` are the ports of the switch from which the flow hash chooses for frames to the host, in
/// the order of port numbers; empty without a route.
///
/// Routes lead to the hosts that receive frames of some flow (in a scenario without flows, to all) and to those of a
/// `[[route]]`; a switch has routes to all of its own hosts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NextHops {
    rows: Vec<NextHopsOf>,
}

/// Next hops of one switch, by host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NextHopsOf {
    /// Shared by all switches. By host: its index in `by_column`, or [`NO_COLUMN`].
    columns: Arc<[u32]>,
    /// Shared by all switches. By index in `by_column`: the host.
    hosts: Arc<[u32]>,
    /// Index in `groups`.
    by_column: Vec<u32>,
    /// The first one is empty.
    groups: Vec<Vec<usize>>,
    /// By host without a column.
    beside: BTreeMap<usize, Vec<usize>>,
}

const NO_COLUMN: u32 = u32::MAX;

impl Index<usize> for NextHops {
    type Output = NextHopsOf;

    fn index(&self, switch: usize) -> &NextHopsOf {
        &self.rows[switch]
    }
}

impl Index<usize> for NextHopsOf {
    type Output = [usize];

    fn index(&self, host: usize) -> &[usize] {
        match self.columns[host] {
            NO_COLUMN => self.beside.get(&host).map_or(&[], Vec::as_slice),
            column => &self.groups[self.by_column[column as usize] as usize],
        }
    }
}

impl NextHops {
    /// Hosts with routes, in ascending order.
    pub fn targets(&self) -> impl Iterator<Item = usize> + '_ {
        let hosts = self.rows.first().map_or(&[][..], |row| &row.hosts[..]);
        hosts.iter().map(|host| *host as usize)
    }

    /// Returns true if all switches except `except` send frames to both hosts by the same ports. O(switches).
    pub(in crate::scenario) fn are_alike(&self, a: usize, b: usize, except: usize) -> bool {
        let mut rows = self.rows.iter().enumerate();
        rows.all(|(switch, row)| switch == except || row[a] == row[b])
    }
}

impl NextHopsOf {
    /// Hosts with a route, in ascending order, each with its members. O(hosts with routes).
    pub fn routes(&self) -> impl Iterator<Item = (usize, &[usize])> + '_ {
        let mut columns = self.hosts.iter().zip(&self.by_column).peekable();
        let mut beside = self.beside.iter().peekable();
        let in_order = std::iter::from_fn(move || {
            let first = columns
                .peek()
                .map_or(usize::MAX, |(host, _)| **host as usize);
            match beside.next_if(|(host, _)| **host < first) {
                Some((host, members)) => Some((*host, members.as_slice())),
                None => {
                    let (host, group) = columns.next()?;
                    Some((*host as usize, self.groups[*group as usize].as_slice()))
                }
            }
        });
        in_order.filter(|(_, members)| !members.is_empty())
    }
}

pub(in crate::scenario) struct Builder {
    rows: Vec<NextHopsOf>,
    /// By switch: the index of each group.
    known: Vec<BTreeMap<Vec<usize>, u32>>,
}

impl Builder {
    /// Starts without routes. `is_target`: for each host, true if all switches have routes to it.
    pub(in crate::scenario) fn new(switch_count: usize, is_target: &[bool]) -> Self {
        let mut count = 0;
        let columns: Arc<[u32]> = is_target
            .iter()
            .map(|is_target| {
                if !is_target {
                    return NO_COLUMN;
                }
                count += 1;
                count - 1
            })
            .collect();
        let hosts = is_target
            .iter()
            .zip(0..)
            .filter(|(is_target, _)| **is_target);
        let row = NextHopsOf {
            columns,
            hosts: hosts.map(|(_, host)| host).collect(),
            by_column: vec![0; count as usize],
            groups: vec![Vec::new()],
            beside: BTreeMap::new(),
        };
        Self {
            rows: vec![row; switch_count],
            known: vec![BTreeMap::from([(Vec::new(), 0)]); switch_count],
        }
    }

    pub(in crate::scenario) fn is_target(&self, host: usize) -> bool {
        self.rows
            .first()
            .is_some_and(|row| row.columns[host] != NO_COLUMN)
    }

    /// Replaces the members of an entry.
    pub(in crate::scenario) fn set(&mut self, switch: usize, host: usize, members: &[usize]) {
        self.set_all(switch, &[host], members);
    }

    /// Replaces the members for each of these hosts.
    pub(in crate::scenario) fn set_all(
        &mut self,
        switch: usize,
        hosts: &[usize],
        members: &[usize],
    ) {
        let row = &mut self.rows[switch];
        let group = match self.known[switch].get(members) {
            Some(group) => *group,
            None => {
                let group = row.groups.len() as u32;
                row.groups.push(members.to_vec());
                self.known[switch].insert(members.to_vec(), group);
                group
            }
        };
        for host in hosts {
            match row.columns[*host] {
                NO_COLUMN => {
                    row.beside.insert(*host, members.to_vec());
                }
                column => row.by_column[column as usize] = group,
            }
        }
    }

    pub(in crate::scenario) fn finish(self) -> NextHops {
        NextHops { rows: self.rows }
    }
}
