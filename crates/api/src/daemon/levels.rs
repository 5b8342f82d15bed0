//! `GET /v1/levels`: protocol P, link by link and destination by destination.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// `GET /v1/levels`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Levels {
    /// All fabric ports and priorities of classes of mode `level`.
    pub links: Vec<LevelLink>,
    /// The Level Table, bounded: its oldest destinations, oldest first.
    pub destinations: Vec<LevelDestination>,
    /// Number of further destinations in the Level Table.
    pub left_out: u64,
}

/// One link and class.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct LevelLink {
    /// The port.
    pub port: String,
    /// The priority, 0 to 7.
    pub priority: u8,
    /// The class's name from the configuration.
    pub class: String,
    /// D: the highest Level.
    pub depth: u8,
    /// The budgets b_1 to b_D for frames received on the port.
    pub b_bytes: Vec<u64>,
    /// m_1 to m_D: the part of b_1 + … + b_i not used by frames up to Level i.
    pub m_bytes: Vec<u64>,
    /// rT: bytes kept free for frames in flight when a Feedback is sent.
    pub reserve_bytes: u64,
    /// T: the configured round trip time of the port.
    pub round_trip_nanos: u64,
    /// The measured round trip time of the link.
    #[serde(default)]
    pub round_trip_measured_nanos: Option<u64>,
    /// The last Transmit Feedback sent to the neighbour.
    pub feedback_sent: u8,
    /// The last Transmit Feedback received from the neighbour.
    pub feedback_received: u8,
    /// True while the neighbour pauses the whole priority by an ordinary pause.
    pub paused: bool,
    /// Frames waiting to leave by the port, released by the Feedback received.
    pub eligible_frames: u64,
    /// Their bytes.
    pub eligible_bytes: u64,
    /// Frames waiting to leave by the port, blocked by the Feedback received.
    pub held_frames: u64,
    /// Their bytes.
    pub held_bytes: u64,
}

/// One entry of the Level Table.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct LevelDestination {
    /// The priority, 0 to 7.
    pub priority: u8,
    /// The class's name from the configuration.
    pub class: String,
    /// The destination's MAC address.
    pub destination: String,
    /// λ of all frames to it.
    pub level: u8,
    /// Their charge, behind all ports, in whole cells.
    pub buffered_bytes: u64,
}
