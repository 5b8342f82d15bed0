//! Scans the table of learned addresses in steps, for expired addresses and for those to be forgotten.

use core::ops::Range;

use super::learnt::Learnt;
use crate::sets::vlans::VlanId;
use crate::units::{Duration, Instant, PortId};

/// Sets scanned in one step, which takes about ten microseconds.
pub(super) const SETS_PER_STEP: usize = 1024;
/// Maximum number of operators' requests that wait, in addition to one for each port whose link went down.
const REQUESTS_MAX: usize = 16;
/// An expired address is found within this fraction of its maximum age.
const ROUNDS_PER_AGE: u64 = 8;

/// Addresses to forget: those behind `port` and in `vlan`, if given, that were seen at `at` or before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Forget {
    pub(super) port: Option<PortId>,
    pub(super) vlan: Option<VlanId>,
    pub(super) at: Instant,
}

impl Forget {
    /// Covers all addresses behind one port.
    fn is_of_port(&self) -> bool {
        self.port.is_some() && self.vlan.is_none()
    }

    fn includes(&self, entry: &Learnt) -> bool {
        let vlan = (entry.address >> 48) as u16;
        entry.seen_at <= self.at
            && self.port.is_none_or(|port| port == entry.port)
            && self.vlan.is_none_or(|it| it.get() == vlan)
    }
}

#[derive(Debug)]
#[cfg_attr(feature = "testing", derive(Clone))]
pub(super) struct Sweep {
    /// Next set.
    at: usize,
    /// Sets left in this round.
    left: usize,
    pub(super) next: Instant,
    /// Addresses to forget in this round, besides expired ones: at most one request for each port, and [`REQUESTS_MAX`]
    /// others.
    jobs: Vec<Forget>,
}

impl Sweep {
    pub(super) fn new(port_count: usize) -> Self {
        Self {
            at: 0,
            left: 0,
            next: Instant::FAR_FUTURE,
            jobs: Vec::with_capacity(port_count + REQUESTS_MAX),
        }
    }

    /// Called when the table is no longer empty.
    pub(super) fn begin_round(&mut self, now: Instant, set_count: usize, age: Duration) {
        self.left = set_count;
        self.next = now + Self::interval(set_count, age);
    }

    fn interval(set_count: usize, age: Duration) -> Duration {
        let steps = set_count.div_ceil(SETS_PER_STEP).max(1) as u64;
        let interval = age.divided_by(ROUNDS_PER_AGE * steps);
        interval.max(Duration::from_millis(1))
    }

    /// Adds a round for `job`, beginning where the last step ended. Returns false if there is no room for it.
    pub(super) fn add(&mut self, now: Instant, job: Forget, set_count: usize) -> bool {
        let same = |known: &&mut Forget| (known.port, known.vlan) == (job.port, job.vlan);
        let requests = self.jobs.iter().filter(|known| !known.is_of_port()).count();
        match self.jobs.iter_mut().find(same) {
            Some(known) => *known = job,
            None if !job.is_of_port() && requests >= REQUESTS_MAX => return false,
            None => self.jobs.push(job),
        }
        self.left = set_count;
        self.next = now;
        true
    }

    /// Returns true if the present round is for jobs and not periodic.
    pub(super) fn has_jobs(&self) -> bool {
        !self.jobs.is_empty()
    }

    pub(super) fn is_forgotten(&self, entry: &Learnt) -> bool {
        self.jobs.iter().any(|job| job.includes(entry))
    }

    pub(super) fn take_step(&mut self, set_count: usize) -> Range<usize> {
        let end = (self.at + SETS_PER_STEP.min(self.left)).min(set_count);
        let step = self.at..end;
        self.left -= step.len();
        self.at = if end == set_count { 0 } else { end };
        step
    }

    pub(super) fn end_step(&mut self, now: Instant, set_count: usize, age: Duration, empty: bool) {
        if self.left == 0 || empty {
            self.jobs.clear();
            self.left = set_count;
        }
        self.next = match (empty, self.jobs.is_empty()) {
            (true, _) => Instant::FAR_FUTURE,
            (false, true) => now + Self::interval(set_count, age),
            (false, false) => now,
        };
    }
}
