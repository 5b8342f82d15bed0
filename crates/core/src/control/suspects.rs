//! Suspected egress ports, and their identifiers.

use super::back_off::BackOff;
use super::loop_breaker::Mastership;
use crate::random::SplitMix64;
use crate::units::{Duration, Instant, PortId, Priority, Spuid, PRIORITY_COUNT};

const PASSED_ON_MAX: usize = 8;

/// Loops found under one identifier, in one suspicion, before it is replaced.
const LOOPS_PER_SPUID: u8 = 8;

/// CLCM intervals for which a switch that could move no flow stays out of the election: initial value, doubled each
/// time up to the maximum. At the default interval of 20 ms that is 0.16 s to 1.28 s. A switch that stays out
/// originates no messages.
const STAY_OUT_FIRST: u64 = 8;
const STAY_OUT_MAX: u64 = 64;

#[derive(Clone, Debug)]
pub(super) struct Suspect {
    pub(super) spuid: Spuid,
    /// When the next Loop Breaker message is due; [`Instant::FAR_FUTURE`] for never.
    pub(super) next_election: Instant,
    stays_out: bool,
    stay_out: u64,
    last_election: Option<Instant>,
    /// When the next Deadlock Breaker message is due; [`Instant::FAR_FUTURE`] for never.
    pub(super) next_detection: Instant,
    pub(super) mastership: Option<Mastership>,
    pub(super) back_off: BackOff,
    pub(super) began: Instant,
    /// Time without a departure when the suspicion began.
    pub(super) idle: Duration,
    pub(super) is_answered: bool,
    pub(super) is_reported_unanswered: bool,
    loops_found: u8,
    ended_at: Option<Instant>,
    last_release: Option<Instant>,
    passed_on: [Option<(Spuid, Instant)>; PASSED_ON_MAX],
    passed_on_next: usize,
}

impl Suspect {
    fn new(now: Instant, spuid: Spuid) -> Self {
        Self {
            spuid,
            next_election: Instant::FAR_FUTURE,
            stays_out: false,
            stay_out: STAY_OUT_FIRST,
            last_election: None,
            next_detection: Instant::FAR_FUTURE,
            mastership: None,
            back_off: BackOff::default(),
            began: now,
            idle: Duration::ZERO,
            is_answered: false,
            is_reported_unanswered: false,
            loops_found: 0,
            ended_at: None,
            last_release: None,
            passed_on: [None; PASSED_ON_MAX],
            passed_on_next: 0,
        }
    }

    pub(super) fn is_current(&self) -> bool {
        self.ended_at.is_none()
    }

    pub(super) fn stands_for_election(&self) -> bool {
        self.next_election != Instant::FAR_FUTURE && !self.stays_out
    }

    pub(super) fn stand(&mut self, now: Instant, next: Instant) {
        self.stays_out = false;
        self.last_election = Some(now);
        self.next_election = next;
    }

    /// Leaves the election to others for a while, longer each time, because it was elected and could move nothing.
    pub(super) fn retire(&mut self, now: Instant, interval: Duration) {
        self.mastership = None;
        self.stays_out = true;
        self.next_election = now + interval.saturating_mul(self.stay_out);
        self.stay_out = (self.stay_out * 2).min(STAY_OUT_MAX);
    }

    /// Leaves the election to others for the maximum time, because no waiting frame has another known path.
    pub(super) fn stay_out(&mut self, now: Instant, interval: Duration) {
        self.stay_out = STAY_OUT_MAX;
        self.retire(now, interval);
    }

    /// Notes that there may be another path now: a suspect that stays out rejoins, no sooner than its next message
    /// would have been due.
    fn note_ways(&mut self, now: Instant, interval: Duration) {
        if self.stays_out && self.is_current() && self.next_election != Instant::FAR_FUTURE {
            let due = self.last_election.map_or(now, |last| last + interval);
            self.next_election = self.next_election.min(due.max(now));
            self.stay_out = STAY_OUT_FIRST;
        }
    }

    /// Returns true once for each `interval`: several switches find the same loop at nearly the
    /// same time, and their releases must not add up.
    pub(super) fn take_release(&mut self, now: Instant, interval: Duration) -> bool {
        let due = self
            .last_release
            .is_none_or(|last| now.saturating_since(last) >= interval);
        if due {
            self.last_release = Some(now);
        }
        due
    }

    /// Returns true once for each `origin` and `interval`: where loops cross, copies of a message
    /// would multiply.
    pub(super) fn take_passage(&mut self, now: Instant, origin: Spuid, interval: Duration) -> bool {
        let recent = |entry: &(Spuid, Instant)| {
            entry.0 == origin && now.saturating_since(entry.1) < interval
        };
        if self.passed_on.iter().flatten().any(recent) {
            return false;
        }
        self.passed_on[self.passed_on_next] = Some((origin, now));
        self.passed_on_next = (self.passed_on_next + 1) % PASSED_ON_MAX;
        true
    }

    /// Counts a loop found under this identifier. Returns true when that has happened too often for the identifier to
    /// be unique: another switch may have the same, and its messages would be mistaken for ours.
    fn is_worn_out(&mut self) -> bool {
        self.loops_found = self.loops_found.saturating_add(1);
        self.loops_found > LOOPS_PER_SPUID
    }
}

