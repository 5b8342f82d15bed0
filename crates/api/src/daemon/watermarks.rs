//! Bodies of `/v1/watermarks`: peaks, kept separately for three readers.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::words::WatermarkReader;

/// `GET /v1/watermarks`, and the answer to a clear.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Watermarks {
    /// Length of the intervals of the reader `telemetry`.
    pub telemetry_interval_seconds: f64,
    /// Total number of UMEM frames.
    pub umem_frames: u64,
    /// By reader; `telemetry` is absent until its first interval ends.
    pub readers: Vec<ReaderWatermarks>,
}

/// The peaks of one reader.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ReaderWatermarks {
    /// The reader.
    pub reader: WatermarkReader,
    /// Start of the observation of frames in the switch, RFC 3339 in UTC.
    pub since: String,
    /// End of the observation of all peaks, if it has ended: the end of the interval of `telemetry`.
    pub until: Option<String>,
    /// Peak number of frames in the switch: admitted and not yet sent.
    pub held_frames_max: u64,
    /// By pool, if there are any.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pools: Vec<PoolWatermarks>,
    /// By port and priority, as in `GET /v1/queues`.
    pub queues: Vec<QueueWatermarks>,
}

/// The peaks of one pool.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct PoolWatermarks {
    /// The pool.
    pub pool: String,
    /// Peak of the memory used by its buffers.
    pub used_bytes_max: u64,
    /// Peak of the used headroom.
    pub headroom_used_bytes_max: u64,
}

/// The peaks of one (port, priority).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct QueueWatermarks {
    /// The port.
    pub port: String,
    /// The priority, 0 to 7.
    pub priority: u8,
    /// Start of the observation, RFC 3339 in UTC.
    pub since: String,
    /// Peak charge of the ingress buffer, headroom included, in whole cells.
    pub ingress_bytes_max: u64,
    /// Peak of the part above the configured xoff; `null` if the neighbour is not paused by thresholds.
    pub headroom_used_bytes_max: Option<u64>,
    /// Peak of the bytes waiting to leave by the port.
    pub egress_bytes_max: u64,
}

/// `POST /v1/watermarks/clear`: restarts the peaks of one reader from the present values.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct WatermarkClear {
    /// The reader: `user` or `persistent`; `telemetry` restarts by itself.
    pub reader: WatermarkReader,
    /// The ports. Empty for all, and the frames in the switch.
    #[serde(default)]
    pub ports: Vec<String>,
}
