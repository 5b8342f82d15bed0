//! Bodies of `/v1/ecn`: marking of frames as Congestion Experienced.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::words::MarkMoment;

/// Thresholds of marking, and the classes that use them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct EcnProfile {
    /// Name of its `[[ecn]]`; `null` for a class with its own thresholds in the file.
    pub profile: Option<String>,
    /// No frame is marked at a backlog of up to this.
    pub kmin_bytes: u64,
    /// All frames are marked from this backlog on.
    pub kmax_bytes: u64,
    /// The probability just below `kmax_bytes`, in millionths.
    pub pmax_parts_per_million: u32,
    /// When the backlog is measured, or never.
    pub mark_at: MarkMoment,
    /// Classes that mark like this; empty for an unused profile.
    pub classes: Vec<String>,
    /// Frames of these classes' priorities marked at all ports.
    pub marked_frames_total: u64,
}

/// `PUT /v1/ecn/{profile}`: omitted fields are unchanged. In force until the file has other values, or the daemon
/// stops.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct EcnChange {
    /// As in the profile.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kmin_bytes: Option<u64>,
    /// As in the profile, at least `kmin_bytes`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kmax_bytes: Option<u64>,
    /// As in the profile, from 1 to 1000000.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pmax_parts_per_million: Option<u32>,
    /// As in the profile.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mark_at: Option<MarkMoment>,
}
