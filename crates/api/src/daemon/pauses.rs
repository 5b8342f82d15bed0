//! Bodies of `/v1/pfc/counters`: pauses in both directions.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// One (port, priority) of a lossless class, or whose neighbour has sent pauses, `GET /v1/pfc/counters`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct PauseCounters {
    /// The port.
    pub port: String,
    /// The priority, 0 to 7.
    pub priority: u8,
    /// Pauses sent to the neighbour.
    pub sent: Pauses,
    /// Pauses received from the neighbour: PFC, and 802.3x PAUSE if the port obeys it.
    pub received: Pauses,
}

/// Pauses of one priority in one direction. A pause begins with an XOFF while none is in force; refreshes prolong it;
/// it ends with an XON, or when the time of the last XOFF is over.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Pauses {
    /// XOFF, refreshes included.
    pub xoff_frames_total: u64,
    /// XON.
    pub xon_frames_total: u64,
    /// XOFF that began a pause. Zero in a lossy class, whose pauses are not obeyed.
    pub transitions_total: u64,
    /// True while a pause lasts.
    pub paused: bool,
    /// Start of the last pause, RFC 3339 in UTC.
    pub last_began: Option<String>,
    /// The same on CLOCK_MONOTONIC.
    pub last_began_monotonic_nanos: Option<u64>,
    /// End of the last completed pause, RFC 3339 in UTC.
    pub last_ended: Option<String>,
    /// The same on CLOCK_MONOTONIC.
    pub last_ended_monotonic_nanos: Option<u64>,
    /// Total time paused, including a present pause.
    pub paused_seconds_total: f64,
    /// Longest pause, including a present one.
    pub longest_seconds: f64,
}
