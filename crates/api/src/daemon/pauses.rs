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
    /// What the neighbour was told.
    pub sent: Pauses,
    /// What the neighbour has told: PFC, and 802.3x PAUSE where the port obeys it.
    pub received: Pauses,
}

/// Pauses of one priority in one direction. One begins with an XOFF that finds none in force; those that refresh it prolong
/// it; it ends with an XON, or when the time of the last XOFF is over.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Pauses {
    /// XOFF, refreshes included.
    pub xoff_frames_total: u64,
    /// XON.
    pub xon_frames_total: u64,
    /// XOFF that have begun a pause. None in a class that is not lossless: its pauses are not obeyed.
    pub transitions_total: u64,
    /// True while a pause lasts.
    pub paused: bool,
    /// When the last pause began, RFC 3339 in UTC.
    pub last_began: Option<String>,
    /// The same on CLOCK_MONOTONIC.
    pub last_began_monotonic_nanos: Option<u64>,
    /// When the last pause that is over ended, RFC 3339 in UTC.
    pub last_ended: Option<String>,
    /// The same on CLOCK_MONOTONIC.
    pub last_ended_monotonic_nanos: Option<u64>,
    /// For how long in all, a pause that lasts included.
    pub paused_seconds_total: f64,
    /// The longest pause, one that lasts included.
    pub longest_seconds: f64,
}
