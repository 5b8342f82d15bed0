//! Observations of one endpoint: the JSON report that it writes when it finishes, and the lines
//! that it prints while it runs.

use serde::{Deserialize, Serialize};

/// The version that [`EndpointReport::format`] carries.
pub const REPORT_FORMAT: u32 = 1;

/// One line on the endpoint's standard output.
///
/// As JSON: `{"ready":true}`, `{"snapshot":{..}}`, `{"stopped":true}`, `{"error":"text"}`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OutputLine {
    /// Always `true`: the socket is bound and frames are received. Printed once, before traffic.
    Ready(bool),
    /// Always `true`: the answer to `stop-sending`. No further data frame leaves.
    Stopped(bool),
    /// The answer to `snapshot`.
    Snapshot(Snapshot),
    /// The answer to a command line that could not be carried out.
    Error(String),
}

/// Counters while the run goes on, small enough for frequent requests.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Snapshot {
    /// When this was taken, nanoseconds since the start; 0 before it.
    pub nanos: u64,
    /// Each flow that is sent, in the order of the configuration.
    pub sent: Vec<FlowCount>,
    /// Each flow that is expected, in the order of the configuration. `frames` counts whole frames
    /// with numbers not seen before.
    pub received: Vec<FlowCount>,
    /// Priorities that are paused at this moment and obey it.
    pub paused: Vec<u8>,
    /// PFC frames received.
    pub pfc_frames: u64,
    /// 802.3x PAUSE frames received.
    pub pause_frames: u64,
}

/// Frames and bytes of one flow so far.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FlowCount {
    /// The flow's number.
    pub id: u32,
    /// Its name.
    pub name: String,
    /// Frames.
    pub frames: u64,
    /// Bytes from destination address to the last payload byte.
    pub bytes: u64,
}

/// The final report of one endpoint. Times are nanoseconds since the start of traffic.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct EndpointReport {
    /// [`REPORT_FORMAT`].
    pub format: u32,
    /// The device.
    pub device: String,
    /// When the report was made; 0 before the start.
    pub finished_nanos: u64,
    /// Length of one interval in every series, nanoseconds.
    pub sample_nanos: u64,
    /// Each flow sent, in the order of the configuration.
    pub sent: Vec<SentFlow>,
    /// Each flow expected, in the order of the configuration.
    pub received: Vec<ReceivedFlow>,
    /// MAC control frames received.
    pub control: ControlCounts,
    /// For how long each priority was held by PFC or PAUSE that was obeyed, nanoseconds.
    pub paused_nanos: [u64; 8],
    /// Frames that are none of the run's: unknown content, another destination, an unknown flow.
    pub foreign: u64,
    /// Lab frames with broken content whose flow number is not one that is expected.
    pub corrupted_unattributed: u64,
    /// LLDP and other frames to the link-local group addresses that are not MAC control.
    pub link_local: u64,
    /// Frames and descriptors that the kernel lost.
    pub kernel: KernelLosses,
}

/// One flow at its sender.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SentFlow {
    /// The flow's number.
    pub id: u32,
    /// Its name.
    pub name: String,
    /// Frames handed to the kernel. Numbers run from 0 to `frames - 1`.
    pub frames: u64,
    /// Their bytes, without FCS.
    pub bytes: u64,
    /// When the first frame was sent. Absent: none was.
    pub first_nanos: Option<u64>,
    /// When the last frame was sent.
    pub last_nanos: Option<u64>,
    /// For how long its priority was paused while the flow was to send, nanoseconds.
    pub paused_nanos: u64,
    /// Bytes sent, by interval, from the start to the end of the run.
    pub series_bytes: Vec<u64>,
    /// Bytes sent after the last interval.
    pub late_bytes: u64,
}

