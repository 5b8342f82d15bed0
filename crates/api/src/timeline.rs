//! A flight record converted for a chart of one suspicion: seconds since it began, one curve, lanes for states, marks
//! for events. Much smaller than the record, and bounded.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::daemon::{Deadlock, FlightPortSample, FlightRecord};
use crate::words::{EventKind, LaneKind, Shown};

/// Maximum number of lanes: those with the longest total time.
pub const LANES_MAX: usize = 24;

/// `GET /timelines/ID` of the live page.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Timeline {
    /// The suspicion.
    pub deadlock: Deadlock,
    /// Its start, RFC 3339 in UTC.
    pub began_time: String,
    /// False while it continues.
    pub complete: bool,
    /// First known time; at most 0.
    pub from_seconds: f64,
    /// Last known time.
    pub to_seconds: f64,
    /// Times of the samples.
    pub sample_seconds: Vec<f64>,
    /// Bytes waiting to leave by the suspected port, for each sample.
    pub waiting_bytes: Vec<u64>,
    /// Total charge of the ingress buffers of the ports involved, for each sample.
    pub buffered_bytes: Vec<u64>,
    /// States over time.
    pub lanes: Vec<Lane>,
    /// Number of further lanes.
    pub lanes_left_out: u64,
    /// Events, oldest first.
    pub marks: Vec<Mark>,
}

/// A state of a port, with its times.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Lane {
    /// Kind of state.
    pub what: LaneKind,
    /// The port.
    pub port: String,
    /// Start and end.
    pub spans_seconds: Vec<(f64, f64)>,
}

/// One event.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Mark {
    /// Time.
    pub seconds: f64,
    /// Kind of event.
    pub kind: EventKind,
    /// The port concerned, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub port: Option<String>,
    /// Further fields by name, as text with units.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub details: BTreeMap<String, String>,
}

type Condition = fn(&FlightPortSample) -> bool;

/// States that have lanes, in the order of display.
const CONDITIONS: [(Shown, Condition); 4] = [
    (Shown::Suspected, |sample| sample.suspected),
    (Shown::Paused, |sample| sample.paused),
    (Shown::Pausing, |sample| sample.pausing),
    (Shown::Release, |sample| sample.release_ingress.is_some()),
];

impl From<&FlightRecord> for Timeline {
    fn from(record: &FlightRecord) -> Self {
        let began = record.deadlock.began_monotonic_nanos;
        let since = |nanos: u64| (nanos as f64 - began as f64) / 1e9;
        let sample_seconds: Vec<f64> = record
            .samples
            .iter()
            .map(|sample| since(sample.monotonic_nanos))
            .collect();
        let marks: Vec<Mark> = record
            .events
            .iter()
            .map(|event| Mark {
                seconds: since(event.monotonic_nanos),
                kind: event.kind.clone(),
                port: event.port.clone(),
                details: event.details.clone(),
            })
            .collect();
        let moments = || {
            let marks = marks.iter().map(|mark| mark.seconds);
            sample_seconds.iter().copied().chain(marks)
        };
        let ended = record.deadlock.lasted_seconds.unwrap_or(0.0);
        let (lanes, lanes_left_out) = lanes(record, &sample_seconds);
        let suspected = record
            .ports
            .iter()
            .position(|port| port.name == record.deadlock.port);
        let waiting = record.samples.iter().map(|sample| {
            let port = suspected.and_then(|index| sample.ports.get(index));
            port.map_or(0, |port| port.egress_bytes)
        });
        let buffered = record
            .samples
            .iter()
            .map(|sample| sample.ports.iter().map(|port| port.ingress_bytes).sum());
        Self {
            deadlock: record.deadlock.clone(),
            began_time: record.began_time.clone(),
            complete: record.complete,
            from_seconds: moments().fold(0.0, f64::min),
            to_seconds: moments().fold(ended, f64::max),
            waiting_bytes: waiting.collect(),
            buffered_bytes: buffered.collect(),
            lanes,
            lanes_left_out,
            sample_seconds,
            marks,
        }
    }
}

/// The spans in which a state lasted: from the first point with it to the one that ends it, or the last point.
pub fn spans(points: impl IntoIterator<Item = (f64, bool)>) -> Vec<(f64, f64)> {
    let mut spans = Vec::new();
    let (mut since, mut last) = (None, 0.0);
    for (at, holds) in points {
        match (since, holds) {
            (None, true) => since = Some(at),
            (Some(start), false) => {
                spans.push((start, at));
                since = None;
            }
            _ => {}
        }
        last = at;
    }
    spans.extend(since.map(|start| (start, last)));
    spans
}

