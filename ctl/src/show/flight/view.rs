//! A record with times relative to the suspicion's beginning, for text and picture.

use weir_api::daemon::{Event, FlightPortSample, FlightRecord};
use weir_api::timeline;
use weir_api::words::EventKind;

/// A record and values derived from it.
#[derive(Debug)]
pub struct View<'a> {
    pub record: &'a FlightRecord,
    /// First and last moment of the record, in seconds around zero.
    pub span: (f64, f64),
}

#[derive(Debug)]
pub struct Series<'a> {
    pub port: &'a str,
    /// Seconds and state, oldest first.
    pub points: Vec<(f64, &'a FlightPortSample)>,
}

impl<'a> View<'a> {
    pub fn new(record: &'a FlightRecord) -> Self {
        let began = record.deadlock.began_monotonic_nanos;
        let moments = || {
            let samples = record.samples.iter().map(|sample| sample.monotonic_nanos);
            let events = record.events.iter().map(|event| event.monotonic_nanos);
            samples.chain(events).map(|nanos| seconds(began, nanos))
        };
        let ended = record.deadlock.lasted_seconds.unwrap_or(0.0);
        Self {
            record,
            span: (
                moments().fold(0.0, f64::min),
                moments().fold(ended, f64::max),
            ),
        }
    }

    /// Converts a moment of the record to seconds from the suspicion's beginning.
    pub fn seconds(&self, monotonic_nanos: u64) -> f64 {
        seconds(self.record.deadlock.began_monotonic_nanos, monotonic_nanos)
    }

    /// Returns the state of every port, in the record's order.
    pub fn series(&self) -> Vec<Series<'a>> {
        let ports = self.record.ports.iter().enumerate();
        ports
            .map(|(index, port)| Series {
                port: &port.name,
                points: self
                    .record
                    .samples
                    .iter()
                    .filter_map(|sample| {
                        let state = sample.ports.get(index)?;
                        Some((self.seconds(sample.monotonic_nanos), state))
                    })
                    .collect(),
            })
            .collect()
    }

    /// Returns the events with their moments, sorted by time; the record has them in the order of reports.
    pub fn events(&self) -> impl Iterator<Item = (f64, &'a Event)> + '_ {
        let mut events: Vec<&Event> = self.record.events.iter().collect();
        events.sort_by_key(|event| event.monotonic_nanos);
        let events = events.into_iter();
        events.map(|event| (self.seconds(event.monotonic_nanos), event))
    }

    pub fn count(&self, kind: &EventKind) -> usize {
        let events = self.record.events.iter();
        events.filter(|event| event.kind == *kind).count()
    }
}

impl Series<'_> {
    /// Returns the maximum of a quantity.
    pub fn most(&self, of: impl Fn(&FlightPortSample) -> u64) -> u64 {
        let points = self.points.iter();
        points.map(|(_, state)| of(state)).max().unwrap_or(0)
    }

    /// Returns the spans during which `holds` was true: from the first sample that shows it to the one that shows its end.
    pub fn spans(&self, holds: impl Fn(&FlightPortSample) -> bool) -> Vec<(f64, f64)> {
        let points = self.points.iter();
        timeline::spans(points.map(|(at, state)| (*at, holds(state))))
    }
}

/// Formats the subject of an event: "port s2  ingress=s4, switches=4".
pub fn concerns(event: &Event) -> String {
    let mut parts = Vec::new();
    if let Some(port) = &event.port {
        parts.push(format!("port {port}"));
    }
    let details: Vec<String> = event
        .details
        .iter()
        .map(|(name, value)| format!("{name}={value}"))
        .collect();
    if !details.is_empty() {
        parts.push(details.join(", "));
    }
    parts.join("  ")
}

fn seconds(began: u64, nanos: u64) -> f64 {
    (nanos as f64 - began as f64) / 1e9
}
