//! Where addresses without a static entry are: learnt from the frames that they send.

use core::cmp::Reverse;

use super::sweep::{Forget, Sweep};
use crate::config::{MoveConfig, SwitchConfig};
use crate::units::{Duration, Instant, PortId};

/// Ways of one set in [`LearntTable`]: how many addresses with one hash can be known at a time.
const WAYS: usize = 4;

/// A table without room is reported once in this time.
const NEWS_AFTER: Duration = Duration::from_secs(60);

#[derive(Clone, Copy, Debug)]
pub(super) struct Learnt {
    pub(super) address: u64,
    pub(super) seen_at: Instant,
    pub(super) port: PortId,
    /// How often it has moved since `moves_since`.
    moves: u16,
    /// In milliseconds, modulo 2³²: what is so old is over in any case, as long as it is asked once in 49 days.
    moves_since: u32,
}

/// An address is behind another port than before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::switch) struct Moved {
    pub(in crate::switch) from: PortId,
    /// It has moved as often as a station does not: said once in each span of [`MoveConfig::within`].
    pub(in crate::switch) is_too_often: bool,
}

fn milliseconds(now: Instant) -> u32 {
    (now.as_nanos() / 1_000_000) as u32
}

/// Outcome of noting an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::switch) enum Noted {
    /// It is behind another port than before.
    Moved(Moved),
    /// It is the first in an empty table.
    First,
    /// It found no room, or took that of an address that was known still.
    Crowded {
        /// Nobody was told within the last minute.
        is_news: bool,
    },
}

/// A set-associative table: bounded memory, O(1). Where an address finds no room the port that has most addresses gives
/// way, so that a port with many addresses does not have those of others forgotten. A forgotten address costs a flood,
/// never a loss.
#[derive(Debug)]
#[cfg_attr(feature = "testing", derive(Clone))]
pub(super) struct LearntTable {
    sets: Vec<[Option<Learnt>; WAYS]>,
    age: Duration,
    moves: Option<MoveConfig>,
    /// Addresses by port. Those that are too old count until the [`Sweep`] comes by.
    counts: Vec<u32>,
    sweep: Sweep,
    /// When a table without room is reported again.
    news_from: Instant,
}

impl LearntTable {
    pub(super) fn new(config: &SwitchConfig) -> Self {
        let moves = config.loops.and_then(|loops| loops.moves);
        let capacity = config.learning_capacity;
        let ports = config.ports.len();
        Self::with(capacity, config.learning_age, moves, ports)
    }

    pub(super) fn with(
        capacity: usize,
        age: Duration,
        moves: Option<MoveConfig>,
        port_count: usize,
    ) -> Self {
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
            sweep: Sweep::new(port_count),
            news_from: Instant::ZERO,
        }
    }

    pub(super) fn is_on(&self) -> bool {
        !self.sets.is_empty()
    }

    /// Addresses that there is room for.
    pub(super) fn capacity(&self) -> usize {
        self.sets.len() * WAYS
    }

    /// Addresses in the table.
    pub(super) fn len(&self) -> u32 {
        self.counts.iter().sum()
    }

    /// Those behind `port`.
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

    /// All that is fresh: address, port, and when it was noted. O(capacity).
    pub(super) fn iter(&self, now: Instant) -> impl Iterator<Item = (u64, PortId, Instant)> + '_ {
        let entries = self.sets.iter().flatten().flatten();
        entries
            .filter(move |entry| self.is_fresh(now, entry))
            .map(|entry| (entry.address, entry.port, entry.seen_at))
    }

    /// The address is behind `port` now. O(1).
    pub(super) fn note(&mut self, now: Instant, address: u64, port: PortId) -> Option<Noted> {
        let index = self.set_index(address);
        let set = self.sets.get_mut(index)?;
        let known = set
            .iter_mut()
            .flatten()
            .find(|entry| entry.address == address);
        if let Some(entry) = known {
            entry.seen_at = now;
            let from = core::mem::replace(&mut entry.port, port);
            if from == port {
                return None;
            }
            let is_too_often = Self::count_move(self.moves.as_ref(), now, entry);
            self.count(from, -1);
            self.count(port, 1);
            return Some(Noted::Moved(Moved { from, is_too_often }));
        }
        self.add(now, index, address, port)
    }

    /// Makes room for an address that is new, if there is any to be had.
    #[cold]
    fn add(&mut self, now: Instant, index: usize, address: u64, port: PortId) -> Option<Noted> {
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
                moves: 0,
                moves_since: milliseconds(now),
            });
        }
        if free.is_none() {
            let is_news = now >= self.news_from;
            if is_news {
                self.news_from = now + NEWS_AFTER;
            }
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

    /// When [`sweep`](Self::sweep) has something to do.
    pub(super) fn next_sweep(&self) -> Instant {
        self.sweep.next
    }

    /// Forgets the addresses of `job`, those that are learned again from now on excepted. False where there is no room for
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

    /// Goes through some more of the table where that is due: forgets what is too old, and what is to be forgotten.
    /// O(1): [`SETS_PER_STEP`] sets.
    pub(super) fn sweep(&mut self, now: Instant) {
        if self.sweep.next <= now {
            self.step(now);
        }
    }

    fn step(&mut self, now: Instant) {
        let age = self.age;
        for index in self.sweep.take_step(self.sets.len()) {
            let Some(set) = self.sets.get_mut(index) else {
                continue;
            };
            for way in set {
                let Some(entry) = way else { continue };
                let is_old = now.saturating_since(entry.seen_at) >= age;
                if !is_old && !self.sweep.is_forgotten(entry) {
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

#[cfg(test)]
#[path = "learnt_tests.rs"]
mod tests;
