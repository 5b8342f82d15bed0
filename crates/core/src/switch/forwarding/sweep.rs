//! Goes through the table of learned addresses, some at a time: for those that are too old, and for those that are to be
//! forgotten.

use core::ops::Range;

use super::learnt::Learnt;
use crate::sets::vlans::VlanId;
use crate::units::{Duration, Instant, PortId};

/// Sets of the table that one step goes through: some ten microseconds.
pub(super) const SETS_PER_STEP: usize = 1024;
/// Requests of operators that wait at a time, beside one for each port whose link went down.
const REQUESTS_MAX: usize = 16;
/// An address that is too old is found within this part of its age.
const ROUNDS_PER_AGE: u64 = 8;

/// Addresses to forget: those that are behind `port` and in `vlan`, as far as these are given, and were seen at `at` or
/// before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Forget {
    pub(super) port: Option<PortId>,
    pub(super) vlan: Option<VlanId>,
    pub(super) at: Instant,
}

impl Forget {
    /// All that is behind one port.
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
    /// The set that comes next.
    at: usize,
    /// Sets of this round that are left.
    left: usize,
    pub(super) next: Instant,
    /// Addresses to forget in this round, besides those that are too old: at most one request for each port, and
    /// [`REQUESTS_MAX`] others.
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

    /// A table is not empty any more.
    pub(super) fn begin_round(&mut self, now: Instant, set_count: usize, age: Duration) {
        self.left = set_count;
        self.next = now + Self::interval(set_count, age);
    }

    fn interval(set_count: usize, age: Duration) -> Duration {
        let steps = set_count.div_ceil(SETS_PER_STEP).max(1) as u64;
        let interval = age.divided_by(ROUNDS_PER_AGE * steps);
        interval.max(Duration::from_millis(1))
    }

    /// A round for `job` begins where the last step ended. False where there is no room for it.
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

    /// Something is to be forgotten: the round is none of those by the clock.
    pub(super) fn has_jobs(&self) -> bool {
        !self.jobs.is_empty()
    }

    pub(super) fn is_forgotten(&self, entry: &Learnt) -> bool {
        self.jobs.iter().any(|job| job.includes(entry))
    }

    /// The sets that the step is for.
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
