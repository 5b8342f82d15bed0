//! Current suspicions, and the latest past ones.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use weir_api::daemon::{Deadlock, Deadlocks, Master};
use weir_core::control::{Report, ReportKind};
use weir_core::event::EventKind;
use weir_core::wire::clcm::{Clcm, Phase};
use weir_core::{Duration, Event, Instant, PortId, PortSet, Priority};
use weir_dataplane::histogram::Histogram;

use super::info::SwitchInfo;

/// Suspicions kept after they are over.
pub const PAST_CAPACITY: usize = 256;

/// Bounds of the histograms of [`DeadlockTimes`] in nanoseconds: 1 ms to 100 s.
const TIME_BOUNDS: &[u64] = &[
    1_000_000,
    2_500_000,
    5_000_000,
    10_000_000,
    25_000_000,
    50_000_000,
    100_000_000,
    250_000_000,
    500_000_000,
    1_000_000_000,
    2_500_000_000,
    5_000_000_000,
    10_000_000_000,
    30_000_000_000,
    100_000_000_000,
];

/// Durations of suspicions and the reactions to them since the start, in nanoseconds.
#[derive(Clone, Copy, Debug)]
pub struct DeadlockTimes {
    /// From the last frame that an egress sent to its suspicion.
    pub detection: Histogram,
    /// From a suspicion to the first release at its egress.
    pub release: Histogram,
    /// From a suspicion to its end.
    pub recovery: Histogram,
}

impl Default for DeadlockTimes {
    fn default() -> Self {
        let empty = Histogram::new(TIME_BOUNDS);
        Self {
            detection: empty,
            release: empty,
            recovery: empty,
        }
    }
}

type Place = (PortId, Priority);

/// The log; at most one current suspicion for each (egress, priority).
#[derive(Debug, Default)]
pub struct DeadlockLog {
    last_id: u64,
    current: BTreeMap<Place, Deadlock>,
    past: VecDeque<Deadlock>,
    /// Egresses with a release in force. A release that began before a suspicion also counts for it.
    released: BTreeSet<Place>,
    times: DeadlockTimes,
}

impl DeadlockLog {
    /// Records an event of the dataplane.
    pub fn note_event(&mut self, info: &SwitchInfo, event: &Event) {
        match event.kind {
            EventKind::Suspected {
                egress,
                priority,
                reason,
                queued,
                idle,
                ..
            } => {
                self.times.detection.observe(idle.as_nanos());
                let deadlock = Deadlock {
                    port: info.port_name(egress),
                    priority: priority.get(),
                    reason: reason.into(),
                    began_monotonic_nanos: event.at.as_nanos(),
                    idle_seconds: idle.as_secs_f64(),
                    queued_bytes: queued.get(),
                    ..Deadlock::default()
                };
                self.begin((egress, priority), event.at, deadlock);
            }
            EventKind::SuspicionEnded {
                egress, priority, ..
            } => self.end((egress, priority), event.at),
            EventKind::ReleaseStarted {
                egress, priority, ..
            } => self.note_release((egress, priority), event.at),
            EventKind::ReleaseEnded {
                egress,
                priority,
                released,
                ..
            } => {
                self.released.remove(&(egress, priority));
                let known = self.newest_mut(info, (egress, priority)).into_iter();
                known.for_each(|deadlock| deadlock.released_bytes += released.get());
            }
            EventKind::FlowMoved { from, priority, .. } => {
                let known = self.newest_mut(info, (from, priority)).into_iter();
                known.for_each(|deadlock| deadlock.flows_moved += 1);
            }
            EventKind::Rerouted {
                egress, priority, ..
            } => {
                let known = self.newest_mut(info, (egress, priority)).into_iter();
                known.for_each(|deadlock| deadlock.reroutes += 1);
            }
            EventKind::TrafficReleaseEnded {
                egress,
                priority,
                released,
                ..
            } => {
                let known = self.newest_mut(info, (egress, priority)).into_iter();
                known.for_each(|deadlock| deadlock.forced_bytes += released.get());
            }
            EventKind::ClcmReceived {
                message, toward, ..
            } => self.note_clcm(&message, &toward),
            EventKind::HeadroomExceeded { .. }
            | EventKind::RouteTooLong { .. }
            | EventKind::ForwardingLoop { .. }
            | EventKind::ForwardingLoopEnded { .. }
            | EventKind::LoopBehind { .. }
            | EventKind::AddressMoves { .. }
            | EventKind::RoundTripExceeded { .. }
            | EventKind::CableExceeded { .. }
            | EventKind::CableFits { .. }
            | EventKind::TransmitterStalled { .. }
            | EventKind::TransmitterResumed { .. }
            | EventKind::LearningTableFull { .. }
            | EventKind::DataplaneStalled { .. }
            | EventKind::WaysChanged
            | EventKind::PauseStalled { .. }
            | EventKind::PauseStallEnded { .. }
            | EventKind::StormDetected { .. }
            | EventKind::StormRestored { .. }
            | EventKind::LifetimeStalled { .. } => {}
        }
    }

    /// Begins a suspicion with the next number, after ending a current one.
    fn begin(&mut self, place: Place, at: Instant, deadlock: Deadlock) {
        self.end(place, at);
        self.last_id += 1;
        let id = self.last_id;
        self.current.insert(place, Deadlock { id, ..deadlock });
    }

