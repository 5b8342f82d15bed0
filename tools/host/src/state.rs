//! State of a device that obeys pauses, whether by programs in the kernel or by `weir-host plug`.

use serde::{Deserialize, Serialize};

/// Pause counts of one priority.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// Pauses that began.
    pub pauses: u64,
    /// XOFFs during a pause.
    pub refreshes: u64,
    /// Pauses ended by an XON.
    pub resumes: u64,
    /// Pauses that expired.
    pub expiries: u64,
    /// Total duration of finished pauses, in ns.
    pub paused_ns: u64,
    /// Pauses ignored because of `--obey` and `--ignore-pause`.
    pub ignored: u64,
}

/// State of one priority.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PriorityState {
    /// Remaining time of its pause; `None` if it is not paused.
    pub paused_for_ns: Option<u64>,
    /// Frames waiting; with segmentation offload each may be several on the wire.
    pub queued_frames: u64,
    /// Bytes waiting.
    pub queued_bytes: u64,
    /// Maximum of waiting bytes; `None` if unknown.
    pub peak_bytes: Option<u64>,
    /// Frames passed to the driver.
    pub sent_frames: u64,
    /// Bytes passed to the driver.
    pub sent_bytes: u64,
    /// Frames dropped because the queue had the length of `--limit`.
    pub dropped_limit: u64,
    /// Frames dropped because the kernel had no memory for the queue.
    pub dropped_memory: u64,
    /// Frames refused during the final drain.
    pub dropped_draining: u64,
    /// Counts of its pauses.
    #[serde(flatten)]
    pub counts: Counts,
}

impl PriorityState {
    /// Returns the frames dropped for any reason.
    pub fn dropped(&self) -> u64 {
        self.dropped_limit + self.dropped_memory + self.dropped_draining
    }
}

/// State of the device as a whole.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Totals {
    /// PFC frames received.
    pub pfc_frames: u64,
    /// 802.3x PAUSE frames received.
    pub pause_frames: u64,
    /// MAC control frames that are not obeyed because of their kind, length, tag or address.
    pub bad_frames: u64,
    /// Number of times that an XON released the queue.
    pub wakes: u64,
    /// Frames freed unsent because the device went down.
    pub freed: u64,
    /// Number of times that a frame waited for `--max-rate`.
    #[serde(default)]
    pub rate_waits: u64,
}

/// The settings needed later.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct InForce {
    /// Rate of the link.
    pub rate_bits_per_second: u64,
    /// Rate limit of the device; `None` for no limit.
    #[serde(default)]
    pub max_rate_bits_per_second: Option<u64>,
    /// Source of priorities.
    pub source: String,
    /// Priorities whose pauses are obeyed.
    pub obeyed: Vec<u8>,
    /// True if 802.3x PAUSE is obeyed.
    pub obeys_global_pause: bool,
    /// Maximum size of a queue.
    pub limit_bytes: u64,
    /// Each priority's share of the link.
    pub shares: Vec<u64>,
    #[serde(skip)]
    pub(crate) multicast_added: bool,
    #[serde(skip)]
    pub(crate) gso_segments_before: Option<u32>,
}
