//! `GET /v1/flows`: which flows went from which port to which of late.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// `GET /v1/flows`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Flows {
    /// Flows of which a frame was admitted within the age that the configuration says, in no particular
    /// order.
    pub flows: Vec<Flow>,
    /// Recent flows beyond those.
    pub left_out: u64,
    /// Recent flows that were forgotten since the start because heavier ones needed their place.
    pub evictions_total: u64,
}

/// One recent flow by one way: one that was moved is there twice for a while.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Flow {
    /// The port that it comes in by.
    pub ingress: String,
    /// The port that it went by, last of all.
    pub egress: String,
    /// The priority, 0 to 7.
    pub priority: u8,
    /// Where to: a MAC address.
    pub destination: String,
    /// Which flow, in eight hexadecimal digits.
    pub flow_hash: String,
    /// Admitted since it was first seen.
    pub bytes: u64,
    /// Admitted since it was first seen.
    pub frames: u64,
    /// Time since its first frame.
    pub age_seconds: f64,
    /// Time since its last frame.
    pub idle_seconds: f64,
    /// `bytes` by the time between the first frame and now.
    pub bits_per_second: f64,
}
