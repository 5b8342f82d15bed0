//! The PFC storm watchdog: finds egresses that a neighbour pauses without end, and acts on them.
//!
//! Stalls and the end of storms are found by sampling, as in SONiC's watchdog. The control plane decides whether a
//! stall is a storm, because it knows about loops and neighbours; see `control/watchdog.rs`.

mod watch;

use crate::command::CommandError;
use crate::config::{PortRole, StormAction, WatchdogConfig};
use crate::counters::{DropReason, PortCounters, PriorityCounters};
use crate::event::EventKind;
use crate::sets::PrioritySet;
use crate::switch::virtual_queues::Backlogged;
use crate::switch::Switch;
use crate::units::{Duration, Instant, PortId, Priority, PRIORITY_COUNT};
use watch::{Change, Seen, Stage, Storm, Watch};

/// Samples in one detection or restoration time, whichever is shorter.
const SAMPLES: u64 = 8;

#[derive(Debug, Default)]
#[cfg_attr(feature = "testing", derive(Clone))]
#[repr(C)]
pub(in crate::switch) struct Storms {
    /// Priorities for which everything is dropped.
    dropping: PrioritySet,
    config: Option<WatchdogConfig>,
    /// Not read by frames.
    watches: Box<[Watch; PRIORITY_COUNT]>,
}

/// Frames of one (port, priority) while there was a storm at the egress.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StormGauges {
    /// Admitted from the port during all storms.
    pub received: u64,
    /// Admitted from the port during the present or last storm.
    pub last_received: u64,
    /// Sent during that storm although paused.
    pub last_forwarded: u64,
    /// Copies dropped because of that storm.
    pub last_dropped: u64,
}

/// Sampling times.
#[derive(Clone, Copy, Debug)]
pub(in crate::switch) struct StormClock {
    /// `None` while no port is watched.
    interval: Option<Duration>,
    last: Instant,
    next: Instant,
    /// Number of stalls and storms.
    active: usize,
    /// Counts the spans with something to sample: findings of an earlier span are void.
    span: u64,
    /// Spans of waiting frames noticed so far.
    backlogs: u64,
}

impl Storms {
    pub(in crate::switch) fn new(config: Option<WatchdogConfig>) -> Self {
        Self {
            config,
            ..Self::default()
        }
    }

    pub(in crate::switch) fn config(&self) -> Option<WatchdogConfig> {
        self.config
    }

    /// Returns true while frames for `priority` are dropped.
    pub(in crate::switch) fn drops(&self, priority: Priority) -> bool {
        self.dropping.contains(priority)
    }

    /// Returns true for a stall that was not declared a storm.
    pub(in crate::switch) fn is_stalled(&self, priority: Priority) -> bool {
        self.watches[priority.index()].stage == Stage::Stalled
    }

    pub(in crate::switch) fn action(&self, priority: Priority) -> Option<StormAction> {
        match self.watches[priority.index()].stage {
            Stage::Storm(storm) => Some(storm.action),
            Stage::Quiet | Stage::Stalled => None,
        }
    }

    /// Frames during storms; `counters` are those of the port.
    pub(in crate::switch) fn frames(
        &self,
        priority: Priority,
        counters: &PortCounters,
    ) -> StormGauges {
        let watch = &self.watches[priority.index()];
        match watch.stage {
            Stage::Storm(storm) => watch
                .frames
                .with(&storm, &counters.priority[priority.index()]),
            Stage::Quiet | Stage::Stalled => watch.frames,
        }
    }
}

impl StormGauges {
    /// Adds the frames of `storm`, the latest one, as counted by `counters`.
    fn with(self, storm: &Storm, counters: &PriorityCounters) -> Self {
        let last_received = counters.rx_frames - storm.received;
        Self {
            received: self.received + last_received,
            last_received,
            last_forwarded: counters.storm_forwarded - storm.forwarded,
            last_dropped: counters.storm_dropped - storm.dropped,
        }
    }
}

