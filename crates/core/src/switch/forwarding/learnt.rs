//! Learned addresses: locations of addresses without a static entry, from the frames that they send.

use core::cmp::Reverse;

use super::sweep::{Forget, Sweep};
use crate::config::{MoveConfig, PortRole, SwitchConfig};
use crate::units::{Duration, Instant, PortId};

/// Slots per set of [`LearntTable`]: maximum number of addresses with one hash.
const WAYS: usize = 4;

/// For this long after an address was seen at its port, a port to a host cannot take it over.
const HOLDS_FOR: Duration = Duration::from_secs(1);
/// Rounds of the [`Sweep`] after which the port of an address becomes its home: two ages.
const ROUNDS_TO_SETTLE: u8 = 16;

/// Minimum time between two reports of a full table.
const NEWS_AFTER: Duration = Duration::from_secs(60);

#[derive(Clone, Copy, Debug)]
pub(super) struct Learnt {
    pub(super) address: u64,
    pub(super) seen_at: Instant,
    pub(super) port: PortId,
    /// The port at which it was first seen, or has been seen for long. It returns there at once, even while another
    /// port uses it.
    home: PortId,
    /// Rounds of the sweep that it has been at `port`, if that is not its home.
    rounds: u8,
    /// Number of moves since `moves_since`.
    moves: u8,
    /// In milliseconds, modulo 2³²: unambiguous as long as it is checked once in 49 days.
    moves_since: u32,
}

/// An address has moved to another port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::switch) struct Moved {
    pub(in crate::switch) from: PortId,
    /// It moves more often than a station would. Set once in each span of [`MoveConfig::within`].
    pub(in crate::switch) is_too_often: bool,
}

fn milliseconds(now: Instant) -> u32 {
    (now.as_nanos() / 1_000_000) as u32
}

/// Outcome of noting an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::switch) enum Noted {
    /// It has moved to another port.
    Moved(Moved),
    /// It stays at its port: the frame comes from another station.
    Kept(Moved),
    /// It has a static entry with other ports.
    Foreign,
    /// The port has reached its limit of addresses.
    Limited {
        /// The last report is older than a minute.
        is_news: bool,
    },
    /// It is the first in an empty table.
    First,
    /// It found no room, or replaced an address still in use.
    Crowded {
        /// The last report is older than a minute.
        is_news: bool,
    },
}

#[derive(Clone, Copy, Debug)]
pub(super) struct PortRule {
    /// It leads to a host.
    pub(super) is_edge: bool,
    /// Maximum number of addresses behind it.
    pub(super) limit: u32,
    pub(super) is_up: bool,
}

/// A set-associative table: bounded memory, O(1). If an address finds no room, one of the port with the most addresses
/// is replaced, so that a port with many addresses does not displace those of others. A forgotten address costs a
/// flood, never a loop.
#[derive(Debug)]
#[cfg_attr(feature = "testing", derive(Clone))]
pub(super) struct LearntTable {
    sets: Vec<[Option<Learnt>; WAYS]>,
    age: Duration,
    moves: Option<MoveConfig>,
    /// Number of addresses by port. Expired ones count until the [`Sweep`] finds them.
    counts: Vec<u32>,
    rules: Vec<PortRule>,
    sweep: Sweep,
    /// Time from which a full table is reported again.
    news_from: Instant,
}

impl LearntTable {
    pub(super) fn new(config: &SwitchConfig) -> Self {
        let moves = config.loops.and_then(|loops| loops.moves);
        let capacity = config.learning_capacity;
        let rules = config.ports.iter().map(|port| PortRule {
            is_edge: port.role == PortRole::Edge,
            limit: port.address_limit.unwrap_or(u32::MAX),
            is_up: true,
        });
        Self::with(capacity, config.learning_age, moves, rules.collect())
    }

    pub(super) fn with(
        capacity: usize,
        age: Duration,
        moves: Option<MoveConfig>,
        rules: Vec<PortRule>,
    ) -> Self {
        let port_count = rules.len();
        let set_count = if capacity == 0 {
            0
        } else {
            capacity.div_ceil(WAYS).next_power_of_two()
        };
        Self {
            sets: vec![[None; WAYS]; set_count],
            age,
            moves,
            counts: vec![0; if capacity == 0 { 0 } else { port_count }],
            rules,
            sweep: Sweep::new(port_count),
            news_from: Instant::ZERO,
        }
    }

