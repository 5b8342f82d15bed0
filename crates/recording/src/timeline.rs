//! A trace of switches over time. Each switch has a track for each port, and each port one for each priority. They
//! show pauses in both directions, the queue, the ingress buffer, suspicions, releases, storms and single events.

use std::collections::BTreeMap;

use weir_api::daemon::Event;
use weir_api::words::EventName;
use weir_core::Instant;

use crate::perfetto::{Arrow, Details, Trace, Track, Unit};
use crate::spans::Span;

/// A priority of a switch's port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place<'a> {
    /// The switch.
    pub switch: &'a str,
    /// The port.
    pub port: &'a str,
    /// The priority.
    pub priority: u8,
}

/// Direction of a pause.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Way {
    /// The neighbour pauses the port.
    Received,
    /// The port pauses its neighbour.
    Sent,
}

/// Tracks of one place, in the order of display.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Lane {
    Pause(Way),
    Queue,
    Buffer,
    Slices(&'static str),
    Events,
}

impl Lane {
    const fn name(self) -> &'static str {
        match self {
            Self::Pause(Way::Received) => "paused by neighbour",
            Self::Pause(Way::Sent) => "pauses neighbour",
            Self::Queue => "egress queue",
            Self::Buffer => "ingress buffer",
            Self::Slices(name) => name,
            Self::Events => "events",
        }
    }

    fn rank(self) -> usize {
        match self {
            Self::Pause(Way::Received) => 0,
            Self::Pause(Way::Sent) => 1,
            Self::Queue => 2,
            Self::Buffer => 3,
            Self::Slices(name) => 4 + SLICES.iter().position(|it| it.2 == name).unwrap_or(0),
            Self::Events => 4 + SLICES.len(),
        }
    }

    const fn unit(self) -> Option<Unit> {
        match self {
            Self::Queue | Self::Buffer => Some(Unit::SizeBytes),
            _ => None,
        }
    }
}

/// Events that begin and end a slice of the egress that they name.
const SLICES: [(EventName, EventName, &str); 3] = [
    (EventName::Suspected, EventName::SuspicionEnded, "suspected"),
    (
        EventName::ReleaseStarted,
        EventName::ReleaseEnded,
        "release",
    ),
    (EventName::StormDetected, EventName::StormRestored, "storm"),
];

/// Switch, port, priority and lane of a track.
type Key = (String, Option<String>, Option<u8>, Option<Lane>);

/// A trace of switches under construction.
#[derive(Debug, Default)]
pub struct Timeline {
    trace: Trace,
    tracks: BTreeMap<Key, Track>,
    /// Slices in progress, by track.
    open: BTreeMap<Key, Track>,
    /// Last value of each counter.
    values: BTreeMap<Key, u64>,
}

impl Timeline {
    /// Returns a new arrow between two pauses.
    pub fn arrow(&mut self) -> Arrow {
        self.trace.arrow()
    }

    /// Adds a pause. Arrows in `out` start there, those in `into` end there.
    pub fn pause(
        &mut self,
        place: Place<'_>,
        way: Way,
        span: &Span,
        out: Vec<Arrow>,
        into: Vec<Arrow>,
    ) {
        let track = self.lane(place, Lane::Pause(way));
        let unseen = [
            ("pauses before, unseen", span.unseen.to_string()),
            ("their time", format!("{} ns", span.unseen_time.as_nanos())),
        ];
        let unseen = unseen.map(|(name, value)| (name.to_owned(), value));
        let details = Details {
            values: unseen.into_iter().filter(|_| span.unseen > 0).collect(),
            out,
            into,
        };
        self.trace.begin(track, span.from, "pause", details);
        match span.to {
            Some(to) => self.trace.end(track, to),
            None => {
                self.open.insert(key(place, Lane::Pause(way)), track);
            }
        }
    }

    /// Sets the backlog of the port and the occupancy of its ingress buffer from `at` on.
    pub fn depth(&mut self, place: Place<'_>, at: Instant, egress_bytes: u64, ingress_bytes: u64) {
        for (lane, bytes) in [(Lane::Queue, egress_bytes), (Lane::Buffer, ingress_bytes)] {
            let track = self.lane(place, lane);
            let before = self.values.insert(key(place, lane), bytes);
            if before != Some(bytes) {
                self.trace.value(track, at, bytes);
            }
        }
    }

