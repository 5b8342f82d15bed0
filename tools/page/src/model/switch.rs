//! What is known of one switch: its last answer, what it told before, and its clock.

use std::collections::BTreeMap;

use weir_api::daemon::{Deadlock, Health};
use weir_api::overview::Overview;
use weir_api::words::Verdict;
use weir_core::PortRole;

use super::clock::{Estimate, Offset, Sample};
use super::text::{cut, NAME_MAX, SENTENCE_MAX};

/// Ports of a switch that are looked at.
const PORTS_MAX: usize = 1_024;
/// (port, priority) pairs of a switch that are looked at.
const QUEUES_MAX: usize = 8 * PORTS_MAX;
/// Reasons of a switch that are kept.
const REASONS_MAX: usize = 4;
/// Suspicions of a switch that are kept: the newest.
const SUSPICIONS_MAX: usize = 64;
/// What the overview of a daemon may be old that does not say what its clock says as it answers: the interval in which it
/// makes one for all who ask, and as long again for the dataplane.
pub const STALE_NANOS: i64 = 500_000_000;

/// A switch's overview, and when it came.
#[derive(Clone, Debug)]
pub struct Answer {
    /// The overview.
    pub overview: Overview,
    /// On our monotonic clock, in nanoseconds, before the request was sent.
    pub sent: i64,
    /// The same after the whole answer had come.
    pub received: i64,
    /// What the switch's machine's clock said as it answered, if the daemon tells.
    pub clock: Option<u64>,
    /// It came by a socket of this machine, whose clock is ours.
    pub is_here: bool,
}

/// Why there is no answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trouble {
    /// What is wrong.
    pub what: String,
    /// What to do.
    pub remedy: String,
}

/// One (port, priority) that pauses, is paused, or is suspected.
#[derive(Clone, Debug, PartialEq)]
pub struct Queue {
    /// The port.
    pub port: String,
    /// The priority.
    pub priority: u8,
    /// The switch holds its neighbour.
    pub pausing: bool,
    /// The neighbour holds the switch.
    pub paused: bool,
    /// The part of the time since the answer before for which the neighbour held it.
    pub share: f64,
    /// Suspected of a deadlock.
    pub suspected: bool,
    /// Under the rule of a release.
    pub releasing: bool,
}

/// Who is at a port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Neighbour {
    /// By LLDP.
    pub name: String,
    /// The last answer still had it.
    pub heard: bool,
    /// The port's link.
    pub is_up: bool,
}

/// What a good answer says.
#[derive(Clone, Debug, PartialEq)]
pub struct Told {
    /// When it came, on our clock.
    pub at: i64,
    /// From request to answer, in nanoseconds.
    pub round_trip: i64,
    /// What the switch calls itself.
    pub name: String,
    /// The daemon's version.
    pub version: String,
    /// For how long it forwards.
    pub uptime_seconds: f64,
    /// How it is, by its own word.
    pub verdict: Verdict,
    /// Why.
    pub reasons: Vec<String>,
    /// Reasons beyond those.
    pub reasons_left_out: usize,
    /// Its ports, and how many of them are up.
    pub ports: (usize, usize),
    /// It has ports that face hosts.
    pub has_hosts: bool,
    /// What its dataplane dropped since the start.
    pub dropped: u64,
    /// What pauses or stands still.
    pub queues: Vec<Queue>,
    /// Suspicions that last, and those of them that are being dealt with.
    pub suspected: (usize, usize),
}

/// A suspicion, with moments on the switch's own clock.
#[derive(Clone, Debug, PartialEq)]
pub struct Suspicion {
    /// What the switch says of it.
    pub deadlock: Deadlock,
    /// When it was last told of, on our clock.
    pub seen: i64,
    /// The last answer had it.
    pub is_known: bool,
}

/// All that is known of a switch.
#[derive(Clone, Debug, Default)]
pub struct Watched {
    /// Its own page.
    pub page: Option<String>,
    /// The last good answer.
    pub told: Option<Told>,
    /// Why the last request had none.
    pub trouble: Option<Trouble>,
    /// By port. A neighbour stays until another is told of, so that a picture does not jump when a link fails.
    pub neighbours: BTreeMap<String, Neighbour>,
    /// By when they began.
    pub suspicions: BTreeMap<u64, Suspicion>,
    estimate: Estimate,
    is_here: bool,
    paused: BTreeMap<(String, u8), f64>,
    paused_at: u64,
}

impl Watched {
    /// Takes a good answer.
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

    /// There was no answer.
    pub fn fail(&mut self, trouble: Trouble) {
        self.trouble = Some(Trouble {
            what: cut(&trouble.what, SENTENCE_MAX),
            remedy: cut(&trouble.remedy, SENTENCE_MAX),
        });
    }

    /// How to read its clock at `now` on ours.
    pub fn offset(&self, now: i64) -> Option<Offset> {
        match self.is_here && self.estimate.may_be_the_same() {
            true => Some(Offset::default()),
            false => self.estimate.offset(now),
        }
    }

    /// True when its clock is ours, of the same machine.
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
            // Two may begin at the same moment; the number tells them apart, and is far below a microsecond.
            let key = deadlock
                .began_monotonic_nanos
                .saturating_add(deadlock.id % 1_000);
            let seen = match self.suspicions.get(&key) {
                // What is over is not seen again.
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

    /// What pauses or stands still, and for which part of the time since the answer before.
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
            // A total that is no number, or less than before, is of another daemon.
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
        // A word of a newer daemon is for something that is not well.
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
