//! `GET /v1/deadlocks/ID`: the flight recorder's record of one suspicion, with the time before and after it.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{Deadlock, Event};
use crate::words::Role;

/// The switch that led the reaction to a suspected deadlock.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(tag = "who", rename_all = "snake_case")]
pub enum Master {
    /// This switch: it was elected (Loop Breaker), or found the loop and began its release (Deadlock Breaker).
    ThisSwitch,
    /// Another switch: its identifier is the lowest one seen here in an election, or it began the release that reached
    /// this switch.
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
    /// Start by the machine's wall clock, RFC 3339 in UTC.
    pub began_time: String,
    /// False while the suspicion, or the recorded time after it, lasts.
    pub complete: bool,
    /// Interval of the samples before the suspicion.
    pub interval_before_seconds: f64,
    /// Interval of the samples early in the suspicion, and after it.
    pub interval_seconds: f64,
    /// Samples of a long suspicion omitted between its start and its end.
    pub samples_left_out: u64,
    /// Events omitted between those of the start and those of the end, for lack of room.
    pub events_left_out: u64,
    /// The ports involved, in the configuration's order.
    pub ports: Vec<FlightPort>,
    /// Oldest first.
    pub samples: Vec<FlightSample>,
    /// Events of the suspicion's priority, and those without one; oldest first.
    pub events: Vec<Event>,
}

/// A port in a [`FlightRecord`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct FlightPort {
    /// Name from the configuration.
    pub name: String,
    /// Kind of device that it faces.
    pub role: Role,
    /// Configured line rate.
    pub rate_bits_per_second: u64,
}

/// State of the suspicion's priority at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct FlightSample {
    /// Time at which the dataplane took it, on the machine's monotonic clock.
    pub monotonic_nanos: u64,
    /// Frames in the switch, of all priorities.
    pub held_frames: u64,
    /// By port, in the order of the record's ports.
    pub ports: Vec<FlightPortSample>,
}

/// One port in a [`FlightSample`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct FlightPortSample {
    /// Charge of the ingress buffer of this port.
    pub ingress_bytes: u64,
    /// Bytes waiting to leave by this port.
    pub egress_bytes: u64,
    /// Threshold in force for pausing the neighbour; zero if there is none.
    pub xoff_bytes: u64,
    /// Threshold in force for letting it resume; zero if there is none.
    pub xon_bytes: u64,
    /// Bytes sent so far.
    pub tx_bytes_total: u64,
    /// Bytes that a traffic release has sent so far although paused.
    pub forced_bytes_total: u64,
    /// True while we pause the neighbour.
    pub pausing: bool,
    /// True while the neighbour pauses us.
    pub paused: bool,
    /// True while this egress is suspected.
    pub suspected: bool,
    /// While a release is in force at this egress: the only ingress port that may send.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub release_ingress: Option<String>,
    /// Protocol P, if the class has Levels at this port.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub levels: Option<FlightLevels>,
}

/// Protocol P at one port in a [`FlightSample`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct FlightLevels {
    /// The last Transmit Feedback sent to the neighbour.
    pub feedback_sent: u8,
    /// The last Transmit Feedback received from the neighbour.
    pub feedback_received: u8,
    /// Bytes waiting to leave and blocked by the Feedback received.
    pub held_bytes: u64,
}
