//! What one (port, priority) looks like at one moment.

use crate::units::{Bytes, Duration, PortId};

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
}
