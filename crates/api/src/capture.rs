//! `/v1/captures`: frames as ports receive and send them.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// Header of a capture's answer with its number.
pub const CAPTURE_HEADER: &str = "x-weir-capture";
/// Media type of the answer.
pub const PCAPNG_TYPE: &str = "application/x-pcapng";

/// Body of `POST /v1/captures`; the answer is pcapng and ends with the capture.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CaptureRequest {
    /// Names of ports; empty for all.
    #[serde(default)]
    pub ports: Vec<String>,
    /// Filter expression; empty for all frames.
    #[serde(default)]
    pub filter: String,
    /// Bytes kept of each frame, 64 to 16384.
    #[serde(default = "snap_default")]
    pub snap_bytes: u32,
    /// Of the frames that match the filter, one in this many.
    #[serde(default = "sample_default")]
    pub sample: u64,
    /// The capture ends after this many frames.
    #[serde(default)]
    pub count: Option<u64>,
    /// The capture ends after this long.
    #[serde(default)]
    pub duration_seconds: Option<f64>,
    /// Maximum number of frames that wait to be written, 16 to 65536.
    #[serde(default = "ring_default")]
    pub ring_frames: u32,
}

const fn snap_default() -> u32 {
    128
}

const fn sample_default() -> u64 {
    1
}

const fn ring_default() -> u32 {
    4_096
}

impl Default for CaptureRequest {
    fn default() -> Self {
        Self {
            ports: Vec::new(),
            filter: String::new(),
            snap_bytes: snap_default(),
            sample: sample_default(),
            count: None,
            duration_seconds: None,
            ring_frames: ring_default(),
        }
    }
}

/// A running capture: an element of `GET /v1/captures`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Capture {
    /// Its number, for `DELETE /v1/captures/ID`.
    pub id: u64,
    /// The request.
    pub request: CaptureRequest,
    /// Time since it began.
    pub running_seconds: f64,
    /// Frames seen at its ports.
    pub seen_total: u64,
    /// Frames that matched the filter.
    pub matched_total: u64,
    /// Frames copied.
    pub copied_total: u64,
    /// Frames lost because the ring was full.
    pub lost_total: u64,
}
