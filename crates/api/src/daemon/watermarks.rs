//! Bodies of `/v1/watermarks`: peaks, each kept for three readers.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::words::WatermarkReader;

/// `GET /v1/watermarks`, and what a clear answers.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Watermarks {
    /// Length of the intervals of the reader `telemetry`.
    pub telemetry_interval_seconds: f64,
    /// UMEM frames in all.
    pub umem_frames: u64,
    /// By reader; `telemetry` is absent until its first interval is over.
    pub readers: Vec<ReaderWatermarks>,
}

/// The peaks of one reader.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ReaderWatermarks {
    /// Which one.
    pub reader: WatermarkReader,
    /// From when on frames inside the switch are looked at, RFC 3339 in UTC.
    pub since: String,
    /// Up to when all peaks are looked at, where that is over: the end of the interval of `telemetry`.
    pub until: Option<String>,
    /// The most frames that were inside the switch at once: admitted and not yet sent.
    pub held_frames_max: u64,
    /// By pool, if there are any.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pools: Vec<PoolWatermarks>,
    /// By port and priority, as `GET /v1/queues` has them.
    pub queues: Vec<QueueWatermarks>,
}

/// The peaks of one pool.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct PoolWatermarks {
    /// The pool.
    pub pool: String,
    /// The most that its buffers had of it.
    pub used_bytes_max: u64,
    /// The most that was in its headroom.
    pub headroom_used_bytes_max: u64,
}

/// The peaks of one (port, priority).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct QueueWatermarks {
    /// The port.
    pub port: String,
    /// The priority, 0 to 7.
    pub priority: u8,
    /// From when on, RFC 3339 in UTC.
    pub since: String,
    /// The most that was charged to the ingress buffer, the headroom included, in whole cells.
    pub ingress_bytes_max: u64,
    /// The most of it that was above the configured xoff; `null` where the neighbour is not paused by thresholds.
    pub headroom_used_bytes_max: Option<u64>,
    /// The most that waited to leave by the port.
    pub egress_bytes_max: u64,
}

/// `POST /v1/watermarks/clear`: peaks begin again from what there is now, for one reader alone.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct WatermarkClear {
    /// For whom: `user` or `persistent`; `telemetry` begins again by itself.
    pub reader: WatermarkReader,
    /// Which ports. None for all, and the frames inside the switch.
    #[serde(default)]
    pub ports: Vec<String>,
}
