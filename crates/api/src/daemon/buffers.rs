//! `GET /v1/buffers`: pools, and what buffers have of them.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// `GET /v1/buffers`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Buffers {
    /// In the order of the configuration.
    pub pools: Vec<Pool>,
    /// By port and priority, those whose class has a share of a pool.
    pub buffers: Vec<PooledBuffer>,
}

/// One pool.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Pool {
    /// Its name.
    pub name: String,
    /// What its buffers share above their reserves.
    pub size_bytes: u64,
    /// What they have of it.
    pub used_bytes: u64,
    /// The most since the start, or since the peaks of the reader `persistent` were cleared.
    pub used_bytes_max: u64,
    /// The headroom that its lossless buffers share.
    pub headroom_bytes: u64,
    /// What is in it.
    pub headroom_used_bytes: u64,
    /// The most, as for `used_bytes_max`.
    pub headroom_used_bytes_max: u64,
    /// How many buffers are above their threshold.
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
    /// What is its own.
    pub reserved_bytes: u64,
    /// α of a dynamic threshold, such as `1/8`; `null` with a static one.
    pub alpha: Option<String>,
    /// What it may take of the pool beside its reserve, as the pool is now.
    pub threshold_bytes: u64,
    /// What it is charged, reserve and headroom included, in whole cells.
    pub used_bytes: u64,
    /// The part of it in the headroom.
    pub headroom_used_bytes: u64,
    /// The neighbour is paused by it.
    pub pausing: bool,
}

/// A port's cable, and the headroom that follows from its length.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Cable {
    /// Its length as the configuration has it, such as `40m`.
    pub length: String,
    /// What both ends are taken to need beside the time on the cable and the frames in the way.
    pub reaction_nanos: u64,
    /// The headroom that classes without one of their own have at this port, each of them.
    pub headroom_bytes: u64,
    /// The longest round trip time for which that is enough.
    pub round_trip_max_nanos: u64,
    /// The longest that was measured of late; absent where the other end answers no echo messages.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub round_trip_nanos: Option<u64>,
    /// The headroom that this one needs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub headroom_needed_bytes: Option<u64>,
    /// True from a round trip that needs more than there is until ten in a row need no more.
    pub exceeded: bool,
}