impl StormClock {
    pub(in crate::switch) fn new<'a>(ports: impl Iterator<Item = &'a Storms>) -> Self {
        Self {
            interval: interval(ports),
            last: Instant::ZERO,
            next: Instant::FAR_FUTURE,
            active: 0,
            span: 0,
            backlogs: 0,
        }
    }

    /// The clock restarts with the first frame that waits while there is nothing else to sample. To be used before each
    /// change of its inputs.
    fn caught_up(mut self, backlogged: &Backlogged) -> Self {
        let is_new = self.active == 0 && self.backlogs != backlogged.spans;
        if let Some(interval) = self.interval.filter(|_| is_new) {
            self.span += 1;
            self.last = backlogged.since;
            self.next = backlogged.since + interval;
        }
        self.backlogs = backlogged.spans;
        self
    }
}

/// `None` if no port is watched.
fn interval<'a>(ports: impl Iterator<Item = &'a Storms>) -> Option<Duration> {
    let shortest = ports
        .filter_map(|storms| storms.config)
        .map(|config| config.detection.min(config.restoration))
        .min()?;
    Some(shortest.divided_by(SAMPLES).max(Duration::from_nanos(1)))
}

impl Switch {
    /// The time at which the next sample is due; `None` while there is nothing to sample.
    pub(in crate::switch) fn next_storm_sample(&self) -> Option<Instant> {
        let next = self.storm_clock.caught_up(&self.backlogged).next;
        self.storm_clock_runs().then_some(next)
    }

    /// O(ports × lossless priorities) when due.
    pub(in crate::switch) fn sample_for_storms(&mut self, now: Instant) {
        let Some(interval) = self.storm_clock.interval else {
            return;
        };
        self.storm_clock = self.storm_clock.caught_up(&self.backlogged);
        if !self.storm_clock_runs() || self.storm_clock.next > now {
            return;
        }
        // A delayed sampler must not count its own delay as the neighbour's.
        let elapsed = now
            .saturating_since(self.storm_clock.last)
            .min(interval.saturating_mul(2));
        self.storm_clock.last = now;
        self.storm_clock.next = now + interval;
        for index in 0..self.ports.len() {
            let Some(egress) = PortId::from_index(index) else {
                return;
            };
            for priority in self.lossless.iter() {
                self.sample_for_storm(now, elapsed, egress, priority);
            }
        }
    }

    /// [`Command::CallStorm`](crate::Command::CallStorm). O(frames waiting there) if they are dropped.
    pub(in crate::switch) fn call_storm(
        &mut self,
        now: Instant,
        egress: PortId,
        priority: Priority,
    ) -> Result<(), CommandError> {
        let state = self.port_mut(egress)?;
        let counters = state.counters.priority[priority.index()];
        let watch = &mut state.storms.watches[priority.index()];
        let (Some(config), Stage::Stalled) = (state.storms.config, watch.stage) else {
            return Err(CommandError::NotStalled { egress, priority });
        };
        let action = config.action;
        watch.stage = Stage::Storm(Storm {
            action,
            since: now,
            quiet: Duration::ZERO,
            dropped: counters.storm_dropped,
            forwarded: counters.storm_forwarded,
            received: counters.rx_frames,
        });
        state.counters.priority[priority.index()].storms_detected += 1;
        match action {
            StormAction::Drop => state.storms.dropping.insert(priority),
            // Nothing is sent without a credit.
            StormAction::Forward if !state.sends_by_credits(priority) => {
                state.ignores_pause.insert(priority);
            }
            StormAction::Forward | StormAction::Alert => {}
        }
        state.settle_arrivals();
        self.push_event(
            now,
            EventKind::StormDetected {
                egress,
                priority,
                action,
            },
        );
        if action == StormAction::Drop {
            while self.drop_head(egress, priority, DropReason::Storm) {}
        }
        Ok(())
    }

