//! `GET /v1/flows`: recent flows between ports.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// `GET /v1/flows`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Flows {
    /// Flows with an admitted frame within the configured age, in no particular order.
    pub flows: Vec<Flow>,
    /// Number of further recent flows.
    pub left_out: u64,
    /// Recent flows forgotten since the start because heavier ones needed their place.
    pub evictions_total: u64,
}

/// One recent flow on one path: a moved flow is listed twice for a while.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Flow {
    /// Its ingress port.
    pub ingress: String,
    /// Its last egress port.
    pub egress: String,
    /// The priority, 0 to 7.
    pub priority: u8,
    /// Destination MAC address.
    pub destination: String,
    /// Flow hash, in eight hexadecimal digits.
    pub flow_hash: String,
    /// Bytes admitted since it was first seen.
    pub bytes: u64,
    /// Frames admitted since it was first seen.
    pub frames: u64,
    /// Time since its first frame.
    pub age_seconds: f64,
    /// Time since its last frame.
    pub idle_seconds: f64,
    /// `bytes` divided by the time since the first frame.
    pub bits_per_second: f64,
}
