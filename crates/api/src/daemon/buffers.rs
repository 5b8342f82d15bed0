//! `GET /v1/buffers`: pools, and their use by buffers.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// `GET /v1/buffers`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Buffers {
    /// In the order of the configuration.
    pub pools: Vec<Pool>,
    /// By port and priority: buffers whose class has a share of a pool.
    pub buffers: Vec<PooledBuffer>,
}

/// One pool.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Pool {
    /// Its name.
    pub name: String,
    /// Memory shared by its buffers above their reserves.
    pub size_bytes: u64,
    /// Part of it in use.
    pub used_bytes: u64,
    /// Peak of `used_bytes` since the start, or since the peaks of the reader `persistent` were cleared.
    pub used_bytes_max: u64,
    /// Headroom shared by its lossless buffers.
    pub headroom_bytes: u64,
    /// Used headroom.
    pub headroom_used_bytes: u64,
    /// Peak of `headroom_used_bytes`, as for `used_bytes_max`.
    pub headroom_used_bytes_max: u64,
    /// Number of buffers above their threshold.
    pub paused_buffers: u64,
}

/// One (port, priority) of a pool.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct PooledBuffer {
    /// The port.
    pub port: String,
    /// The priority, 0 to 7.
    pub priority: u8,
    /// Its pool.
    pub pool: String,
    /// Its reserve.
    pub reserved_bytes: u64,
    /// α of a dynamic threshold, such as `1/8`; `null` with a static one.
    pub alpha: Option<String>,
    /// Its present limit on the pool, on top of its reserve.
    pub threshold_bytes: u64,
    /// Its charge, reserve and headroom included, in whole cells.
    pub used_bytes: u64,
    /// The part of it in the headroom.
    pub headroom_used_bytes: u64,
    /// True while it pauses the neighbour.
    pub pausing: bool,
}

/// A port's cable, and the headroom for its length.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Cable {
    /// Its length as configured, such as `40m`.
    pub length: String,
    /// Assumed reaction time of both ends, without the time on the cable and frames in the way.
    pub reaction_nanos: u64,
    /// Headroom at this port of each class without a configured headroom.
    pub headroom_bytes: u64,
    /// Longest round trip time for which that suffices.
    pub round_trip_max_nanos: u64,
    /// Longest recently measured round trip time; absent if the other end answers no echo messages.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub round_trip_nanos: Option<u64>,
    /// Headroom needed for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub headroom_needed_bytes: Option<u64>,
    /// True from a round trip that needs more than that headroom until ten in a row do not.
    pub exceeded: bool,
}
