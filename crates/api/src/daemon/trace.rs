//! `POST /v1/trace`: the treatment that a frame would get, and the reasons.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::words::{Mode, PriorityFrom, Reason, TracedKind, WayFound};

/// Maximum length of a frame, in bytes.
pub const FRAME_LENGTH_MAX: usize = 16 * 1024;

/// A hypothetical frame.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct TraceRequest {
    /// Its ingress port.
    pub port: String,
    /// Its bytes in hexadecimal, from the destination address on, without FCS.
    pub frame: String,
    /// Its length in bytes, if more than the given bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub length: Option<u64>,
}

/// Treatment that a frame would get now. Nothing is sent, counted or learned.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Trace {
    /// Its ingress port.
    pub port: String,
    /// The frame as parsed by the port.
    pub frame: TracedFrame,
    /// Its class; `None` for a frame to the switch itself.
    pub class: Option<TracedClass>,
    /// The way in which its egress is found.
    pub way: Option<WayFound>,
    /// The bucket, if its destination has several members.
    pub bucket: Option<u16>,
    /// Effect of admitting it; `None` if it is dropped, or is for the switch itself.
    pub admission: Option<TracedAdmission>,
    /// Queues for its copies.
    pub queues: Vec<TracedQueue>,
    /// Its VLAN in a VLAN-aware switch: 0 for none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vlan: Option<u16>,
    /// The reason for dropping it.
    pub dropped: Option<Reason>,
}

/// A frame as parsed by a port.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct TracedFrame {
    /// Its kind.
    pub kind: TracedKind,
    /// Destination address.
    pub destination: String,
    /// Source address.
    pub source: String,
    /// VLAN ID of the outermost tag.
    pub vlan: Option<u16>,
    /// Its length, from the destination address to the last byte of payload.
    pub length_bytes: u64,
    /// Its flow hash.
    pub flow_hash: String,
    /// Its priority.
    pub priority: u8,
    /// Source of its priority.
    pub priority_from: PriorityFrom,
    /// The PCP or DSCP used for it.
    pub code_point: Option<u8>,
}

/// The class of a frame.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct TracedClass {
    /// Its name.
    pub name: String,
    /// Its reaction when buffers fill.
    pub mode: Mode,
}

/// Effect of admitting a frame.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct TracedAdmission {
    /// Its charge, in whole cells.
    pub charged_bytes: u64,
    /// Occupancy of the ingress buffer afterwards.
    pub ingress_bytes: u64,
    /// Occupancy from which the neighbour is paused; 0 if it never is.
    pub xoff_bytes: u64,
    /// True if this frame causes a pause.
    pub pauses: bool,
    /// Its Level, in a class with Levels.
    pub level: Option<u8>,
}

/// Queue for a copy of a frame.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct TracedQueue {
    /// The egress port.
    pub port: String,
    /// Frames of its priority waiting there.
    pub waiting_frames: u64,
    /// Their bytes.
    pub waiting_bytes: u64,
    /// True while the neighbour pauses the priority.
    pub paused: bool,
    /// The lowest Level that the neighbour's Feedback releases, in a class with Levels.
    pub feedback: Option<u8>,
    /// True if the queue is suspected of a deadlock.
    pub suspected: bool,
    /// True if it would leave tagged, in a VLAN-aware switch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tagged: Option<bool>,
    /// True if the frame could leave now, apart from waiting ones.
    pub may_leave: bool,
}
