//! The flight recorder: a bounded record of each suspicion and of the time around it.
//!
//! While there is no suspicion it keeps the last two seconds in a ring, so that a record begins before its suspicion. While
//! a suspicion is new, and for one second after its end, samples are taken at a finer interval. A suspicion that lasts falls
//! back to the ring's interval, since hours of a storm change little from one moment to the next.
//!
//! Records of one priority share their samples.

mod record;
mod sample;

use std::collections::VecDeque;
use std::sync::Arc;

use weir_api::daemon::Event;
use weir_core::{Duration, Instant, PortId, Priority};
use weir_dataplane::messages::Snapshot;

use super::info::SwitchInfo;

pub use record::{Record, EVENTS_MAX, SAMPLES_MAX};
pub use sample::Sample;

/// Maximum number of records kept. A suspicion that begins while this many others are ongoing has none.
pub const RECORDS_MAX: usize = 32;
/// Samples kept from before a suspicion. They are taken at all times: each wakes an idle dataplane thread, which costs more
/// than the sample itself.
pub const SAMPLES_BEFORE: usize = 32;
/// Events kept from before a suspicion.
pub const EVENTS_BEFORE: usize = 128;
/// Minimum time that [`SAMPLES_BEFORE`] samples cover.
const BEFORE_LEAST: Duration = Duration::from_secs(2);
/// Time for which a record continues after its suspicion.
pub const AFTER: Duration = Duration::from_secs(1);
const NEW: Duration = Duration::from_secs(10);
/// Shortest interval: a snapshot costs the dataplane time.
const INTERVAL_LEAST: Duration = Duration::from_millis(5);

/// Sampling settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlightSettings {
    enabled: bool,
    before: Duration,
    during: Duration,
}

impl FlightSettings {
    /// Records nothing.
    pub const OFF: Self = Self {
        enabled: false,
        before: BEFORE_LEAST,
        during: BEFORE_LEAST,
    };

    /// Derives the settings for a detector that suspects after `detect` and sends CLCM every `clcm_interval`. The samples
    /// from before a suspicion then cover the time at which its egress stalled.
    pub fn new(detect: Duration, clcm_interval: Duration) -> Self {
        let reach = BEFORE_LEAST.max(detect.saturating_mul(2));
        let before = Duration::from_nanos(reach.as_nanos() / SAMPLES_BEFORE as u64);
        Self {
            enabled: true,
            before,
            during: clcm_interval.max(INTERVAL_LEAST).min(before),
        }
    }

    /// False when nothing is recorded.
    pub fn is_enabled(&self) -> bool {
        self.enabled
    }

    /// Time between two samples while nothing is suspected.
    pub fn before(&self) -> Duration {
        self.before
    }

    /// Time between two samples while a suspicion is new, and after it.
    pub fn during(&self) -> Duration {
        self.during
    }
}

/// The recorder. Its caller passes the time; the wall clock is read only for display.
#[derive(Debug)]
pub struct FlightRecorder {
    settings: FlightSettings,
    samples: VecDeque<Sample>,
    events: VecDeque<Arc<Event>>,
    /// Oldest first.
    records: VecDeque<Record>,
    unrecorded: u64,
}

impl FlightRecorder {
    /// Creates a recorder without records.
    pub fn new(settings: FlightSettings) -> Self {
        Self {
            settings,
            samples: VecDeque::with_capacity(SAMPLES_BEFORE),
            events: VecDeque::with_capacity(EVENTS_BEFORE),
            records: VecDeque::with_capacity(RECORDS_MAX),
            unrecorded: 0,
        }
    }

    /// Returns the settings of sampling.
    pub fn settings(&self) -> FlightSettings {
        self.settings
    }

    /// Time from `now` to the next sample; `None` when nothing is recorded.
    pub fn interval(&self, now: Instant) -> Option<Duration> {
        let is_busy = || {
            self.records.iter().any(|record| match record.ended() {
                None => now.saturating_since(record.began()) <= NEW,
                Some(_) => !record.is_complete(),
            })
        };
        self.settings.enabled.then(|| {
            if is_busy() {
                self.settings.during
            } else {
                self.settings.before
            }
        })
    }

    /// Begins the record of suspicion `id`, with the earlier samples and events. If there is no room, it replaces the oldest
    /// complete record; if none is complete, it records nothing.
    pub fn begin(&mut self, id: u64, egress: PortId, priority: Priority, at: Instant) {
        if !self.settings.enabled {
            return;
        }
        if self.records.len() >= RECORDS_MAX {
            let Some(oldest) = self.records.iter().position(Record::is_complete) else {
                self.unrecorded += 1;
                return;
            };
            self.records.remove(oldest);
        }
        let mut record = Record::new(id, egress, priority, at);
        for sample in &self.samples {
            record.push_sample(sample);
        }
        let reach = self
            .settings
            .before
            .saturating_mul(SAMPLES_BEFORE as u64)
            .as_nanos();
        for event in &self.events {
            if event.monotonic_nanos.saturating_add(reach) >= at.as_nanos() {
                record.push_event(event);
            }
        }
        self.records.push_back(record);
    }

    /// Ends the suspicion of (egress, priority); its record continues for [`AFTER`].
    pub fn end(&mut self, egress: PortId, priority: Priority, at: Instant) {
        for record in &mut self.records {
            if (record.egress(), record.priority()) == (egress, priority) {
                record.end(at);
            }
        }
    }

    /// Adds an event to the records that it concerns.
    pub fn note(&mut self, event: &Arc<Event>) {
        if !self.settings.enabled {
            return;
        }
        if self.events.len() >= EVENTS_BEFORE {
            self.events.pop_front();
        }
        self.events.push_back(Arc::clone(event));
        for record in &mut self.records {
            record.push_event(event);
        }
    }

    /// Adds a sample to the records that are not complete.
    pub fn push(&mut self, info: &SwitchInfo, snapshot: &Snapshot) {
        if !self.settings.enabled {
            return;
        }
        let sample = Sample::new(info, snapshot);
        for record in &mut self.records {
            record.push_sample(&sample);
        }
        if self.samples.len() >= SAMPLES_BEFORE {
            self.samples.pop_front();
        }
        self.samples.push_back(sample);
    }

    /// True when there is a record of suspicion `id`.
    pub fn has(&self, id: u64) -> bool {
        self.records.iter().any(|record| record.id() == id)
    }

    /// Returns a copy of the record of suspicion `id`: pointers to samples and events only.
    pub fn get(&self, id: u64) -> Option<Record> {
        self.records
            .iter()
            .find(|record| record.id() == id)
            .cloned()
    }

    /// Returns the number of suspicions without a record because too many others were ongoing.
    pub fn unrecorded(&self) -> u64 {
        self.unrecorded
    }
}

#[cfg(test)]
mod tests;