    /// Adds an event of `switch`; events that begin or end a suspicion, a release or a storm become slices as well.
    /// Events of one switch must be in order of time.
    pub fn event(&mut self, switch: &str, event: &Event) {
        let at = Instant::from_nanos(event.monotonic_nanos);
        let values = event.details.clone().into_iter().collect();
        let details = Details {
            values,
            ..Details::default()
        };
        let events = self.events(switch, event.port.as_deref(), event.priority);
        let kind = event.kind.as_str();
        self.trace.instant(events, at, kind, details.clone());
        let (Some(port), Some(priority)) = (&event.port, event.priority) else {
            return;
        };
        let place = Place {
            switch,
            port,
            priority,
        };
        for (begins, ends, name) in SLICES {
            let lane = Lane::Slices(name);
            let (begins, ends) = (kind == begins.name(), kind == ends.name());
            if begins || ends {
                // The end of the previous one may be lost.
                if let Some(track) = self.open.remove(&key(place, lane)) {
                    self.trace.end(track, at);
                }
            }
            if begins {
                let track = self.lane(place, lane);
                self.trace.begin(track, at, name, details.clone());
                self.open.insert(key(place, lane), track);
            }
        }
    }

    /// Returns the trace as a file's bytes; slices without an end last until `end`.
    pub fn into_bytes(mut self, end: Instant) -> Vec<u8> {
        for track in std::mem::take(&mut self.open).into_values() {
            self.trace.end(track, end);
        }
        self.trace.into_bytes()
    }

    fn lane(&mut self, place: Place<'_>, lane: Lane) -> Track {
        let parent = Some(self.priority(place.switch, place.port, place.priority));
        self.child(
            key(place, lane),
            parent,
            lane.name(),
            lane.rank(),
            lane.unit(),
        )
    }

    /// Returns the track for events without duration of the innermost object that is given.
    fn events(&mut self, switch: &str, port: Option<&str>, priority: Option<u8>) -> Track {
        let parent = match (port, priority) {
            (Some(port), Some(priority)) => self.priority(switch, port, priority),
            (Some(port), None) => self.port(switch, port),
            (None, _) => self.switch(switch),
        };
        let lane = Lane::Events;
        let port = port.map(str::to_owned);
        let priority = priority.filter(|_| port.is_some());
        // Tracks of a switch or port precede those of the objects below it.
        let rank = priority.map_or(0, |_| lane.rank());
        let key = (switch.to_owned(), port, priority, Some(lane));
        self.child(key, Some(parent), lane.name(), rank, None)
    }

    fn switch(&mut self, switch: &str) -> Track {
        let rank = self.tracks.len();
        self.child(
            (switch.to_owned(), None, None, None),
            None,
            switch,
            rank,
            None,
        )
    }

    fn port(&mut self, switch: &str, port: &str) -> Track {
        let parent = self.switch(switch);
        let key = (switch.to_owned(), Some(port.to_owned()), None, None);
        let rank = self.tracks.len();
        self.child(key, Some(parent), port, rank, None)
    }

    fn priority(&mut self, switch: &str, port: &str, priority: u8) -> Track {
        let parent = self.port(switch, port);
        let key = (
            switch.to_owned(),
            Some(port.to_owned()),
            Some(priority),
            None,
        );
        let (name, rank) = (format!("priority {priority}"), usize::from(priority) + 1);
        self.child(key, Some(parent), &name, rank, None)
    }

    /// Returns the track of `key`; a new one is added below `parent` at its rank.
    fn child(
        &mut self,
        key: Key,
        parent: Option<Track>,
        name: &str,
        rank: usize,
        unit: Option<Unit>,
    ) -> Track {
        let trace = &mut self.trace;
        *self.tracks.entry(key).or_insert_with(|| match unit {
            Some(unit) => trace.counter(parent, name, rank, unit),
            None => trace.track(parent, name, rank),
        })
    }
}

fn key(place: Place<'_>, lane: Lane) -> Key {
    let (switch, port) = (place.switch.to_owned(), place.port.to_owned());
    (switch, Some(port), Some(place.priority), Some(lane))
}
