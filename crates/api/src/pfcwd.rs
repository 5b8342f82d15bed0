//! Bodies of `/v1/pfcwd`: the PFC storm watchdog. Times are in milliseconds, as SONiC has them.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::words::{Action, QueueStatus};

/// `GET /v1/pfcwd`, and what `PUT` answers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Pfcwd {
    /// How each port is watched.
    pub ports: Vec<PfcwdPort>,
    /// Each (port, priority) of a lossless class.
    pub queues: Vec<PfcwdQueue>,
}

/// How one port is watched.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct PfcwdPort {
    /// The port.
    pub port: String,
    /// Times and action; `null` where the port is not watched.
    pub watchdog: Option<PfcwdSettings>,
}

/// Times and action.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct PfcwdSettings {
    /// What is done while a storm lasts.
    pub action: Action,
    /// How long a neighbour must hold a queue, 100 to 5000.
    pub detection_milliseconds: u64,
    /// How long no pause must come in until a storm is over, 100 to 60000.
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
    /// The action of the storm that lasts.
    pub action: Option<Action>,
    /// Storms so far.
    pub storms_detected_total: u64,
    /// Storms that are over.
    pub storms_restored_total: u64,
    /// Frames that left while a storm's pause was ignored.
    pub forwarded_frames_total: u64,
    /// Copies of frames that were dropped because of a storm.
    pub dropped_frames_total: u64,
    /// Frames that came in by the port during storms; they are not dropped for that.
    #[serde(default)]
    pub received_frames_total: u64,
    /// `forwarded_frames_total` of the storm that lasts, or the last one.
    #[serde(default)]
    pub last_forwarded_frames: u64,
    /// `dropped_frames_total` of that storm.
    #[serde(default)]
    pub last_dropped_frames: u64,
    /// `received_frames_total` of that storm.
    #[serde(default)]
    pub last_received_frames: u64,
}

/// `PUT /v1/pfcwd`: has ports watched in this way from now on, until the daemon ends.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct PfcwdChange {
    /// Which ports; none for all.
    #[serde(default)]
    pub ports: Vec<String>,
    /// Times and action; `null` stops the watch.
    pub watchdog: Option<PfcwdSettings>,
}
