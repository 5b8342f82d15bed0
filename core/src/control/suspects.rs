//! The egress ports that are suspected, and the identifiers that stand for them.

use super::random::Random;
use crate::units::{Duration, Instant, PortId, Priority, Spuid, PRIORITY_COUNT};

/// One (egress, priority) that is, or was just now, suspected.
#[derive(Clone, Copy, Debug)]
pub(super) struct Suspect {
    pub(super) spuid: Spuid,
    pub(super) next_send: Instant,
    /// Set once the egress moves again.
    ended_at: Option<Instant>,
    last_release: Option<Instant>,
}

impl Suspect {
    pub(super) fn is_current(&self) -> bool {
        self.ended_at.is_none()
    }

    /// True once for each `interval`: several switches find the same loop at nearly the same time, and
    /// their releases must not add up.
    pub(super) fn take_release(&mut self, now: Instant, interval: Duration) -> bool {
        let due = self
            .last_release
            .is_none_or(|last| now.saturating_since(last) >= interval);
        if due {
            self.last_release = Some(now);
        }
        due
    }
}

/// By (egress, priority).
#[derive(Debug)]
pub(super) struct Suspects {
    table: Vec<[Option<Suspect>; PRIORITY_COUNT]>,
    random: Random,
    /// For how long an identifier is still recognised after the egress moved: the release that made it
    /// move may be on its way round the loop still.
    memory: Duration,
}

impl Suspects {
    pub(super) fn new(port_count: usize, seed: u64, memory: Duration) -> Self {
        Self {
            table: vec![[None; PRIORITY_COUNT]; port_count],
            random: Random::new(seed),
            memory,
        }
    }

    /// Begins a suspicion under a fresh identifier; `None` when it is known already or no such port.
    pub(super) fn begin(
        &mut self,
        now: Instant,
        egress: PortId,
        priority: Priority,
    ) -> Option<Spuid> {
        let known = self.table.get(egress.index())?[priority.index()];
        if known.is_some_and(|suspect| suspect.is_current()) {
            return None;
        }
        let spuid = self.fresh_spuid();
        self.table[egress.index()][priority.index()] = Some(Suspect {
            spuid,
            next_send: now,
            ended_at: None,
            last_release: known.and_then(|suspect| suspect.last_release),
        });
        Some(spuid)
    }

    pub(super) fn end(&mut self, now: Instant, egress: PortId, priority: Priority) {
        if let Some(suspect) = self.get_mut(egress, priority) {
            suspect.ended_at.get_or_insert(now);
        }
    }

    pub(super) fn get_mut(&mut self, egress: PortId, priority: Priority) -> Option<&mut Suspect> {
        self.table.get_mut(egress.index())?[priority.index()].as_mut()
    }

    /// The suspicion of (egress, priority), if it lasts.
    pub(super) fn current(&self, egress: PortId, priority: Priority) -> Option<&Suspect> {
        self.table.get(egress.index())?[priority.index()]
            .as_ref()
            .filter(|suspect| suspect.is_current())
    }

    /// True when `spuid` stands for this (egress, priority) now, or did a moment ago.
    pub(super) fn is_known(
        &self,
        now: Instant,
        egress: PortId,
        priority: Priority,
        spuid: Spuid,
    ) -> bool {
        self.table
            .get(egress.index())
            .and_then(|row| row[priority.index()])
            .is_some_and(|suspect| {
                suspect.spuid == spuid
                    && suspect
                        .ended_at
                        .is_none_or(|ended| now.saturating_since(ended) <= self.memory)
            })
    }

    /// True when `spuid` stands for any egress of this priority now.
    pub(super) fn is_own(&self, priority: Priority, spuid: Spuid) -> bool {
        self.table
            .iter()
            .filter_map(|row| row[priority.index()])
            .any(|suspect| suspect.is_current() && suspect.spuid == spuid)
    }

    /// All that last, in port order.
    pub(super) fn iter_current(&self) -> impl Iterator<Item = (PortId, Priority, &Suspect)> {
        self.table.iter().enumerate().flat_map(|(index, row)| {
            Priority::ALL
                .into_iter()
                .zip(row)
                .filter_map(move |(priority, suspect)| {
                    let suspect = suspect.as_ref().filter(|suspect| suspect.is_current())?;
                    Some((PortId::from_index(index)?, priority, suspect))
                })
        })
    }

    pub(super) fn choose(&mut self, count: usize) -> usize {
        self.random.below(count)
    }

    /// Random, never zero, and not in use here. Ends: there are 2³² of them and at most 2048 in use.
    fn fresh_spuid(&mut self) -> Spuid {
        loop {
            let spuid = Spuid(self.random.next_u32());
            let in_use = self
                .table
                .iter()
                .flatten()
                .flatten()
                .any(|suspect| suspect.spuid == spuid);
            if spuid.0 != 0 && !in_use {
                return spuid;
            }
        }
    }
}
