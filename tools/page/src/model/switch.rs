//! State of one switch: its last answer, its history, and its clock.

use std::collections::BTreeMap;

use weir_api::daemon::{Deadlock, Health};
use weir_api::overview::Overview;
use weir_api::words::Verdict;
use weir_core::PortRole;

use super::clock::{Estimate, Offset, Sample};
use super::text::{cut, NAME_MAX, SENTENCE_MAX};

/// Maximum number of ports considered per switch.
const PORTS_MAX: usize = 1_024;
/// Maximum number of (port, priority) pairs considered per switch.
const QUEUES_MAX: usize = 8 * PORTS_MAX;
/// Maximum number of reasons kept per switch.
const REASONS_MAX: usize = 4;
/// Maximum number of suspicions kept per switch, the newest.
const SUSPICIONS_MAX: usize = 64;
/// Maximum age of the overview of a daemon that does not report its clock: the interval at which it makes overviews, and the
/// same again for the dataplane.
pub const STALE_NANOS: i64 = 500_000_000;

/// A switch's overview, and its time of arrival.
#[derive(Clone, Debug)]
pub struct Answer {
    /// The overview.
    pub overview: Overview,
    /// Local monotonic time before the request was sent, in nanoseconds.
    pub sent: i64,
    /// The same after the whole answer had arrived.
    pub received: i64,
    /// Clock of the switch's machine at the time of the answer, if reported.
    pub clock: Option<u64>,
    /// True if it arrived through a socket of this machine, which shares our clock.
    pub is_here: bool,
}

/// Reason for which there is no answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trouble {
    /// The problem.
    pub what: String,
    /// The remedy.
    pub remedy: String,
}

/// A (port, priority) that pauses, is paused, or is suspected.
#[derive(Clone, Debug, PartialEq)]
pub struct Queue {
    /// The port.
    pub port: String,
    /// The priority.
    pub priority: u8,
    /// True if the switch pauses its neighbour.
    pub pausing: bool,
    /// True if the neighbour pauses the switch.
    pub paused: bool,
    /// Share of the time since the previous answer for which the neighbour paused it.
    pub share: f64,
    /// True if suspected of a deadlock.
    pub suspected: bool,
    /// True during a release.
    pub releasing: bool,
}

/// Neighbour at a port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Neighbour {
    /// Name from LLDP.
    pub name: String,
    /// True if the last answer contained it.
    pub heard: bool,
    /// True if the port's link is up.
    pub is_up: bool,
}

/// Contents of a successful answer.
#[derive(Clone, Debug, PartialEq)]
pub struct Told {
    /// Local time of its arrival.
    pub at: i64,
    /// Time from request to answer, in nanoseconds.
    pub round_trip: i64,
    /// The switch's own name.
    pub name: String,
    /// The daemon's version.
    pub version: String,
    /// Time since it began to forward.
    pub uptime_seconds: f64,
    /// Its own health verdict.
    pub verdict: Verdict,
    /// Reasons for the verdict.
    pub reasons: Vec<String>,
    /// Number of further reasons.
    pub reasons_left_out: usize,
    /// Numbers of its ports, and of those that are up.
    pub ports: (usize, usize),
    /// True if it has ports that face hosts.
    pub has_hosts: bool,
    /// Frames dropped by its dataplane since the start.
    pub dropped: u64,
    /// Pairs that pause or are stalled.
    pub queues: Vec<Queue>,
    /// Numbers of current suspicions, and of those being resolved.
    pub suspected: (usize, usize),
}

/// A suspicion, with times on the switch's own clock.
#[derive(Clone, Debug, PartialEq)]
pub struct Suspicion {
    /// The switch's report.
    pub deadlock: Deadlock,
    /// Local time of the last report.
    pub seen: i64,
    /// True if the last answer contained it.
    pub is_known: bool,
}

/// State of a watched switch.
#[derive(Clone, Debug, Default)]
pub struct Watched {
    /// Its own page.
    pub page: Option<String>,
    /// The last successful answer.
    pub told: Option<Told>,
    /// Reason for which the last request failed.
    pub trouble: Option<Trouble>,
    /// Neighbours by port. A neighbour stays until another is reported, so that the picture is stable when a link fails.
    pub neighbours: BTreeMap<String, Neighbour>,
    /// Suspicions by their beginning.
    pub suspicions: BTreeMap<u64, Suspicion>,
    estimate: Estimate,
    is_here: bool,
    paused: BTreeMap<(String, u8), f64>,
    paused_at: u64,
}

impl Watched {
    /// Records a successful answer.
    pub fn take(&mut self, answer: Answer) {
        let Answer {
            mut overview,
            sent,
            received,
            clock,
            is_here,
        } = answer;
        overview.ports.truncate(PORTS_MAX);
        overview.pfc.truncate(QUEUES_MAX);
        let theirs = clock.unwrap_or(overview.monotonic_nanos);
        self.is_here = is_here;
        self.estimate.add(Sample {
            sent,
            received,
            theirs: i64::try_from(theirs).unwrap_or(i64::MAX),
            stale: if clock.is_some() { 0 } else { STALE_NANOS },
        });
        self.trouble = None;
        self.hear(&overview);
        self.suspect(&overview, received);
        let queues = self.queues(&overview);
        self.told = Some(told(&overview, queues, sent, received));
    }

    /// Records a failed request.
    pub fn fail(&mut self, trouble: Trouble) {
        self.trouble = Some(Trouble {
            what: cut(&trouble.what, SENTENCE_MAX),
            remedy: cut(&trouble.remedy, SENTENCE_MAX),
        });
    }

