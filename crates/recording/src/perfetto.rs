//! Traces in Perfetto's protobuf format: tracks, slices, instants, counters and arrows between slices.
//!
//! The messages contain the fields of `protos/perfetto/trace` in <https://github.com/google/perfetto> that are written
//! here, with the numbers of their files: `trace_packet.proto`, `track_event/track_descriptor.proto`,
//! `track_event/counter_descriptor.proto`, `track_event/track_event.proto`, `track_event/debug_annotation.proto`.

use prost::Message;
use weir_core::Instant;

/// The only sequence of packets in a trace.
const SEQUENCE: u32 = 1;
/// `SEQ_INCREMENTAL_STATE_CLEARED`: the sequence begins here.
const SEQUENCE_BEGINS: u32 = 1;
/// `TrackDescriptor.ChildTracksOrdering.EXPLICIT`: by rank.
const BY_RANK: i32 = 3;

#[derive(Clone, PartialEq, Message)]
struct TracePacket {
    #[prost(uint64, optional, tag = "8")]
    timestamp: Option<u64>,
    #[prost(uint32, tag = "10")]
    trusted_packet_sequence_id: u32,
    #[prost(message, optional, tag = "11")]
    track_event: Option<TrackEvent>,
    #[prost(uint32, optional, tag = "13")]
    sequence_flags: Option<u32>,
    #[prost(message, optional, tag = "60")]
    track_descriptor: Option<TrackDescriptor>,
}

#[derive(Clone, PartialEq, Message)]
struct TrackDescriptor {
    #[prost(uint64, tag = "1")]
    uuid: u64,
    #[prost(string, tag = "2")]
    name: String,
    #[prost(uint64, optional, tag = "5")]
    parent_uuid: Option<u64>,
    #[prost(message, optional, tag = "8")]
    counter: Option<CounterDescriptor>,
    #[prost(int32, tag = "11")]
    child_ordering: i32,
    #[prost(int32, tag = "12")]
    sibling_order_rank: i32,
}

#[derive(Clone, PartialEq, Message)]
struct CounterDescriptor {
    #[prost(enumeration = "Unit", tag = "3")]
    unit: i32,
}

/// Unit of a counter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, prost::Enumeration)]
#[repr(i32)]
pub enum Unit {
    /// No particular unit.
    Unspecified = 0,
    /// Bytes.
    SizeBytes = 3,
}

#[derive(Clone, PartialEq, Message)]
struct TrackEvent {
    #[prost(message, repeated, tag = "4")]
    debug_annotations: Vec<DebugAnnotation>,
    #[prost(enumeration = "Type", tag = "9")]
    r#type: i32,
    #[prost(uint64, tag = "11")]
    track_uuid: u64,
    #[prost(string, optional, tag = "23")]
    name: Option<String>,
    #[prost(int64, optional, tag = "30")]
    counter_value: Option<i64>,
    #[prost(fixed64, repeated, packed = "false", tag = "47")]
    flow_ids: Vec<u64>,
    #[prost(fixed64, repeated, packed = "false", tag = "48")]
    terminating_flow_ids: Vec<u64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, prost::Enumeration)]
#[repr(i32)]
enum Type {
    Unspecified = 0,
    SliceBegin = 1,
    SliceEnd = 2,
    Instant = 3,
    Counter = 4,
}

#[derive(Clone, PartialEq, Message)]
struct DebugAnnotation {
    #[prost(string, optional, tag = "6")]
    string_value: Option<String>,
    #[prost(string, tag = "10")]
    name: String,
}

/// A track of a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Track(u64);

/// An arrow from one slice to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrow(u64);

/// Details of a slice or an instant.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Details {
    /// Names and values.
    pub values: Vec<(String, String)>,
    /// Arrows that start here.
    pub out: Vec<Arrow>,
    /// Arrows that end here.
    pub into: Vec<Arrow>,
}

/// A trace under construction.
#[derive(Debug, Default)]
pub struct Trace {
    descriptors: Vec<TrackDescriptor>,
    /// With their times. Events of one time and track keep the order in which they were added.
    events: Vec<(Instant, TrackEvent)>,
    arrows: u64,
}

impl Trace {
    /// Adds a track to the root or below `parent`; its siblings are shown by `rank`.
    pub fn track(&mut self, parent: Option<Track>, name: &str, rank: usize) -> Track {
        self.describe(parent, name, rank, None)
    }

    /// Adds a track whose values are numbers.
    pub fn counter(&mut self, parent: Option<Track>, name: &str, rank: usize, unit: Unit) -> Track {
        let counter = CounterDescriptor { unit: unit.into() };
        self.describe(parent, name, rank, Some(counter))
    }

    fn describe(
        &mut self,
        parent: Option<Track>,
        name: &str,
        rank: usize,
        counter: Option<CounterDescriptor>,
    ) -> Track {
        // Zero stands for the default track.
        let uuid = self.descriptors.len() as u64 + 1;
        self.descriptors.push(TrackDescriptor {
            uuid,
            name: name.to_owned(),
            parent_uuid: parent.map(|parent| parent.0),
            counter,
            child_ordering: BY_RANK,
            sibling_order_rank: i32::try_from(rank).unwrap_or(i32::MAX),
        });
        Track(uuid)
    }