#[derive(Debug)]
#[cfg_attr(feature = "testing", derive(Clone))]
pub(super) struct Suspects {
    /// Boxed: hardly any egress is ever suspected.
    table: Vec<[Option<Box<Suspect>>; PRIORITY_COUNT]>,
    random: SplitMix64,
    /// Time for which an identifier is still recognised after the egress moved: the release that
    /// made it move may still be on its way round the loop.
    memory: Duration,
}

impl Suspects {
    pub(super) fn new(port_count: usize, seed: u64, memory: Duration) -> Self {
        Self {
            table: vec![[const { None }; PRIORITY_COUNT]; port_count],
            random: SplitMix64::new(seed),
            memory,
        }
    }

    pub(super) fn set_memory(&mut self, memory: Duration) {
        self.memory = memory;
    }

    pub(super) fn silence(&mut self) {
        for suspect in self.table.iter_mut().flatten().flatten() {
            suspect.next_election = Instant::FAR_FUTURE;
            suspect.next_detection = Instant::FAR_FUTURE;
        }
    }

    pub(super) fn note_ways(&mut self, now: Instant, interval: Duration) {
        for suspect in self.table.iter_mut().flatten().flatten() {
            suspect.note_ways(now, interval);
        }
    }

    /// Begins a suspicion; `None` if it is already known or the port does not exist. It gets a fresh identifier unless
    /// one ended less than `recent` ago: a loop that locks again before everything is drained keeps its master, which
    /// continues where it stopped.
    pub(super) fn begin(
        &mut self,
        now: Instant,
        egress: PortId,
        priority: Priority,
        recent: Duration,
    ) -> Option<&mut Suspect> {
        let known = self.table.get(egress.index())?[priority.index()].as_deref();
        if known.is_some_and(Suspect::is_current) {
            return None;
        }
        let is_recent = |suspect: &&Suspect| {
            let ended = suspect.ended_at.unwrap_or(now);
            now.saturating_since(ended) < recent
        };
        let again = known.filter(is_recent);
        let again = again.map(|suspect| (suspect.spuid, suspect.mastership));
        let (last_release, back_off) = known
            .map(|suspect| (suspect.last_release, suspect.back_off))
            .unwrap_or_default();
        let (spuid, mastership) = again.unwrap_or_else(|| (self.fresh_spuid(), None));
        let suspect = Suspect {
            last_release,
            back_off,
            mastership,
            ..Suspect::new(now, spuid)
        };
        let place = &mut self.table[egress.index()][priority.index()];
        Some(place.insert(Box::new(suspect)))
    }

    pub(super) fn end(&mut self, now: Instant, egress: PortId, priority: Priority) {
        if let Some(suspect) = self.get_mut(egress, priority) {
            suspect.ended_at.get_or_insert(now);
        }
    }

    pub(super) fn get_mut(&mut self, egress: PortId, priority: Priority) -> Option<&mut Suspect> {
        self.table.get_mut(egress.index())?[priority.index()].as_deref_mut()
    }

    pub(super) fn current(&self, egress: PortId, priority: Priority) -> Option<&Suspect> {
        self.table.get(egress.index())?[priority.index()]
            .as_deref()
            .filter(|suspect| suspect.is_current())
    }

    pub(super) fn current_mut(
        &mut self,
        egress: PortId,
        priority: Priority,
    ) -> Option<&mut Suspect> {
        self.get_mut(egress, priority)
            .filter(|suspect| suspect.is_current())
    }

    /// Counts a loop found under the identifier of (egress, priority); returns a fresh one for the next message if this
    /// one has been used too often.
    pub(super) fn note_loop(&mut self, egress: PortId, priority: Priority) -> Option<Spuid> {
        let suspect = self.current_mut(egress, priority)?;
        suspect.is_answered = true;
        if !suspect.is_worn_out() {
            return None;
        }
        let fresh = self.fresh_spuid();
        let suspect = self.current_mut(egress, priority)?;
        suspect.spuid = fresh;
        suspect.loops_found = 0;
        Some(fresh)
    }

    /// Returns true if `spuid` identifies this (egress, priority) now, or did recently.
    pub(super) fn is_known(
        &self,
        now: Instant,
        egress: PortId,
        priority: Priority,
        spuid: Spuid,
    ) -> bool {
        self.table
            .get(egress.index())
            .and_then(|row| row[priority.index()].as_ref())
            .is_some_and(|suspect| {
                suspect.spuid == spuid
                    && suspect
                        .ended_at
                        .is_none_or(|ended| now.saturating_since(ended) <= self.memory)
            })
    }

    /// Returns true if `spuid` identifies any egress of this priority now.
    pub(super) fn is_own(&self, priority: Priority, spuid: Spuid) -> bool {
        self.table
            .iter()
            .filter_map(|row| row[priority.index()].as_ref())
            .any(|suspect| suspect.is_current() && suspect.spuid == spuid)
    }

    pub(super) fn iter_current(&self) -> impl Iterator<Item = (PortId, Priority, &Suspect)> {
        self.table.iter().enumerate().flat_map(|(index, row)| {
            Priority::ALL
                .into_iter()
                .zip(row)
                .filter_map(move |(priority, suspect)| {
                    let suspect = suspect.as_deref().filter(|suspect| suspect.is_current())?;
                    Some((PortId::from_index(index)?, priority, suspect))
                })
        })
    }

    pub(super) fn choose(&mut self, count: usize) -> usize {
        self.random.below(count)
    }

    /// Draws a random identifier, never zero, and not in use here. Terminates: of 2³² identifiers at most 2048 are in
    /// use.
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

#[cfg(feature = "testing")]
#[path = "digest/suspects.rs"]
mod digest;
