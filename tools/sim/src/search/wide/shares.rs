//! Fair shares of lines.

use std::collections::{BTreeMap, BTreeSet};

use weir_core::Duration;

use super::case::{Case, Flow};

/// A flow's path by the first member at each switch: the host's line, links between switches, the other host's line.
pub(super) struct Share {
    pub(super) hops: Vec<Hop>,
}

#[derive(Clone, Copy)]
pub(super) struct Hop {
    /// In bit/s.
    pub(super) rate: u64,
    pub(super) users: u64,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Place {
    From(usize),
    Between(usize, usize),
    To(usize),
}

impl Case {
    pub(super) fn shares(&self) -> Vec<Share> {
        let ways: Vec<Vec<Place>> = self.flows.iter().map(|flow| self.way(flow)).collect();
        let mut users: BTreeMap<Place, u64> = BTreeMap::new();
        for place in ways.iter().flatten() {
            *users.entry(*place).or_default() += 1;
        }
        let mut rates: BTreeMap<Place, u64> = BTreeMap::new();
        for link in &self.links {
            let [a, b] = link.ends;
            rates.insert(Place::Between(a, b), link.line.rate.get());
            rates.insert(Place::Between(b, a), link.line.rate.get());
        }
        let at_hosts = self.host_line.rate.get();
        let hop = |place: &Place| Hop {
            rate: rates.get(place).copied().unwrap_or(at_hosts),
            users: users[place],
        };
        ways.iter()
            .map(|way| Share {
                hops: way.iter().map(hop).collect(),
            })
            .collect()
    }

    fn way(&self, flow: &Flow) -> Vec<Place> {
        let mut way = vec![Place::From(flow.from)];
        let mut at = self.hosts[flow.from];
        let next_of = |at: usize| {
            self.routes
                .get(&(flow.to, at))
                .and_then(|next| next.first())
        };
        while let Some(next) = next_of(at).filter(|_| way.len() <= self.switches.len()) {
            way.push(Place::Between(at, *next));
            at = *next;
        }
        way.push(Place::To(flow.to));
        way
    }

    /// Returns the time for the slowest flow to move the content of full buffers of `buffer` bytes on its path, if every
    /// line is shared equally between the lines that feed it (a parking lot: each gets a share of a share), and the first
    /// between its flows. O(flows × hops × log lines).
    pub(super) fn filling_time(&self, buffer: u64) -> Duration {
        let ways: Vec<Vec<Place>> = self.flows.iter().map(|flow| self.way(flow)).collect();
        let mut feeders: BTreeMap<Place, BTreeSet<Option<Place>>> = BTreeMap::new();
        for way in &ways {
            let before = std::iter::once(None).chain(way.iter().copied().map(Some));
            for (place, before) in way.iter().zip(before) {
                feeders.entry(*place).or_default().insert(before);
            }
        }
        let shares = self.shares();
        let times = ways.iter().zip(&shares).map(|(way, share)| {
            let mut rate = u64::MAX;
            let mut time = 0u64;
            for (place, hop) in way.iter().zip(&share.hops).rev() {
                rate = rate.min(hop.rate).max(1);
                let bits = u128::from(buffer) * 8 * 1_000_000_000;
                let moved = (bits / u128::from(rate)).try_into().unwrap_or(u64::MAX);
                time = time.saturating_add(moved);
                rate /= feeders[place].len() as u64;
            }
            let at_host = share.hops.first().map_or(1, |hop| hop.users);
            time.saturating_mul(at_host)
        });
        Duration::from_nanos(times.max().unwrap_or(0))
    }
}