    /// Returns a new arrow, to be started by one slice and ended by another.
    pub fn arrow(&mut self) -> Arrow {
        self.arrows += 1;
        Arrow(self.arrows)
    }

    /// Begins a slice. Slices of one track nest; each is ended by [`end`](Self::end).
    pub fn begin(&mut self, track: Track, at: Instant, name: &str, details: Details) {
        self.named(track, at, Type::SliceBegin, name, details);
    }

    /// Ends the most recent slice of `track`.
    pub fn end(&mut self, track: Track, at: Instant) {
        self.add(track, at, Type::SliceEnd, TrackEvent::default());
    }

    /// Adds an event without duration.
    pub fn instant(&mut self, track: Track, at: Instant, name: &str, details: Details) {
        self.named(track, at, Type::Instant, name, details);
    }

    /// Sets a counter's value from `at` on.
    pub fn value(&mut self, track: Track, at: Instant, value: u64) {
        let event = TrackEvent {
            counter_value: Some(i64::try_from(value).unwrap_or(i64::MAX)),
            ..TrackEvent::default()
        };
        self.add(track, at, Type::Counter, event);
    }

    fn named(&mut self, track: Track, at: Instant, kind: Type, name: &str, details: Details) {
        let ids = |arrows: Vec<Arrow>| arrows.into_iter().map(|arrow| arrow.0).collect();
        let annotation = |(name, value)| DebugAnnotation {
            name,
            string_value: Some(value),
        };
        let event = TrackEvent {
            name: Some(name.to_owned()),
            debug_annotations: details.values.into_iter().map(annotation).collect(),
            flow_ids: ids(details.out),
            terminating_flow_ids: ids(details.into),
            ..TrackEvent::default()
        };
        self.add(track, at, kind, event);
    }

    fn add(&mut self, track: Track, at: Instant, kind: Type, event: TrackEvent) {
        let event = TrackEvent {
            r#type: kind.into(),
            track_uuid: track.0,
            ..event
        };
        self.events.push((at, event));
    }

    /// Returns the trace as a file's bytes.
    pub fn into_bytes(mut self) -> Vec<u8> {
        // Stable: the end of a slice was added before the start of the next one of its track.
        self.events.sort_by_key(|(at, _)| *at);
        let mut bytes = Vec::new();
        let mut flags = Some(SEQUENCE_BEGINS);
        let mut put = |packet: TracePacket| {
            let packet = TracePacket {
                trusted_packet_sequence_id: SEQUENCE,
                sequence_flags: flags.take(),
                ..packet
            };
            // Field 1 of `Trace`: a packet with its length. A vector has room for any message.
            prost::encoding::message::encode(1, &packet, &mut bytes);
        };
        for descriptor in self.descriptors {
            put(TracePacket {
                track_descriptor: Some(descriptor),
                ..TracePacket::default()
            });
        }
        for (at, event) in self.events {
            put(TracePacket {
                timestamp: Some(at.as_nanos()),
                track_event: Some(event),
                ..TracePacket::default()
            });
        }
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Clone, PartialEq, Message)]
    struct WholeTrace {
        #[prost(message, repeated, tag = "1")]
        packets: Vec<TracePacket>,
    }

    #[test]
    fn packets_follow_their_tracks_in_order_of_time() {
        let mut trace = Trace::default();
        let switch = trace.track(None, "s1", 0);
        let queue = trace.counter(Some(switch), "queue", 1, Unit::SizeBytes);
        let at = Instant::from_nanos;
        let arrow = trace.arrow();
        trace.value(queue, at(30), u64::MAX);
        let details = Details {
            out: vec![arrow],
            ..Details::default()
        };
        trace.begin(switch, at(10), "first", details);
        trace.end(switch, at(20));
        let details = Details {
            into: vec![arrow],
            values: vec![("port".to_owned(), "p1".to_owned())],
            ..Details::default()
        };
        trace.begin(switch, at(20), "second", details);
        trace.end(switch, at(20));
        let bytes = trace.into_bytes();
        let packets = WholeTrace::decode(bytes.as_slice()).unwrap().packets;
        let flags: Vec<_> = packets.iter().filter_map(|it| it.sequence_flags).collect();
        assert_eq!(flags, [SEQUENCE_BEGINS], "once, in the first packet");
        assert_eq!(packets[0].sequence_flags, Some(SEQUENCE_BEGINS));
        let tracks: Vec<_> = packets
            .iter()
            .filter_map(|it| it.track_descriptor.as_ref())
            .map(|it| (it.uuid, it.parent_uuid))
            .collect();
        assert_eq!(tracks, [(1, None), (2, Some(1))]);
        let events: Vec<_> = packets
            .iter()
            .filter_map(|it| Some((it.timestamp?, it.track_event.as_ref()?.r#type())))
            .collect();
        let expected = [
            (10, Type::SliceBegin),
            (20, Type::SliceEnd),
            (20, Type::SliceBegin),
            (20, Type::SliceEnd),
            (30, Type::Counter),
        ];
        assert_eq!(events, expected);
        let last = packets.last().and_then(|it| it.track_event.clone());
        assert_eq!(last.unwrap().counter_value, Some(i64::MAX), "clipped");
    }
}
