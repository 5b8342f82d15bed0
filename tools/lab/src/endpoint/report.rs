//! Results of one endpoint: the JSON report that it writes at its end, and the lines that it prints before.

use serde::{Deserialize, Serialize};

/// Version in [`EndpointReport::format`].
pub const REPORT_FORMAT: u32 = 1;

/// A line on the endpoint's standard output.
///
/// As JSON: `{"ready":true}`, `{"snapshot":{..}}`, `{"stopped":true}`, `{"error":"text"}`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OutputLine {
    /// Always `true`: the socket is bound and receives frames. Printed once, before traffic.
    Ready(bool),
    /// Always `true`: the answer to `stop-sending`; no further data frame is sent.
    Stopped(bool),
    /// The answer to `snapshot`.
    Snapshot(Snapshot),
    /// The answer to a command line that could not be executed.
    Error(String),
}

/// Counters during the run, small enough for frequent requests.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Snapshot {
    /// Time of the snapshot in nanoseconds since the start; 0 before it.
    pub nanos: u64,
    /// Sent flows, in the order of the configuration.
    pub sent: Vec<FlowCount>,
    /// Expected flows, in the order of the configuration. `frames` counts intact frames with new numbers.
    pub received: Vec<FlowCount>,
    /// Priorities paused at this time.
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
    /// Network device.
    pub device: String,
    /// Time of the report; 0 before the start.
    pub finished_nanos: u64,
    /// Length of one interval in every series, nanoseconds.
    pub sample_nanos: u64,
    /// Sent flows, in the order of the configuration.
    pub sent: Vec<SentFlow>,
    /// Expected flows, in the order of the configuration.
    pub received: Vec<ReceivedFlow>,
    /// MAC control frames received.
    pub control: ControlCounts,
    /// Time in nanoseconds for which each priority was paused by obeyed PFC or PAUSE.
    pub paused_nanos: [u64; 8],
    /// Frames that do not belong to the run: unknown content, another destination, or an unknown flow.
    pub foreign: u64,
    /// Corrupted lab frames whose flow number is not expected.
    pub corrupted_unattributed: u64,
    /// LLDP and other frames to link-local group addresses, except MAC control.
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
    /// Frames passed to the kernel, numbered from 0 to `frames - 1`.
    pub frames: u64,
    /// Length in bytes, without FCS.
    pub bytes: u64,
    /// Time of the first sent frame; absent if there was none.
    pub first_nanos: Option<u64>,
    /// Time of the last sent frame.
    pub last_nanos: Option<u64>,
    /// Time in nanoseconds for which its priority was paused while the flow was active.
    pub paused_nanos: u64,
    /// Bytes sent per interval, from the start to the end of the run.
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
    /// Intact frames with new numbers.
    pub frames: u64,
    /// Length in bytes, without FCS.
    pub bytes: u64,
    /// Highest number received; absent if there was none.
    pub highest_sequence: Option<u64>,
    /// Numbers up to the highest without an intact frame, including corrupted frames. Losses after the highest number are known
    /// only from the sender's count.
    pub missing: u64,
    /// Frames that arrived after one with a higher number.
    pub reordered: u64,
    /// Frames that arrived again.
    pub duplicated: u64,
    /// Frames too far behind the highest number to distinguish a late frame from a duplicate. Not counted in any other
    /// field.
    pub beyond_window: u64,
    /// Corrupted frames.
    pub corrupted: u64,
    /// Description of the first corruption.
    pub first_corruption: Option<String>,
    /// Frames received with ECN's Congestion Experienced.
    pub ce_marked: u64,
    /// Time of the first arrival; absent if there was none.
    pub first_nanos: Option<u64>,
    /// Time of the last arrival.
    pub last_nanos: Option<u64>,
    /// Longest time without an arrival: from the first arrival (or the flow's start if there was none) to the earlier of the
    /// flow's end and `finished_nanos`.
    pub longest_stall_nanos: u64,
    /// Mean rate over the whole run, bits per second over frame bytes.
    pub bits_per_second: f64,
    /// Mean rate over the last third of the run.
    pub bits_per_second_last_third: f64,
    /// From the sender's clock reading in the frame to the receiver's on arrival.
    pub latency: Option<Latency>,
    /// Bytes received per interval, from the start to the end of the run.
    pub series_bytes: Vec<u64>,
    /// Bytes received after the last interval.
    pub late_bytes: u64,
}

/// One-way delay of a flow's frames, from userspace to userspace.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Latency {
    /// Minimum in nanoseconds.
    pub min_nanos: u64,
    /// Mean in nanoseconds.
    pub mean_nanos: f64,
    /// Maximum in nanoseconds.
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
    /// Other or malformed MAC control frames.
    pub malformed: u64,
    /// MAC control frames sent by this endpoint on command.
    pub injected: u64,
}

/// Losses between the wire and this process.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct KernelLosses {
    /// `XDP_STATISTICS` `rx_dropped`: received frames for which there was no memory.
    pub rx_dropped: u64,
    /// Received frames dropped because the RX ring was full.
    pub rx_ring_full: u64,
    /// Number of times that the kernel found the fill ring empty.
    pub rx_fill_ring_empty: u64,
    /// Receive descriptors that the kernel refused.
    pub rx_invalid_descriptors: u64,
    /// Received frames that the XDP program did not redirect into the socket.
    pub xdp_not_redirected: u64,
    /// Transmit descriptors that the kernel refused.
    pub tx_invalid_descriptors: u64,
    /// Transmit calls for which the device reported a drop, one frame each.
    pub tx_device_drops: u64,
    /// The device's `drop` count of reception since the endpoint started (`/proc/net/dev`).
    pub device_rx_dropped: u64,
    /// The device's `drop` count of transmission since the endpoint started (`/proc/net/dev`).
    pub device_tx_dropped: u64,
    /// Frames passed to the kernel but not completed at the time of the report.
    pub tx_outstanding: u64,
}

impl KernelLosses {
    /// Returns the received frames lost at this endpoint's socket. An empty fill ring causes drops that `rx_dropped`
    /// includes, and `device_rx_dropped` includes most of them again.
    pub fn received_frames_lost(&self) -> u64 {
        self.rx_dropped + self.rx_ring_full + self.xdp_not_redirected
    }
}