fn lanes(record: &FlightRecord, sample_seconds: &[f64]) -> (Vec<Lane>, u64) {
    let mut lanes = Vec::new();
    for (what, holds) in CONDITIONS {
        for (index, port) in record.ports.iter().enumerate() {
            let samples = sample_seconds.iter().zip(&record.samples);
            let points =
                samples.map(|(at, sample)| (*at, sample.ports.get(index).is_some_and(holds)));
            let spans_seconds = spans(points);
            if !spans_seconds.is_empty() {
                lanes.push(Lane {
                    what: what.into(),
                    port: port.name.clone(),
                    spans_seconds,
                });
            }
        }
    }
    let left_out = lanes.len().saturating_sub(LANES_MAX);
    if left_out > 0 {
        let mut lengths: Vec<f64> = lanes.iter().map(length).collect();
        lengths.sort_by(|a, b| b.total_cmp(a));
        let least = lengths[LANES_MAX - 1];
        lanes.retain(|lane| length(lane) >= least);
        lanes.truncate(LANES_MAX);
    }
    (lanes, left_out as u64)
}

fn length(lane: &Lane) -> f64 {
    lane.spans_seconds.iter().map(|(from, to)| to - from).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::daemon::{Event, FlightPort, FlightSample};

    fn record(port_count: usize) -> FlightRecord {
        let sample = |millis: u64, paused: bool| FlightSample {
            monotonic_nanos: millis * 1_000_000,
            held_frames: 0,
            ports: (0..port_count)
                .map(|index| FlightPortSample {
                    ingress_bytes: 10,
                    egress_bytes: 100 * index as u64,
                    paused,
                    suspected: paused && index == 1 && millis >= 1_000,
                    ..FlightPortSample::default()
                })
                .collect(),
        };
        FlightRecord {
            switch: "s1".into(),
            deadlock: Deadlock {
                id: 4,
                port: "p1".into(),
                began_monotonic_nanos: 1_000_000_000,
                lasted_seconds: Some(0.25),
                ..Deadlock::default()
            },
            began_time: "2026-01-02T03:04:05.678Z".into(),
            complete: true,
            interval_before_seconds: 0.1,
            interval_seconds: 0.02,
            samples_left_out: 0,
            events_left_out: 0,
            ports: (0..port_count)
                .map(|index| FlightPort {
                    name: format!("p{index}"),
                    role: "fabric".into(),
                    rate_bits_per_second: 100,
                })
                .collect(),
            samples: vec![
                sample(900, false),
                sample(950, true),
                sample(1_000, true),
                sample(1_100, false),
                sample(1_200, true),
            ],
            events: vec![Event {
                sequence: 1,
                monotonic_nanos: 1_300_000_000,
                time: String::new(),
                kind: "loop_found".into(),
                port: Some("p1".into()),
                priority: Some(3),
                details: BTreeMap::new(),
            }],
        }
    }

    #[test]
    fn times_are_relative_to_the_beginning() {
        let timeline = Timeline::from(&record(2));
        assert_eq!(timeline.sample_seconds, [-0.1, -0.05, 0.0, 0.1, 0.2]);
        assert_eq!((timeline.from_seconds, timeline.to_seconds), (-0.1, 0.3));
        assert_eq!(timeline.waiting_bytes, [100; 5]);
        assert_eq!(timeline.buffered_bytes, [20; 5]);
        assert_eq!(timeline.marks[0].seconds, 0.3);
        let told: Vec<(&str, &str)> = timeline
            .lanes
            .iter()
            .map(|lane| (lane.what.as_str(), lane.port.as_str()))
            .collect();
        assert_eq!(
            told,
            [("suspected", "p1"), ("paused", "p0"), ("paused", "p1")]
        );
        assert_eq!(timeline.lanes[0].spans_seconds, [(0.0, 0.1), (0.2, 0.2)]);
        assert_eq!(timeline.lanes[1].spans_seconds, [(-0.05, 0.1), (0.2, 0.2)]);
    }

    #[test]
    fn lanes_are_bounded() {
        let timeline = Timeline::from(&record(64));
        assert_eq!(timeline.lanes.len(), LANES_MAX);
        assert_eq!(timeline.lanes_left_out, 65 - LANES_MAX as u64);
    }
}
