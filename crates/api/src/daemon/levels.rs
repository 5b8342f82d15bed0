//! `GET /v1/levels`: protocol P, link by link and destination by destination.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// `GET /v1/levels`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Levels {
    /// Each fabric port and priority of a class of mode `level`.
    pub links: Vec<LevelLink>,
    /// The Level Table, bounded: those destinations that have been in it longest, the oldest first.
    pub destinations: Vec<LevelDestination>,
    /// Destinations in the Level Table beyond those.
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
    /// The budgets b_1 to b_D of what comes in by the port.
    pub b_bytes: Vec<u64>,
    /// m_1 to m_D: what of b_1 + … + b_i is left free by the frames up to Level i.
    pub m_bytes: Vec<u64>,
    /// rT: what is kept free for frames that are under way when a Feedback is sent.
    pub reserve_bytes: u64,
    /// T: the round trip time that the port is configured with.
    pub round_trip_nanos: u64,
    /// The round trip time that was measured on the link.
    #[serde(default)]
    pub round_trip_measured_nanos: Option<u64>,
    /// The Transmit Feedback that the neighbour was told last.
    pub feedback_sent: u8,
    /// The Transmit Feedback that the neighbour told us last.
    pub feedback_received: u8,
    /// True while the neighbour holds all of the priority by an ordinary pause.
    pub paused: bool,
    /// Frames waiting to leave by the port that the Feedback received lets out.
    pub eligible_frames: u64,
    /// Their bytes.
    pub eligible_bytes: u64,
    /// Frames waiting to leave by the port that the Feedback received holds back.
    pub held_frames: u64,
    /// Their bytes.
    pub held_bytes: u64,
}

/// One line of the Level Table.
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
    /// What they charge, behind all ports, in whole cells.
    pub buffered_bytes: u64,
}
