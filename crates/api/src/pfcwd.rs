//! Bodies of `/v1/pfcwd`: the PFC storm watchdog. Times are in milliseconds, as in SONiC.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::words::{Action, QueueStatus};

/// `GET /v1/pfcwd`, and the answer to `PUT`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Pfcwd {
    /// The watchdog of each port.
    pub ports: Vec<PfcwdPort>,
    /// Each (port, priority) of a lossless class.
    pub queues: Vec<PfcwdQueue>,
}

/// The watchdog of one port.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct PfcwdPort {
    /// The port.
    pub port: String,
    /// Times and action; `null` if the port is not watched.
    pub watchdog: Option<PfcwdSettings>,
}

/// Times and action.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct PfcwdSettings {
    /// Action during a storm.
    pub action: Action,
    /// Time for which a neighbour must pause a queue, 100 to 5000.
    pub detection_milliseconds: u64,
    /// Time without a pause after which a storm ends, 100 to 60000.
    pub restoration_milliseconds: u64,
}

/// One queue: a (port, priority) of a lossless class.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct PfcwdQueue {
    /// The port.
    pub port: String,
    /// The priority, 0 to 7.
    pub priority: u8,
    /// Whether there is a storm.
    pub status: QueueStatus,
    /// The action of the present storm.
    pub action: Option<Action>,
    /// Number of storms.
    pub storms_detected_total: u64,
    /// Number of storms that have ended.
    pub storms_restored_total: u64,
    /// Frames sent while a storm's pause was ignored.
    pub forwarded_frames_total: u64,
    /// Copies of frames dropped because of a storm.
    pub dropped_frames_total: u64,
    /// Frames received on the port during storms; they are not dropped for that.
    #[serde(default)]
    pub received_frames_total: u64,
    /// `forwarded_frames_total` of the present or last storm.
    #[serde(default)]
    pub last_forwarded_frames: u64,
    /// `dropped_frames_total` of that storm.
    #[serde(default)]
    pub last_dropped_frames: u64,
    /// `received_frames_total` of that storm.
    #[serde(default)]
    pub last_received_frames: u64,
}

/// `PUT /v1/pfcwd`: sets the watchdog of ports until the daemon ends.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct PfcwdChange {
    /// The ports; empty for all.
    #[serde(default)]
    pub ports: Vec<String>,
    /// Times and action; `null` turns the watchdog off.
    pub watchdog: Option<PfcwdSettings>,
}
