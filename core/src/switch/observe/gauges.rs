//! What one (port, priority) looks like at one moment.

use crate::config::StormAction;
use crate::level::{Level, LEVEL_MAX};
use crate::units::{Bytes, Duration, MacAddress, PortId, Priority};

/// State of one (port, priority), read by [`Switch::gauges`](crate::Switch::gauges).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PriorityGauges {
    /// Charged to the ingress buffer of this port, in whole cells.
    pub ingress: Bytes,
    /// The most that was ever charged.
    pub ingress_max: Bytes,
    /// Waiting to leave by this port, in frame bytes.
    pub egress: Bytes,
    /// The most that ever waited.
    pub egress_max: Bytes,
    /// Frames waiting to leave by this port.
    pub egress_frames: u64,
    /// Threshold in force for pausing the neighbour; zero for a lossy class.
    pub xoff: Bytes,
    /// Threshold in force for letting it resume; zero for a lossy class.
    pub xon: Bytes,
    /// The most that was ever charged above the configured xoff.
    pub headroom_used_max: Bytes,
    /// True while we hold the neighbour.
    pub pausing: bool,
    /// True while the neighbour holds us (PFC for this priority, or 802.3x).
    pub paused: bool,
    /// For how long the neighbour has held this priority in all, the current span included.
    pub paused_total: Duration,
    /// True while this egress is suspected of a deadlock.
    pub suspected: bool,
    /// While a release is in force at this egress: the only ingress port that may send.
    pub release_ingress: Option<PortId>,
    /// True while this egress is stalled by a pause that was not called a storm.
    pub stalled: bool,
    /// While a PFC storm lasts at this egress: the watchdog's action.
    pub storm: Option<StormAction>,
    /// True while the lifetime limit has this egress drop everything.
    pub vl_stalled: bool,
    /// Protocol P on this link; `None` for a class without Levels and towards hosts.
    pub levels: Option<LevelGauges>,
}

/// Protocol P on one fabric port and class (Karol, Golestani and Lee, section III).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LevelGauges {
    /// D: how many of `m` count.
    pub depth: Level,
    /// m_1 … m_D of the link's Receiving Queue.
    pub m: [Bytes; LEVEL_MAX],
    /// rT: what is kept free for frames that are under way when a Feedback is sent.
    pub reserve: Bytes,
    /// T: the round trip time that the link is configured with.
    pub round_trip: Duration,
    /// The round trip time that an echo has measured.
    pub round_trip_measured: Option<Duration>,
    /// The Transmit Feedback that the neighbour was told last.
    pub feedback_sent: Level,
    /// The Transmit Feedback that the neighbour told us.
    pub feedback_received: Level,
    /// Waiting to leave by this port at Levels that the Feedback lets out, in frame bytes. A pause holds
    /// them too.
    pub eligible: Bytes,
    /// The frames of `eligible`.
    pub eligible_frames: u64,
    /// Waiting to leave by this port and held back by the Feedback, in frame bytes.
    pub held: Bytes,
    /// The frames of `held`.
    pub held_frames: u64,
}

/// One line of the Level Table. With learning a destination has one for each ingress port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LevelEntry {
    /// The class.
    pub priority: Priority,
    /// The destination.
    pub destination: MacAddress,
    /// λ of these frames.
    pub level: Level,
    /// What they charge, in whole cells.
    pub buffered: Bytes,
}
