//! `GET /v1/mirrors`.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A mirror, and its counters.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct MirrorState {
    /// Its name.
    pub name: String,
    /// The port that sends the copies.
    pub output_port: String,
    /// The priority of the copies.
    pub priority: u8,
    /// True if all received frames are copied.
    pub select_all: bool,
    /// Frames received on these ports are copied.
    pub select_src_port: Vec<String>,
    /// Frames sent by these ports are copied.
    pub select_dst_port: Vec<String>,
    /// Copies only frames of these VLANs, as ranges such as `10` and `20-29`, with 0 for untagged ones without a VLAN;
    /// empty for all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub select_vlan: Vec<String>,
    /// Maximum number of bytes copied of a frame; `null` for all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub snaplen: Option<u64>,
    /// Copies given to the output port, since the start or since the mirror has its name.
    pub sent_frames_total: u64,
    /// Copies for which there was no room.
    pub lost_frames_total: u64,
}
