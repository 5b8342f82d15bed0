//! Bodies of `/v1/ecn`: how frames are marked Congestion Experienced.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::words::MarkMoment;

/// One way to mark, and whose it is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct EcnProfile {
    /// The name of its `[[ecn]]`; `null` for a class that has thresholds of its own in the file.
    pub profile: Option<String>,
    /// No frame is marked while its queue has this much or less.
    pub kmin_bytes: u64,
    /// All frames are from this much on.
    pub kmax_bytes: u64,
    /// The probability just below `kmax_bytes`, in millionths.
    pub pmax_parts_per_million: u32,
    /// Which backlog counts, or that none does.
    pub mark_at: MarkMoment,
    /// The classes that mark so; none has a profile that the file only keeps.
    pub classes: Vec<String>,
    /// Frames of the priorities of these classes that were marked, at all ports.
    pub marked_frames_total: u64,
}

/// `PUT /v1/ecn/{profile}`: what is left out stays as it is. It holds until the file has other values, or the daemon stops.
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
