//! Record of one suspicion.
//!
//! Engineers need the beginning and the end, so the first and the last samples stay. Each time the room between them is
//! full, every second sample there is removed. Of the events, the first and the last stay.

use std::collections::VecDeque;
use std::sync::Arc;

use weir_api::daemon::{Deadlock, Event, FlightPort, FlightRecord, FlightSample};
use weir_core::{Instant, PortId, Priority};

use super::sample::PortState;
use super::{FlightSettings, Sample, AFTER, SAMPLES_BEFORE};
use crate::control::info::SwitchInfo;
use crate::model::clock;

/// Maximum number of samples of one record.
pub const SAMPLES_MAX: usize = FIRST_SAMPLES + MIDDLE_SAMPLES + LAST_SAMPLES;
/// Maximum number of events of one record.
pub const EVENTS_MAX: usize = FIRST_EVENTS + LAST_EVENTS;

const FIRST_SAMPLES: usize = SAMPLES_BEFORE + 128;
const MIDDLE_SAMPLES: usize = 224;
const LAST_SAMPLES: usize = 128;
const FIRST_EVENTS: usize = 256;
const LAST_EVENTS: usize = 256;

// Thinning keeps the samples of even numbers; the next one also has one.
const _: () = assert!(MIDDLE_SAMPLES.is_multiple_of(2));

/// The record of one suspicion.
#[derive(Clone, Debug)]
pub struct Record {
    id: u64,
    egress: PortId,
    priority: Priority,
    began: Instant,
    began_time: String,
    ended: Option<Instant>,
    complete: bool,
    first: Vec<Entry>,
    middle: Vec<Entry>,
    last: VecDeque<Entry>,
    /// One in this many samples that leave `last` moves to `middle`.
    stride: u64,
    /// Number of samples that have left `last`.
    passed: u64,
    samples_left_out: u64,
    first_events: Vec<Arc<Event>>,
    last_events: VecDeque<Arc<Event>>,
    events_left_out: u64,
}

#[derive(Clone, Debug)]
struct Entry {
    at: Instant,
    held_frames: u64,
    ports: Arc<[PortState]>,
}

impl Record {
    pub(super) fn new(id: u64, egress: PortId, priority: Priority, began: Instant) -> Self {
        Self {
            id,
            egress,
            priority,
            began,
            began_time: clock::wall_time(began),
            ended: None,
            complete: false,
            first: Vec::new(),
            middle: Vec::new(),
            last: VecDeque::new(),
            stride: 1,
            passed: 0,
            samples_left_out: 0,
            first_events: Vec::new(),
            last_events: VecDeque::new(),
            events_left_out: 0,
        }
    }

    /// Returns the suspicion's number.
    pub fn id(&self) -> u64 {
        self.id
    }

    /// Returns the suspected port.
    pub fn egress(&self) -> PortId {
        self.egress
    }

    /// Returns the suspected priority.
    pub fn priority(&self) -> Priority {
        self.priority
    }

    /// Returns the start of the suspicion.
    pub fn began(&self) -> Instant {
        self.began
    }

    /// Returns the end of the suspicion.
    pub fn ended(&self) -> Option<Instant> {
        self.ended
    }

    /// Returns true when the record accepts no more data.
    pub fn is_complete(&self) -> bool {
        self.complete
    }

    /// Returns the numbers of samples and events kept.
    pub fn len(&self) -> (usize, usize) {
        (
            self.first.len() + self.middle.len() + self.last.len(),
            self.first_events.len() + self.last_events.len(),
        )
    }

    /// Returns the record as the API shows it. O(samples × ports).
    pub fn to_api(
        &self,
        info: &SwitchInfo,
        settings: FlightSettings,
        deadlock: Deadlock,
    ) -> FlightRecord {
        let shown: Vec<(PortId, FlightPort)> = info
            .numbered_ports()
            .filter(|(port, _)| *port == self.egress || self.is_busy(*port))
            .map(|(port, info)| {
                let shown = FlightPort {
                    name: info.name.clone(),
                    role: info.role.into(),
                    rate_bits_per_second: info.rate.get(),
                };
                (port, shown)
            })
            .collect();
        let samples = self.entries().map(|entry| FlightSample {
            monotonic_nanos: entry.at.as_nanos(),
            held_frames: entry.held_frames,
            ports: shown
                .iter()
                .filter_map(|(port, _)| entry.ports.get(port.index()))
                .map(|state| state.to_api(info))
                .collect(),
        });
        FlightRecord {
            switch: info.name.clone(),
            deadlock,
            began_time: self.began_time.clone(),
            complete: self.complete,
            interval_before_seconds: settings.before().as_secs_f64(),
            interval_seconds: settings.during().as_secs_f64(),
            samples_left_out: self.samples_left_out,
            events_left_out: self.events_left_out,
            samples: samples.collect(),
            events: self
                .first_events
                .iter()
                .chain(&self.last_events)
                .map(|event| (**event).clone())
                .collect(),
            ports: shown.into_iter().map(|(_, port)| port).collect(),
        }
    }

    pub(super) fn end(&mut self, at: Instant) {
        self.ended.get_or_insert(at);
    }

    pub(super) fn push_sample(&mut self, sample: &Sample) {
        if self.complete {
            return;
        }
        let Some(ports) = sample.of(self.priority) else {
            return;
        };
        self.keep(Entry {
            at: sample.at,
            held_frames: sample.held_frames,
            ports: Arc::clone(ports),
        });
        self.complete = self.ended.is_some_and(|ended| sample.at >= ended + AFTER);
    }

    pub(super) fn push_event(&mut self, event: &Arc<Event>) {
        let concerns = event
            .priority
            .is_none_or(|priority| priority == self.priority.get());
        if self.complete || !concerns {
            return;
        }
        if self.first_events.len() < FIRST_EVENTS {
            self.first_events.push(Arc::clone(event));
            return;
        }
        if self.last_events.len() >= LAST_EVENTS {
            self.last_events.pop_front();
            self.events_left_out += 1;
        }
        self.last_events.push_back(Arc::clone(event));
    }

    fn keep(&mut self, entry: Entry) {
        if self.first.len() < FIRST_SAMPLES {
            self.first.push(entry);
            return;
        }
        self.last.push_back(entry);
        if self.last.len() <= LAST_SAMPLES {
            return;
        }
        let Some(old) = self.last.pop_front() else {
            return;
        };
        if self.passed.is_multiple_of(self.stride) {
            if self.middle.len() >= MIDDLE_SAMPLES {
                self.thin();
            }
            self.middle.push(old);
        } else {
            self.samples_left_out += 1;
        }
        self.passed += 1;
    }

    fn thin(&mut self) {
        let before = self.middle.len();
        let mut index = 0;
        self.middle.retain(|_| {
            index += 1;
            index % 2 == 1
        });
        self.samples_left_out += (before - self.middle.len()) as u64;
        self.stride *= 2;
    }

    fn entries(&self) -> impl Iterator<Item = &Entry> {
        self.first.iter().chain(&self.middle).chain(&self.last)
    }

    fn is_busy(&self, port: PortId) -> bool {
        self.entries()
            .filter_map(|entry| entry.ports.get(port.index()))
            .any(PortState::is_busy)
    }
}