    /// Sets the state of `port`'s link: while it is down, addresses seen there may be anywhere.
    pub(super) fn note_link(&mut self, port: PortId, is_up: bool) {
        if let Some(rule) = self.rules.get_mut(port.index()) {
            rule.is_up = is_up;
        }
    }

    pub(super) fn is_edge(&self, port: PortId) -> bool {
        self.rules
            .get(port.index())
            .is_some_and(|rule| rule.is_edge)
    }

    pub(super) fn is_on(&self) -> bool {
        !self.sets.is_empty()
    }

    pub(super) fn capacity(&self) -> usize {
        self.sets.len() * WAYS
    }

    pub(super) fn len(&self) -> u32 {
        self.counts.iter().sum()
    }

    pub(super) fn count_at(&self, port: PortId) -> u32 {
        self.counts.get(port.index()).copied().unwrap_or(0)
    }

    fn set_index(&self, address: u64) -> usize {
        crate::random::mix(address) as usize & (self.sets.len().max(1) - 1)
    }

    fn is_fresh(&self, now: Instant, entry: &Learnt) -> bool {
        now.saturating_since(entry.seen_at) < self.age
    }

    pub(super) fn find(&self, now: Instant, address: u64) -> Option<PortId> {
        self.sets
            .get(self.set_index(address))?
            .iter()
            .flatten()
            .find(|entry| entry.address == address && self.is_fresh(now, entry))
            .map(|entry| entry.port)
    }