    /// [`Command::SetWatchdog`](crate::Command::SetWatchdog). Changed settings discard earlier findings.
    pub(in crate::switch) fn set_watchdog(
        &mut self,
        now: Instant,
        port: PortId,
        config: Option<WatchdogConfig>,
    ) -> Result<(), CommandError> {
        if config.is_some_and(|config| config.is_zero()) {
            return Err(CommandError::ZeroStorm);
        }
        if self.port_mut(port)?.storms.config == config {
            return Ok(());
        }
        self.storm_clock = self.storm_clock.caught_up(&self.backlogged);
        for priority in Priority::ALL {
            let watch = &mut self.ports[port.index()].storms.watches[priority.index()];
            let change = match core::mem::take(&mut watch.stage) {
                Stage::Quiet => Change::None,
                Stage::Stalled => Change::StallEnded,
                Stage::Storm(storm) => Change::Restored(storm),
            };
            watch.was_held = false;
            watch.pulsing = false;
            watch.idle = Duration::ZERO;
            self.note_storm_change(now, port, priority, change);
        }
        self.ports[port.index()].storms.config = config;
        let was_watching = self.storm_clock.interval.is_some();
        self.storm_clock.interval = interval(self.ports.iter().map(|port| &port.storms));
        if !was_watching && self.storm_clock.interval.is_some() {
            // Frames may already wait: the clock would otherwise start only when the next egress begins to hold frames.
            self.storm_clock.span += 1;
            self.storm_clock.last = now;
            self.storm_clock.next = now;
        }
        Ok(())
    }

    fn storm_clock_runs(&self) -> bool {
        self.storm_clock.interval.is_some()
            && (self.backlogged.pairs > 0 || self.storm_clock.active > 0)
    }

    fn sample_for_storm(
        &mut self,
        now: Instant,
        elapsed: Duration,
        egress: PortId,
        priority: Priority,
    ) {
        let span = self.storm_clock.span;
        let held_too_far = self.holds_too_far(egress, priority);
        let state = &mut self.ports[egress.index()];
        let Some(config) = state.storms.config else {
            return;
        };
        let shut = state.is_shut(priority);
        let by_credits = state.sends_by_credits(priority);
        let counters = &mut state.counters.priority[priority.index()];
        let watch = &mut state.storms.watches[priority.index()];
        let is_storm = matches!(watch.stage, Stage::Storm(_));
        if state.ignores_pause.contains(priority) {
            counters.storm_forwarded += counters.tx_frames - watch.tx_frames;
        }
        // A pause assumed on behalf of a predecessor's neighbours was not sent by them.
        let has_paused = counters.pause_received > 0;
        // A host slower than its line lacks credits most of the time, which is not a storm.
        let counts_share = state.role == PortRole::Edge && !by_credits && has_paused;
        let pauses = state.pause_received.gauges(now, priority);
        let seen = Seen {
            now,
            paused_for: counts_share.then_some(pauses.total),
            span,
            elapsed,
            tx_frames: counters.tx_frames,
            pauses: counters.pause_received,
            // Feedback D blocks like a pause, if a route is longer than D; and while a storm lasts.
            paused: ((has_paused || by_credits) && state.pause_received.is_paused(now, priority))
                || held_too_far
                || (is_storm && shut),
            // A link that is down holds its frames itself.
            waiting: state.up && state.waiting.contains(priority),
        };
        let change = watch.sample(&config, &seen);
        self.note_storm_change(now, egress, priority, change);
    }

    fn note_storm_change(
        &mut self,
        now: Instant,
        egress: PortId,
        priority: Priority,
        change: Change,
    ) {
        let state = &mut self.ports[egress.index()];
        let kind = match change {
            Change::None => return,
            Change::Stalled { idle } => {
                self.storm_clock.active += 1;
                EventKind::PauseStalled {
                    egress,
                    priority,
                    idle,
                    queued: state.egress[priority.index()].backlog(),
                }
            }
            Change::StallEnded => {
                self.storm_clock.active -= 1;
                EventKind::PauseStallEnded { egress, priority }
            }
            Change::Restored(storm) => {
                self.storm_clock.active -= 1;
                state.storms.dropping.remove(priority);
                state.ignores_pause.remove(priority);
                state.settle_arrivals();
                let counters = &mut state.counters.priority[priority.index()];
                counters.storms_restored += 1;
                let watch = &mut state.storms.watches[priority.index()];
                watch.frames = watch.frames.with(&storm, counters);
                EventKind::StormRestored {
                    egress,
                    priority,
                    lasted: now.saturating_since(storm.since),
                    dropped: watch.frames.last_dropped,
                    forwarded: watch.frames.last_forwarded,
                }
            }
        };
        self.push_event(now, kind);
    }
}
