//! The deadlock detector: samples each egress, and suspects one that holds frames and has sent none for too long.

use crate::command::CommandError;
use crate::config::DetectorConfig;
use crate::event::{Event, EventKind, SuspicionReason};
use crate::switch::virtual_queues::WatchChange;
use crate::switch::Switch;
use crate::units::{Duration, Instant, PortId, Priority};

/// Samples of the deadlock detector in one detection time.
const SAMPLES_PER_DETECT: u64 = 8;

#[derive(Debug, Default)]
#[cfg_attr(feature = "testing", derive(Clone))]
pub(in crate::switch) struct Detector {
    /// Number of suspected (egress, priority) pairs.
    suspected: usize,
    last: Instant,
}

impl Switch {
    /// Number of (egress, priority) pairs suspected of a deadlock now.
    pub fn suspected_count(&self) -> usize {
        self.detector.suspected
    }

    /// Reports a possible new path, for suspicions that gave up without one. A change of many routes is reported
    /// once.
    pub(in crate::switch) fn note_ways_changed(&mut self, now: Instant) {
        let told = |event: &Event| event.kind == EventKind::WaysChanged;
        if self.suspected_count() > 0 && !self.events.last().is_some_and(told) {
            self.push_event(now, EventKind::WaysChanged);
        }
    }

    /// The time at which the next sample is due; `None` while there is nothing to sample.
    pub(in crate::switch) fn next_deadlock_sample(&self) -> Option<Instant> {
        let next = || self.last_deadlock_sample() + self.sample_interval();
        self.detector_runs().then(next)
    }

    fn detector_runs(&self) -> bool {
        self.config.detector.is_some() && (self.backlogged.pairs > 0 || self.detector.suspected > 0)
    }

    /// The time since which egresses are observed: without a suspicion, none was while no frame waited.
    fn last_deadlock_sample(&self) -> Instant {
        match self.detector.suspected {
            0 => self.detector.last.max(self.backlogged.since),
            _ => self.detector.last,
        }
    }

    fn sample_interval(&self) -> Duration {
        self.config.detector.map_or(Duration::ZERO, |detector| {
            detector
                .detect
                .divided_by(SAMPLES_PER_DETECT)
                .max(Duration::from_nanos(1))
        })
    }

    pub(in crate::switch) fn sample_for_deadlocks(&mut self, now: Instant) {
        let Some(detector) = self.config.detector else {
            return;
        };
        let (last, interval) = (self.last_deadlock_sample(), self.sample_interval());
        if !self.detector_runs() || last + interval > now {
            return;
        }
        // A delayed sampler must not count its own delay as the egress's.
        let elapsed = now.saturating_since(last).min(interval.saturating_mul(2));
        self.detector.last = now;
        for index in 0..self.ports.len() {
            let Some(egress) = PortId::from_index(index) else {
                return;
            };
            let up = self.ports[index].up;
            for priority in self.lossless.iter() {
                let state = &mut self.ports[index].egress[priority.index()];
                let change = match up {
                    true => state.sample(now, elapsed, detector.detect),
                    // The reason why it sends nothing is known.
                    false => state.watch_anew(now),
                };
                self.note_watch_change(now, egress, priority, change);
            }
        }
    }

    fn note_watch_change(
        &mut self,
        now: Instant,
        egress: PortId,
        priority: Priority,
        change: WatchChange,
    ) {
        let kind = match change {
            WatchChange::None => return,
            WatchChange::Suspected { idle } => {
                self.detector.suspected += 1;
                let alternatives_from = self.alternatives_from(now, egress, priority);
                let state = &mut self.ports[egress.index()];
                state.counters.priority[priority.index()].suspicions += 1;
                let paused = state.pause_received.is_paused(now, priority);
                let waiting = &state.egress[priority.index()];
                let may_leave = self
                    .queues
                    .may_leave(egress, priority, state.gate(now, priority));
                let has_levels = state.levels[priority.index()].is_some();
                let reason = match paused && state.sends_by_credits(priority) {
                    true => SuspicionReason::NoCredits,
                    false => waiting.reason(paused, has_levels, may_leave),
                };
                EventKind::Suspected {
                    egress,
                    priority,
                    reason,
                    queued: waiting.backlog(),
                    idle,
                    alternatives: !alternatives_from.is_empty(),
                    alternatives_from,
                }
            }
            WatchChange::Ended { lasted } => {
                self.detector.suspected -= 1;
                EventKind::SuspicionEnded {
                    egress,
                    priority,
                    lasted,
                }
            }
        };
        self.push_event(now, kind);
    }

    pub(in crate::switch) fn set_detector(
        &mut self,
        now: Instant,
        detector: Option<DetectorConfig>,
    ) -> Result<(), CommandError> {
        if detector.is_some_and(|detector| detector.detect.is_zero()) {
            return Err(CommandError::ZeroDetect);
        }
        for index in 0..self.ports.len() {
            let Some(egress) = PortId::from_index(index) else {
                break;
            };
            for priority in self.lossless.iter() {
                let change = self.ports[index].egress[priority.index()].watch_anew(now);
                self.note_watch_change(now, egress, priority, change);
            }
        }
        self.config.detector = detector;
        self.detector.last = now;
        self.ready.note_timers();
        Ok(())
    }
}

#[cfg(feature = "testing")]
#[path = "digest/detector.rs"]
mod digest;
