//! `/v1/recordings`: queues, pauses and drops, up to a thousand times a second.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::words::Reason;

/// Media type of the answer: one [`RecordLine`] per line.
pub const RECORD_TYPE: &str = "application/x-ndjson";

/// Path of recordings.
pub const RECORDINGS: &str = "/v1/recordings";

/// Body of `POST /v1/recordings`; the answer has a line for each reading, and ends with the recording.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct RecordRequest {
    /// Interval between two readings, 0.001 to 1.
    pub every_seconds: f64,
    /// The recording ends after this long, at most 3600.
    pub duration_seconds: f64,
}

/// A reading. The first line has all ports and priorities; later ones only those that differ from the previous line.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct RecordLine {
    /// Time on the machine's monotonic clock.
    pub monotonic_nanos: u64,
    /// Missed readings so far: the dataplane thread was late, or the client slow. Totals remain correct.
    pub lost_total: u64,
    /// By port and priority.
    pub queues: Vec<RecordQueue>,
    /// By port.
    pub drops: Vec<RecordDrops>,
}

/// One (port, priority) in a [`RecordLine`].
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct RecordQueue {
    /// The port.
    pub port: String,
    /// The priority.
    pub priority: u8,
    /// Charge of the ingress buffer.
    pub ingress_bytes: u64,
    /// Bytes waiting to leave by the port.
    pub egress_bytes: u64,
    /// Pauses by the neighbour; absent if unchanged since the previous line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub received: Option<RecordPauses>,
    /// Pauses of the neighbour; absent if unchanged since the previous line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sent: Option<RecordPauses>,
    /// Credits; absent in a class without.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub credits: Option<RecordCredits>,
}

/// Credits of one (port, priority).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct RecordCredits {
    /// Those of the neighbor that are consumed and not freed.
    pub used: u32,
    /// Maximum number of the neighbor's credits; 0 until it reports it.
    pub limit: u32,
    /// Those given to the neighbor whose frames have not arrived.
    pub outstanding: u32,
}

/// Pauses of one (port, priority) in one direction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct RecordPauses {
    /// Pauses begun since the start.
    pub transitions_total: u64,
    /// True during a pause.
    pub paused: bool,
    /// Start of the last pause, on the machine's monotonic clock.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_began_monotonic_nanos: Option<u64>,
    /// End of the last completed pause.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_ended_monotonic_nanos: Option<u64>,
    /// Their total time since the start, including a present pause.
    pub paused_nanos_total: u64,
}

/// Frames from one port that the switch core dropped since the start.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct RecordDrops {
    /// The port.
    pub port: String,
    /// By reason; reasons without drops are omitted.
    pub frames_total: BTreeMap<Reason, u64>,
}
