//! A record with times relative to the suspicion's beginning, as text and picture both want it.

use weir_api::daemon::{Event, FlightPortSample, FlightRecord};
use weir_api::timeline;
use weir_api::words::EventKind;

/// A record and what follows from it.
#[derive(Debug)]
pub struct View<'a> {
    /// The record.
    pub record: &'a FlightRecord,
    /// Seconds of the first and the last moment that it has, around zero.
    pub span: (f64, f64),
}

/// One port's state over time.
#[derive(Debug)]
pub struct Series<'a> {
    /// The port's name.
    pub port: &'a str,
    /// Seconds and state, oldest first.
    pub points: Vec<(f64, &'a FlightPortSample)>,
}

impl<'a> View<'a> {
    /// Of this record.
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

    /// Seconds from the suspicion's beginning to a moment of the record.
    pub fn seconds(&self, monotonic_nanos: u64) -> f64 {
        seconds(self.record.deadlock.began_monotonic_nanos, monotonic_nanos)
    }

    /// Every port's state, in the record's order.
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

    /// Events of the record with their moments, in the order of time: the record has them as they were reported.
    pub fn events(&self) -> impl Iterator<Item = (f64, &'a Event)> + '_ {
        let mut events: Vec<&Event> = self.record.events.iter().collect();
        events.sort_by_key(|event| event.monotonic_nanos);
        let events = events.into_iter();
        events.map(|event| (self.seconds(event.monotonic_nanos), event))
    }

    /// Returns the number of events of a kind.
    pub fn count(&self, kind: &EventKind) -> usize {
        let events = self.record.events.iter();
        events.filter(|event| event.kind == *kind).count()
    }
}

impl Series<'_> {
    /// The most of a quantity.
    pub fn most(&self, of: impl Fn(&FlightPortSample) -> u64) -> u64 {
        let points = self.points.iter();
        points.map(|(_, state)| of(state)).max().unwrap_or(0)
    }

    /// The spans in which something held: from the sample that shows it first to the one that shows its
    /// end.
    pub fn spans(&self, holds: impl Fn(&FlightPortSample) -> bool) -> Vec<(f64, f64)> {
        let points = self.points.iter();
        timeline::spans(points.map(|(at, state)| (*at, holds(state))))
    }
}

/// "port s2  ingress=s4, switches=4": what an event concerns.
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
