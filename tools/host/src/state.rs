//! What is known of a device that obeys pauses, whoever obeys them: programs in the kernel, or `weir-host plug`.

use serde::{Deserialize, Serialize};

/// What has happened to one priority's pauses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// Pauses that began.
    pub pauses: u64,
    /// XOFFs during a pause.
    pub refreshes: u64,
    /// Pauses that an XON ended.
    pub resumes: u64,
    /// Pauses that ended by their time.
    pub expiries: u64,
    /// How long the pauses that have ended lasted together, in ns.
    pub paused_ns: u64,
    /// Pauses that were not obeyed, as `--obey` and `--ignore-pause` say.
    pub ignored: u64,
}

/// What is known of one priority.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PriorityState {
    /// How long its pause would still last: none while it is not paused.
    pub paused_for_ns: Option<u64>,
    /// Frames that wait; with segmentation offload each may be several on the wire.
    pub queued_frames: u64,
    /// Bytes that wait.
    pub queued_bytes: u64,
    /// The most that ever waited; none where nobody knows.
    pub peak_bytes: Option<u64>,
    /// Handed to the driver.
    pub sent_frames: u64,
    /// Handed to the driver.
    pub sent_bytes: u64,
    /// Dropped: the queue was as long as `--limit` allows.
    pub dropped_limit: u64,
    /// Dropped: the kernel had no memory for the queue.
    pub dropped_memory: u64,
    /// Refused while the queue drained at the end.
    pub dropped_draining: u64,
    /// Its pauses.
    #[serde(flatten)]
    pub counts: Counts,
}

impl PriorityState {
    /// Frames that were dropped, for whatever reason.
    pub fn dropped(&self) -> u64 {
        self.dropped_limit + self.dropped_memory + self.dropped_draining
    }
}

/// What is known of the device as a whole.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Totals {
    /// PFC frames that were received.
    pub pfc_frames: u64,
    /// 802.3x PAUSE frames that were received.
    pub pause_frames: u64,
    /// MAC control frames that are not obeyed: of another kind, too short, tagged, or to another address.
    pub bad_frames: u64,
    /// How often an XON released the queue.
    pub wakes: u64,
    /// Frames freed unsent, with the device going down.
    pub freed: u64,
    /// Times that a frame waited for `--max-rate`.
    #[serde(default)]
    pub rate_waits: u64,
}

/// The settings that matter later.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct InForce {
    /// The link's rate.
    pub rate_bits_per_second: u64,
    /// The rate that the device does not exceed; `None`: unbounded.
    #[serde(default)]
    pub max_rate_bits_per_second: Option<u64>,
    /// Where priorities are taken from.
    pub source: String,
    /// Priorities whose pauses are obeyed.
    pub obeyed: Vec<u8>,
    /// Whether 802.3x PAUSE is.
    pub obeys_global_pause: bool,
    /// The most that a queue holds.
    pub limit_bytes: u64,
    /// What each priority gets of the link.
    pub shares: Vec<u64>,
    #[serde(skip)]
    pub(crate) multicast_added: bool,
    #[serde(skip)]
    pub(crate) gso_segments_before: Option<u32>,
}
