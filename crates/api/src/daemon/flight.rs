//! `GET /v1/deadlocks/ID`: what the flight recorder has of one suspicion, from before it to after it.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{Deadlock, Event};
use crate::words::Role;

/// Who led what was done about a suspected deadlock.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(tag = "who", rename_all = "snake_case")]
pub enum Master {
    /// This switch: it was elected (Loop Breaker), or found the loop and began its release (Deadlock
    /// Breaker).
    ThisSwitch,
    /// Another one: its identifier is the lowest that an election showed here, or it began the release that
    /// reached this switch.
    Other {
        /// The identifier, hexadecimal.
        spuid: String,
    },
}

/// `GET /v1/deadlocks/ID`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct FlightRecord {
    /// The switch's name from its configuration.
    pub switch: String,
    /// The suspicion.
    pub deadlock: Deadlock,
    /// When it began, by the machine's wall clock, RFC 3339 in UTC.
    pub began_time: String,
    /// False while the suspicion, or the time after it that is recorded too, lasts.
    pub complete: bool,
    /// Interval of the samples before the suspicion.
    pub interval_before_seconds: f64,
    /// Interval of the samples while it is new, and after it.
    pub interval_seconds: f64,
    /// Samples of a long suspicion that were thinned out between its beginning and its end.
    pub samples_left_out: u64,
    /// Events that found no room between those of the beginning and those of the end.
    pub events_left_out: u64,
    /// The ports that had any part in it, in the configuration's order.
    pub ports: Vec<FlightPort>,
    /// Oldest first.
    pub samples: Vec<FlightSample>,
    /// Those of the suspicion's priority, and those without one; oldest first.
    pub events: Vec<Event>,
}

/// A port in a [`FlightRecord`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct FlightPort {
    /// Name from the configuration.
    pub name: String,
    /// What it faces.
    pub role: Role,
    /// Configured line rate.
    pub rate_bits_per_second: u64,
}

/// The suspicion's priority at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct FlightSample {
    /// When the dataplane took it, on the machine's monotonic clock.
    pub monotonic_nanos: u64,
    /// Frames inside the switch, of all priorities.
    pub held_frames: u64,
    /// One for each of the record's ports.
    pub ports: Vec<FlightPortSample>,
}

/// One port in a [`FlightSample`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct FlightPortSample {
    /// Charged to the ingress buffer of this port.
    pub ingress_bytes: u64,
    /// Waiting to leave by this port.
    pub egress_bytes: u64,
    /// Threshold in force for pausing the neighbour; zero where none is.
    pub xoff_bytes: u64,
    /// Threshold in force for letting it resume; zero where none is.
    pub xon_bytes: u64,
    /// Bytes sent so far.
    pub tx_bytes_total: u64,
    /// Bytes that a traffic release has sent so far although the neighbour paused them.
    pub forced_bytes_total: u64,
    /// True while we hold the neighbour.
    pub pausing: bool,
    /// True while the neighbour holds us.
    pub paused: bool,
    /// True while this egress is suspected.
    pub suspected: bool,
    /// While a release is in force at this egress: the only ingress port that may send.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub release_ingress: Option<String>,
    /// Protocol P, where the class has Levels at this port.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub levels: Option<FlightLevels>,
}

/// Protocol P at one port in a [`FlightSample`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct FlightLevels {
    /// The Transmit Feedback that the neighbour was told last.
    pub feedback_sent: u8,
    /// The Transmit Feedback that the neighbour told us last.
    pub feedback_received: u8,
    /// Waiting to leave and held back by the Feedback received.
    pub held_bytes: u64,
}
