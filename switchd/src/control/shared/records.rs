//! History. Locks are held only to move pointers or copy a few numbers, so that no reader delays the supervisor for long.

use std::sync::{Mutex, MutexGuard};

use weir_api::daemon::Health;
use weir_api::describe::Described;
use weir_core::control::ControlCounters;

use super::lock;
use super::watermarks::Watermarks;
use crate::control::deadlock_log::DeadlockLog;
use crate::control::event_log::{EventLog, EVENT_CAPACITY};
use crate::control::flight_recorder::FlightRecorder;
use crate::control::history::History;
use crate::control::log;

/// Figures of the control plane.
#[derive(Clone, Copy, Debug, Default)]
pub struct ControlFigures {
    /// Figures of the CLCM state machine.
    pub clcm: ControlCounters,
    /// Commands that the dataplane could not take in time.
    pub commands_lost: u64,
}

/// Events, samples, peaks, and records of suspicions.
pub struct Records {
    /// Events.
    pub events: EventLog,
    /// Samples.
    pub history: History,
    deadlocks: Mutex<DeadlockLog>,
    flights: Mutex<FlightRecorder>,
    watermarks: Mutex<Watermarks>,
    figures: Mutex<ControlFigures>,
    health: Mutex<Health>,
}

impl Records {
    pub(in crate::control) fn new(
        history: History,
        flights: FlightRecorder,
        watermarks: Watermarks,
    ) -> Self {
        Self {
            events: EventLog::new(EVENT_CAPACITY),
            history,
            deadlocks: Mutex::default(),
            flights: Mutex::new(flights),
            watermarks: Mutex::new(watermarks),
            figures: Mutex::default(),
            health: Mutex::default(),
        }
    }

    /// Locks the current and past suspicions.
    pub fn deadlocks(&self) -> MutexGuard<'_, DeadlockLog> {
        lock(&self.deadlocks)
    }

    /// Locks the records of suspicions.
    pub fn flights(&self) -> MutexGuard<'_, FlightRecorder> {
        lock(&self.flights)
    }

    /// Locks the peaks.
    pub fn watermarks(&self) -> MutexGuard<'_, Watermarks> {
        lock(&self.watermarks)
    }

    /// Returns the figures of the control plane.
    pub fn figures(&self) -> ControlFigures {
        *lock(&self.figures)
    }

    pub(in crate::control) fn set_figures(&self, figures: ControlFigures) {
        *lock(&self.figures) = figures;
    }

    /// Returns the latest verdict.
    pub fn health(&self) -> Health {
        lock(&self.health).clone()
    }

    /// Replaces the verdict, and returns the previous one.
    pub(in crate::control) fn set_health(&self, health: Health) -> Health {
        std::mem::replace(&mut *lock(&self.health), health)
    }

    /// Writes an event to the log, the event log and the records of suspicions.
    pub fn record(&self, described: Described) {
        log::event(&described);
        let event = self.events.push(described);
        self.flights().note(&event);
    }
}