/// One flow at its receiver.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ReceivedFlow {
    /// The flow's number.
    pub id: u32,
    /// Its name.
    pub name: String,
    /// Whole frames with numbers not seen before.
    pub frames: u64,
    /// Their bytes, without FCS.
    pub bytes: u64,
    /// Highest number seen. Absent: nothing arrived.
    pub highest_sequence: Option<u64>,
    /// Numbers up to the highest that were never seen whole (a corrupted frame is among them).
    /// Losses behind the highest are known only from the sender's count.
    pub missing: u64,
    /// Frames that arrived after one with a higher number.
    pub reordered: u64,
    /// Frames that arrived again.
    pub duplicated: u64,
    /// Frames too far behind the highest number to tell a late one from a duplicate. They count
    /// in no other field.
    pub beyond_window: u64,
    /// Frames whose content was not what the sender wrote.
    pub corrupted: u64,
    /// Fault of the first of them.
    pub first_corruption: Option<String>,
    /// Frames that arrived with ECN's Congestion Experienced.
    pub ce_marked: u64,
    /// When the first frame arrived. Absent: none did.
    pub first_nanos: Option<u64>,
    /// When the last frame arrived.
    pub last_nanos: Option<u64>,
    /// Longest time without an arrival: from the first arrival (or the flow's start if nothing
    /// came) to the flow's end or to `finished_nanos`, whichever is earlier.
    pub longest_stall_nanos: u64,
    /// Mean rate over the whole run, bits per second over frame bytes.
    pub bits_per_second: f64,
    /// Mean rate over the last third of the run.
    pub bits_per_second_last_third: f64,
    /// From the sender's clock reading in the frame to the receiver's on arrival.
    pub latency: Option<Latency>,
    /// Bytes received, by interval, from the start to the end of the run.
    pub series_bytes: Vec<u64>,
    /// Bytes received after the last interval.
    pub late_bytes: u64,
}

/// One-way delay of a flow's frames, from userspace to userspace.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Latency {
    /// Least, nanoseconds.
    pub min_nanos: u64,
    /// Mean, nanoseconds.
    pub mean_nanos: f64,
    /// Most, nanoseconds.
    pub max_nanos: u64,
}

/// MAC control frames received.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ControlCounts {
    /// PFC frames.
    pub pfc_frames: u64,
    /// 802.3x PAUSE frames.
    pub pause_frames: u64,
    /// By priority: enabled PFC entries with a time above zero (XOFF).
    pub xoff: [u64; 8],
    /// By priority: enabled PFC entries with a time of zero (XON).
    pub xon: [u64; 8],
    /// MAC control frames that are neither, or broken.
    pub malformed: u64,
    /// MAC control frames that this endpoint sent, on command.
    pub injected: u64,
}

/// Losses between the wire and this process.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct KernelLosses {
    /// `XDP_STATISTICS` `rx_dropped`: received frames for which no memory was there.
    pub rx_dropped: u64,
    /// Received frames dropped because the RX ring was full.
    pub rx_ring_full: u64,
    /// Number of times that the kernel found the fill ring empty.
    pub rx_fill_ring_empty: u64,
    /// Receive descriptors that the kernel refused.
    pub rx_invalid_descriptors: u64,
    /// Received frames that the program at XDP did not redirect into the socket.
    pub xdp_not_redirected: u64,
    /// Transmit descriptors that the kernel refused.
    pub tx_invalid_descriptors: u64,
    /// Transmit calls that the device answered with a drop: one frame each.
    pub tx_device_drops: u64,
    /// `drop` of the device on receipt since the endpoint started (`/proc/net/dev`).
    pub device_rx_dropped: u64,
    /// `drop` of the device on transmission since the endpoint started (`/proc/net/dev`).
    pub device_tx_dropped: u64,
    /// Frames that were handed to the kernel and not completed when the report was made.
    pub tx_outstanding: u64,
}

impl KernelLosses {
    /// Frames that this endpoint's socket lost on receipt. An empty fill ring is the reason of a
    /// drop that `rx_dropped` counts already, and `device_rx_dropped` counts most of them again.
    pub fn received_frames_lost(&self) -> u64 {
        self.rx_dropped + self.rx_ring_full + self.xdp_not_redirected
    }
}
