//! `POST /v1/trace`: what would become of a frame, and why.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::words::{Mode, PriorityFrom, Reason, TracedKind, WayFound};

/// The longest frame that is taken, in bytes.
pub const FRAME_LENGTH_MAX: usize = 16 * 1024;

/// A frame that has not been sent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct TraceRequest {
    /// The port that it would come in by.
    pub port: String,
    /// Its bytes in hexadecimal, from the destination address on, without FCS.
    pub frame: String,
    /// Its length in bytes, where that is more than the bytes that are given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub length: Option<u64>,
}

/// What would become of a frame that came in now. Nothing is sent, counted or learnt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Trace {
    /// The port that it would come in by.
    pub port: String,
    /// What the port reads from it.
    pub frame: TracedFrame,
    /// Its class; `None` for a frame to the switch itself.
    pub class: Option<TracedClass>,
    /// How its way out is found.
    pub way: Option<WayFound>,
    /// Which of its destination's buckets, where they decide.
    pub bucket: Option<u16>,
    /// What admitting it does; `None` where it is dropped, or is for the switch itself.
    pub admission: Option<TracedAdmission>,
    /// Where copies of it would wait.
    pub queues: Vec<TracedQueue>,
    /// The VLAN that it is in, where ports have VLANs: 0 for none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vlan: Option<u16>,
    /// Why it would be dropped.
    pub dropped: Option<Reason>,
}

/// A frame as a port reads it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct TracedFrame {
    /// What it is.
    pub kind: TracedKind,
    /// Destination address.
    pub destination: String,
    /// Source address.
    pub source: String,
    /// VLAN ID of the outermost tag.
    pub vlan: Option<u16>,
    /// Its length, from the destination address to the last byte of payload.
    pub length_bytes: u64,
    /// What flows are told apart by.
    pub flow_hash: String,
    /// Its priority.
    pub priority: u8,
    /// What decided that.
    pub priority_from: PriorityFrom,
    /// The PCP or DSCP that did.
    pub code_point: Option<u8>,
}

/// The class of a frame.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct TracedClass {
    /// Its name.
    pub name: String,
    /// What it does when buffers fill.
    pub mode: Mode,
}

/// What admitting a frame does.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct TracedAdmission {
    /// What it is charged, in whole cells.
    pub charged_bytes: u64,
    /// What the ingress buffer holds then.
    pub ingress_bytes: u64,
    /// From how much on the neighbor is paused; 0 where it never is.
    pub xoff_bytes: u64,
    /// Whether this frame has it paused.
    pub pauses: bool,
    /// The Level that it gets, in a class with Levels.
    pub level: Option<u8>,
}

/// Where a copy of a frame would wait.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct TracedQueue {
    /// The port that it would leave by.
    pub port: String,
    /// Frames of its priority that wait there.
    pub waiting_frames: u64,
    /// Their bytes.
    pub waiting_bytes: u64,
    /// Whether the neighbor pauses the priority now.
    pub paused: bool,
    /// The lowest Level that the neighbor's Feedback lets out, in a class with Levels.
    pub feedback: Option<u8>,
    /// Whether the queue is suspected of a deadlock.
    pub suspected: bool,
    /// Whether it would leave with a VLAN tag, where ports have VLANs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tagged: Option<bool>,
    /// Whether the frame could leave now but for those that wait.
    pub may_leave: bool,
}