    /// Returns the offset of its clock at local time `now`.
    pub fn offset(&self, now: i64) -> Option<Offset> {
        match self.is_here && self.estimate.may_be_the_same() {
            true => Some(Offset::default()),
            false => self.estimate.offset(now),
        }
    }

    /// Returns true if its clock is that of this machine.
    pub fn shares_clock(&self) -> bool {
        self.is_here && self.estimate.may_be_the_same()
    }

    fn hear(&mut self, overview: &Overview) {
        for neighbour in self.neighbours.values_mut() {
            neighbour.heard = false;
        }
        let ports = overview.ports.iter();
        let up: BTreeMap<&str, bool> = ports
            .map(|port| (port.name.as_str(), port.link_up))
            .collect();
        for (port, name) in overview.neighbors.iter().take(PORTS_MAX) {
            let neighbour = Neighbour {
                name: cut(name, NAME_MAX),
                heard: true,
                is_up: false,
            };
            self.neighbours.insert(cut(port, NAME_MAX), neighbour);
        }
        self.neighbours.retain(|port, neighbour| {
            neighbour.is_up = up.get(port.as_str()).copied().unwrap_or(false);
            neighbour.heard || up.contains_key(port.as_str())
        });
    }

    fn suspect(&mut self, overview: &Overview, received: i64) {
        for known in self.suspicions.values_mut() {
            known.is_known = false;
        }
        let all = overview
            .deadlocks
            .current
            .iter()
            .chain(&overview.deadlocks.past);
        for deadlock in all.take(SUSPICIONS_MAX) {
            let mut deadlock = deadlock.clone();
            deadlock.port = cut(&deadlock.port, NAME_MAX);
            // Two may begin at the same time; the number, far below a microsecond, makes the keys unique.
            let key = deadlock
                .began_monotonic_nanos
                .saturating_add(deadlock.id % 1_000);
            let seen = match self.suspicions.get(&key) {
                // A finished suspicion is not updated.
                Some(known) if known.deadlock.lasted_seconds.is_some() => known.seen,
                _ => received,
            };
            self.suspicions.insert(
                key,
                Suspicion {
                    deadlock,
                    seen,
                    is_known: true,
                },
            );
        }
        while self.suspicions.len() > SUSPICIONS_MAX {
            self.suspicions.pop_first();
        }
    }

    /// Returns the pairs that pause or are stalled, with their shares of the time since the previous answer.
    fn queues(&mut self, overview: &Overview) -> Vec<Queue> {
        let spans = overview.monotonic_nanos.saturating_sub(self.paused_at) as f64 / 1e9;
        let mut totals = BTreeMap::new();
        let mut queues = Vec::new();
        for pfc in &overview.pfc {
            let key = (cut(&pfc.port, NAME_MAX), pfc.priority);
            let before = self.paused.get(&key);
            let share = match before {
                Some(before) if spans > 0.0 => (pfc.paused_seconds_total - before) / spans,
                _ => f64::from(u8::from(pfc.paused)),
            };
            // A total that is invalid, or less than before, belongs to another daemon.
            let share = if share.is_finite() {
                share.clamp(0.0, 1.0)
            } else {
                0.0
            };
            let queue = Queue {
                port: key.0.clone(),
                priority: pfc.priority,
                pausing: pfc.pausing,
                paused: pfc.paused,
                share,
                suspected: pfc.suspected,
                releasing: pfc.release_ingress.is_some(),
            };
            if queue.pausing || queue.paused || queue.suspected || queue.releasing || share > 0.0 {
                queues.push(queue);
            }
            totals.insert(key, pfc.paused_seconds_total);
        }
        self.paused = totals;
        self.paused_at = overview.monotonic_nanos;
        queues
    }
}

fn told(overview: &Overview, queues: Vec<Queue>, sent: i64, received: i64) -> Told {
    let status = &overview.status;
    let health = status.health.clone().unwrap_or_default();
    let current = &overview.deadlocks.current;
    let is_dealt_with =
        |one: &&Deadlock| one.releases > 0 || one.reroutes > 0 || one.flows_moved > 0;
    Told {
        at: received,
        round_trip: received.saturating_sub(sent),
        name: cut(&status.name, NAME_MAX),
        version: cut(&status.version, NAME_MAX),
        uptime_seconds: status.uptime_seconds,
        // An unknown verdict of a newer daemon counts as not well.
        verdict: health.verdict.known().unwrap_or(Verdict::Degraded),
        reasons: reasons(&health),
        reasons_left_out: health.reasons.len().saturating_sub(REASONS_MAX)
            + usize::try_from(health.left_out)
                .unwrap_or(usize::MAX)
                .min(1_000),
        ports: (
            overview.ports.len(),
            overview.ports.iter().filter(|port| port.link_up).count(),
        ),
        has_hosts: overview
            .ports
            .iter()
            .any(|port| port.role.known() == Some(PortRole::Edge)),
        dropped: status
            .drops_total
            .values()
            .fold(0, |sum, count| sum.saturating_add(*count)),
        queues,
        suspected: (current.len(), current.iter().filter(is_dealt_with).count()),
    }
}

fn reasons(health: &Health) -> Vec<String> {
    let reasons = health.reasons.iter().take(REASONS_MAX);
    reasons
        .map(|reason| cut(&reason.text, SENTENCE_MAX))
        .collect()
}
