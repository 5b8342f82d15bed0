//! `GET /v1/mirrors`.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A mirror, and what it has copied.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct MirrorState {
    /// Its name.
    pub name: String,
    /// The port that copies go to.
    pub output_port: String,
    /// The priority of the copies.
    pub priority: u8,
    /// Whether all that comes in is copied.
    pub select_all: bool,
    /// What comes in by these ports is copied.
    pub select_src_port: Vec<String>,
    /// What leaves by these ports is copied.
    pub select_dst_port: Vec<String>,
    /// Of that only frames of these VLANs are copied, as ranges such as `10` and `20-29`, 0 for those in none; empty for all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub select_vlan: Vec<String>,
    /// Bytes of a frame that are copied at most; `null` for all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub snaplen: Option<u64>,
    /// Copies that were given to the output port, since the start or since the mirror has its name.
    pub sent_frames_total: u64,
    /// Copies for which there was no room.
    pub lost_frames_total: u64,
}