    /// Records a report of the control plane.
    pub fn note_report(&mut self, report: &Report) {
        match report.kind {
            ReportKind::SpuidAssigned { spuid } => {
                if let Some(deadlock) = self.current.get_mut(&(report.port, report.priority)) {
                    deadlock.spuid = Some(spuid.to_string());
                }
            }
            ReportKind::LoopFound { egress, .. } | ReportKind::MasterElected { egress, .. } => {
                if let Some(deadlock) = self.current.get_mut(&(egress, report.priority)) {
                    deadlock.loops_found += 1;
                    deadlock.master = Some(Master::ThisSwitch);
                }
            }
            ReportKind::ReleaseOrdered { egress, .. } => {
                let place = (egress, report.priority);
                if let Some(deadlock) = self.current.get_mut(&place) {
                    deadlock.releases += 1;
                }
                if self.released.contains(&place) {
                    self.note_release(place, report.at);
                }
            }
            ReportKind::ClcmSent { .. }
            | ReportKind::ClcmForwarded { .. }
            | ReportKind::ClcmIgnored { .. }
            | ReportKind::NoAlternative { .. }
            | ReportKind::NoStorm { .. }
            | ReportKind::TrafficReleaseOrdered { .. }
            | ReportKind::Unanswered { .. } => {}
        }
    }

    /// Returns the start of the current suspicion of (egress, priority), if any.
    pub fn began(&self, egress: PortId, priority: Priority) -> Option<Instant> {
        self.current
            .get(&(egress, priority))
            .map(|deadlock| Instant::from_nanos(deadlock.began_monotonic_nanos))
    }

    /// Returns the number of the current suspicion of (egress, priority), if any.
    pub fn current_id(&self, egress: PortId, priority: Priority) -> Option<u64> {
        self.current
            .get(&(egress, priority))
            .map(|deadlock| deadlock.id)
    }

    /// Returns the suspicion with this number, unless it is forgotten.
    pub fn get(&self, id: u64) -> Option<Deadlock> {
        self.current
            .values()
            .chain(&self.past)
            .find(|deadlock| deadlock.id == id)
            .cloned()
    }

    /// Returns the durations.
    pub fn times(&self) -> DeadlockTimes {
        self.times
    }

    /// Returns the number of current suspicions.
    pub fn current_count(&self) -> usize {
        self.current.len()
    }

    /// Returns all suspicions, past ones newest first.
    pub fn to_api(&self) -> Deadlocks {
        Deadlocks {
            current: self.current.values().cloned().collect(),
            past: self.past.iter().rev().cloned().collect(),
            ..Deadlocks::default()
        }
    }

    /// Takes the leader from a message: the lowest identifier of an election that concerns a suspected egress, or the origin
    /// of a release that reaches one. Does not change leadership by this switch.
    fn note_clcm(&mut self, message: &Clcm, toward: &PortSet) {
        let origin = message.origin().to_string();
        for ((egress, priority), deadlock) in &mut self.current {
            let Some(own) = deadlock.spuid.as_ref() else {
                continue;
            };
            if *priority != message.priority() || deadlock.master == Some(Master::ThisSwitch) {
                continue;
            }
            let leads = match message.phase() {
                Phase::Detection => false,
                // Identifiers have the same number of digits, so their texts sort as they do.
                Phase::Election => {
                    toward.contains(*egress)
                        && origin < *own
                        && match &deadlock.master {
                            Some(Master::Other { spuid }) => origin < *spuid,
                            _ => true,
                        }
                }
                Phase::Release { .. } => message
                    .hops()
                    .iter()
                    .any(|hop| hop.egress == *egress && hop.spuid.to_string() == *own),
            };
            if leads {
                deadlock.master = Some(Master::Other {
                    spuid: origin.clone(),
                });
            }
        }
    }

    /// Returns the current suspicion of `place`, or else its last one: an order given during a suspicion may end after it.
    fn newest_mut(&mut self, info: &SwitchInfo, place: Place) -> Option<&mut Deadlock> {
        if self.current.contains_key(&place) {
            return self.current.get_mut(&place);
        }
        let (port, priority) = (info.port_name(place.0), place.1.get());
        self.past
            .iter_mut()
            .rev()
            .find(|past| past.priority == priority && past.port == port)
    }

    fn note_release(&mut self, place: Place, at: Instant) {
        self.released.insert(place);
        if let Some(deadlock) = self.current.get_mut(&place) {
            if deadlock.first_release_seconds.is_none() {
                let after = since(deadlock.began_monotonic_nanos, at);
                self.times.release.observe(after.as_nanos());
                deadlock.first_release_seconds = Some(after.as_secs_f64());
            }
        }
    }

    fn end(&mut self, place: Place, at: Instant) {
        if let Some(mut deadlock) = self.current.remove(&place) {
            let lasted = since(deadlock.began_monotonic_nanos, at);
            self.times.recovery.observe(lasted.as_nanos());
            deadlock.lasted_seconds = Some(lasted.as_secs_f64());
            if self.past.len() >= PAST_CAPACITY {
                self.past.pop_front();
            }
            self.past.push_back(deadlock);
        }
    }
}

fn since(began_nanos: u64, at: Instant) -> Duration {
    at.saturating_since(Instant::from_nanos(began_nanos))
}