    /// All addresses that have not expired: address, port, and time of the last frame. O(capacity).
    pub(super) fn iter(&self, now: Instant) -> impl Iterator<Item = (u64, PortId, Instant)> + '_ {
        let entries = self.sets.iter().flatten().flatten();
        entries
            .filter(move |entry| self.is_fresh(now, entry))
            .map(|entry| (entry.address, entry.port, entry.seen_at))
    }

    /// Notes that a frame from the address arrived on `port`. O(1).
    pub(super) fn note(&mut self, now: Instant, address: u64, port: PortId) -> Option<Noted> {
        let index = self.set_index(address);
        let set = self.sets.get_mut(index)?;
        let known = set
            .iter_mut()
            .flatten()
            .find(|entry| entry.address == address);
        match known {
            Some(entry) if entry.port == port => {
                entry.seen_at = now;
                None
            }
            Some(_) => self.see_elsewhere(now, index, address, port),
            None => self.add(now, index, address, port),
        }
    }

    /// Handles a frame from an address that was known at another port than `port`.
    ///
    /// A host that uses another host's address would get that host's frames from a switch that believes everything. So
    /// a port to a host does not take over an address seen elsewhere a moment ago, and does not lose one either. A port
    /// that has taken over the address of a silent host does not keep it: the host's home is its own port. Between
    /// switches, addresses move as paths change.
    #[cold]
    fn see_elsewhere(
        &mut self,
        now: Instant,
        index: usize,
        address: u64,
        port: PortId,
    ) -> Option<Noted> {
        let is_full = self.is_full(port);
        let (moves, age) = (self.moves, self.age);
        let mut entries = self.sets.get_mut(index)?.iter_mut().flatten();
        let entry = entries.find(|it| it.address == address)?;
        let is_too_often = Self::count_move(moves.as_ref(), now, entry);
        let from = entry.port;
        let moved = Moved { from, is_too_often };
        let silent = now.saturating_since(entry.seen_at);
        let there = self.rules.get(from.index());
        let is_edge = |rule: &PortRule| rule.is_edge;
        let is_host =
            self.rules.get(port.index()).is_some_and(is_edge) || there.is_some_and(is_edge);
        let is_live = silent < HOLDS_FOR.min(age) && there.is_some_and(|rule| rule.is_up);
        if is_host && is_live && port != entry.home {
            return Some(Noted::Kept(moved));
        }
        if is_full {
            return Some(self.limited(now));
        }
        if silent >= age {
            entry.home = port;
        }
        (entry.port, entry.seen_at, entry.rounds) = (port, now, 0);
        self.count(from, -1);
        self.count(port, 1);
        Some(Noted::Moved(moved))
    }

    fn is_full(&self, port: PortId) -> bool {
        let limit = self.rules.get(port.index()).map_or(0, |rule| rule.limit);
        self.count_at(port) >= limit
    }

    fn limited(&mut self, now: Instant) -> Noted {
        Noted::Limited {
            is_news: self.take_news(now),
        }
    }

    /// Returns true once a minute.
    fn take_news(&mut self, now: Instant) -> bool {
        let is_news = now >= self.news_from;
        if is_news {
            self.news_from = now + NEWS_AFTER;
        }
        is_news
    }

    /// Adds a new address, and makes room for it if possible.
    #[cold]
    fn add(&mut self, now: Instant, index: usize, address: u64, port: PortId) -> Option<Noted> {
        if self.is_full(port) {
            return Some(self.limited(now));
        }
        let set = self.sets[index];
        let is_free = |way: &usize| set[*way].is_none_or(|entry| !self.is_fresh(now, &entry));
        let free = (0..WAYS).find(is_free);
        let oldest_of_most = |way: &usize| {
            set[*way].map(|entry| (self.count_at(entry.port), Reverse(entry.seen_at)))
        };
        let way = free.or_else(|| (0..WAYS).max_by_key(oldest_of_most))?;
        let before = set[way];
        let gives_way = free.is_some()
            || before.is_none_or(|entry| self.count_at(entry.port) >= self.count_at(port));
        let was_empty = self.len() == 0;
        if gives_way {
            if let Some(entry) = before {
                self.count(entry.port, -1);
            }
            self.count(port, 1);
            self.sets[index][way] = Some(Learnt {
                address,
                seen_at: now,
                port,
                home: port,
                rounds: 0,
                moves: 0,
                moves_since: milliseconds(now),
            });
        }
        if free.is_none() {
            let is_news = self.take_news(now);
            return Some(Noted::Crowded { is_news });
        }
        if was_empty {
            self.sweep.begin_round(now, self.sets.len(), self.age);
            return Some(Noted::First);
        }
        None
    }

    fn count(&mut self, port: PortId, change: i32) {
        if let Some(count) = self.counts.get_mut(port.index()) {
            *count = count.saturating_add_signed(change);
        }
    }

    pub(super) fn next_sweep(&self) -> Instant {
        self.sweep.next
    }

    /// Forgets the addresses of `job`, except those learned again from now on. Returns false if there is no room for
    /// another job.
    pub(super) fn forget(&mut self, now: Instant, job: Forget) -> bool {
        if self.len() == 0 {
            return true;
        }
        let has_room = self.sweep.add(now, job, self.sets.len());
        if has_room {
            self.step(now);
        }
        has_room
    }

    /// Scans some more of the table if that is due: forgets expired addresses and those of the jobs. O(1):
    /// [`SETS_PER_STEP`] sets.
    pub(super) fn sweep(&mut self, now: Instant) {
        if self.sweep.next <= now {
            self.step(now);
        }
    }

    fn step(&mut self, now: Instant) {
        let age = self.age;
        let is_round = !self.sweep.has_jobs();
        for index in self.sweep.take_step(self.sets.len()) {
            let Some(set) = self.sets.get_mut(index) else {
                continue;
            };
            for way in set {
                let Some(entry) = way else { continue };
                let is_old = now.saturating_since(entry.seen_at) >= age;
                if !is_old && !self.sweep.is_forgotten(entry) {
                    entry.settle(is_round);
                    continue;
                }
                if let Some(count) = self.counts.get_mut(entry.port.index()) {
                    *count -= 1;
                }
                *way = None;
            }
        }
        let is_empty = self.len() == 0;
        self.sweep.end_step(now, self.sets.len(), age, is_empty);
    }

    #[cold]
    fn count_move(config: Option<&MoveConfig>, now: Instant, entry: &mut Learnt) -> bool {
        let Some(config) = config else {
            return false;
        };
        let now = milliseconds(now);
        let within = config.within.as_nanos() / 1_000_000;
        if u64::from(now.wrapping_sub(entry.moves_since)) >= within {
            entry.moves_since = now;
            entry.moves = 0;
        }
        entry.moves = entry.moves.saturating_add(1);
        entry.moves == config.count
    }
}

impl Learnt {
    /// Counts one more round of the sweep at the same port.
    fn settle(&mut self, is_round: bool) {
        if is_round && self.port != self.home {
            self.rounds += 1;
            if self.rounds >= ROUNDS_TO_SETTLE {
                self.home = self.port;
            }
        }
    }
}

#[cfg(test)]
#[path = "learnt_tests.rs"]
mod tests;
