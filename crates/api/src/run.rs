//! The result of one experiment, in the same form from the lab and from the simulator.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::words::{DeadlockPolicy, EventKind, Mode, RunBy};

/// Present value of [`RunResult::format`].
pub const RUN_FORMAT: u32 = 1;

/// Result of running one scenario once.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunResult {
    /// [`RUN_FORMAT`].
    pub format: u32,
    /// The scenario's name.
    pub scenario: String,
    /// Program that ran it.
    pub runner: RunBy,
    /// Reaction to deadlocks.
    pub policy: DeadlockPolicy,
    /// Mode of the class that the flows use.
    pub mode: Mode,
    /// Seed of the run.
    pub seed: u64,
    /// Duration of the offered traffic.
    pub duration_seconds: f64,
    /// The verdict on the network: no loop flow made progress in the last third of the run while frames were held.
    /// Computed from the counts of hosts and switches, not from the detector.
    pub deadlocked: bool,
    /// Peak number of (switch, egress, priority) triples suspected at the same time.
    pub suspected_peak: usize,
    /// Time from the last frame delivered before the standstill by any flow through the later loop to the moment when
    /// the last port of the loop became suspected. Absent if nothing was suspected.
    pub detect_seconds: Option<f64>,
    /// Time from that moment to the first release. Absent if nothing was released.
    pub first_release_seconds: Option<f64>,
    /// Time from the moment when the last port became suspected to the end of the first interval of the series in which
    /// a flow between switches arrived again. Absent if nothing was suspected, or nothing arrived again.
    #[serde(default)]
    pub recover_seconds: Option<f64>,
    /// Releases started, by all switches.
    pub releases: u64,
    /// Switches that were elected to break a loop, in the order of their first election.
    #[serde(default)]
    pub masters: Vec<String>,
    /// Flows moved to another port, by all switches.
    #[serde(default)]
    pub flows_moved: u64,
    /// PFC frames (including Transmit Feedback) and CLCM sent by the switches.
    #[serde(default)]
    pub control_frames: u64,
    /// Work of a simulated run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub simulated: Option<Simulated>,
    /// All flows.
    pub flows: Vec<FlowResult>,
    /// Slowdown compared with an empty network, by size, of the flows that have a size and have arrived completely.
    /// Empty bins are omitted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub slowdown: Vec<SlowdownBin>,
    /// All programs that ran on hosts with an ordinary kernel.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub applications: Vec<ApplicationResult>,
    /// Figures of buffers and queues, by switch, port and priority; only those that ever held a frame.
    #[serde(default)]
    pub buffers: Vec<BufferResult>,
    /// Frames dropped by switches and by the kernel below them, by reason; only reasons with drops.
    pub drops: BTreeMap<String, u64>,
    /// Events of all switches in time order.
    pub events: Vec<RunEvent>,
    /// Curves over time.
    pub series: Series,
    /// The scenario's expectations, and their results.
    pub expectations: Vec<Expectation>,
}

/// Work of a simulated run, on any number of threads. Per second of processor time it is the simulator's speed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Simulated {
    /// Hosts' frames times lines crossed, including answers such as acknowledgements.
    pub frame_hops: u64,
    /// Events handled.
    pub events: u64,
}

/// One flow of a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FlowResult {
    /// The flow's name.
    pub name: String,
    /// Frames that the sender handed to its transmitter.
    pub sent: u64,
    /// Frames that arrived complete.
    pub received: u64,
    /// Frames still in the network at the end.
    pub in_flight: u64,
    /// Frames neither received nor in flight.
    pub lost: u64,
    /// Frames that arrived after one with a higher number.
    pub reordered: u64,
    /// Frames whose contents differed from the sender's.
    pub corrupted: u64,
    /// Frames that arrived more than once.
    pub duplicated: u64,
    /// Mean rate over the whole run, frame bytes without FCS.
    pub bits_per_second: f64,
    /// Mean rate over the last third of the run.
    pub bits_per_second_last_third: f64,
    /// Longest time without an arrival, from the first arrival (or the start) to the end of the run.
    pub longest_stall_seconds: f64,
    /// Amount of data of the flow, if it is limited.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size_bytes: Option<u64>,
    /// Flow completion time: from the flow's start to the arrival of the last byte of `size_bytes`. Absent for an
    /// unlimited flow, for one that has not arrived completely, and in the lab.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub completion_seconds: Option<f64>,
    /// The flow completion time on the same path in an empty network: every frame at the rate of the lines, or at the
    /// flow's own if that is lower. It includes store and forward at each switch and the lines' delays. Absent if
    /// `completion_seconds` is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ideal_seconds: Option<f64>,
    /// `completion_seconds` divided by `ideal_seconds`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slowdown: Option<f64>,
    /// Start of a flow with a size, since traffic began. Absent for one that waits for others and never began, and in
    /// the lab.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub began_seconds: Option<f64>,
}

/// Slowdown of flows of similar size. Percentiles are of the nearest rank.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SlowdownBin {
    /// Lower limit of the bin's flow sizes, exclusive, in bytes.
    pub above_bytes: u64,
    /// Upper limit, inclusive. Absent for the last bin.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to_bytes: Option<u64>,
    /// Number of flows.
    pub flows: u64,
    /// 50 % of them are no slower.
    pub p50: f64,
    /// 95 % are no slower.
    pub p95: f64,
    /// 99 % are no slower.
    pub p99: f64,
    /// The slowest.
    pub max: f64,
}

/// One program of a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ApplicationResult {
    /// Name of the application.
    pub name: String,
    /// The client's host.
    pub from: String,
    /// The server's host.
    pub to: String,
    /// Program and arguments.
    pub command: Vec<String>,
    /// Its exit status; `None` if a signal ended it, as at the end of the run, or if it could not be started.
    pub exit_status: Option<i32>,
    /// Its running time.
    pub seconds: f64,
    /// Its output, standard output followed by standard error; truncated if long.
    pub output: String,
    /// Bits per second received by the other side, for iperf3.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bits_per_second: Option<f64>,
    /// TCP segments retransmitted, for iperf3 over TCP.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retransmitted: Option<u64>,
}

/// One (switch, port, priority) of a run, as counted by the switch since its last start.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BufferResult {
    /// The switch.
    pub switch: String,
    /// The port, by its neighbour's name.
    pub port: String,
    /// The priority, 0 to 7.
    pub priority: u8,
    /// Peak charge of the port's ingress buffer, in whole cells.
    pub ingress_bytes_max: u64,
    /// Peak of the bytes waiting to leave by the port, in frame bytes.
    pub egress_bytes_max: u64,
    /// Number of times that the switch paused the neighbour with PFC: XON sent, and one more if it was still paused at
    /// the end.
    pub pauses: u64,
    /// XOFF sent, refreshes included.
    pub xoff_sent: u64,
    /// XOFF and XON sent to a host of the lab that were lost: a lost XON stops it until the pause's time is over.
    #[serde(default)]
    pub pauses_lost: u64,
    /// Total time for which the switch had paused the neighbour with PFC when traffic ended, counting each sent pause
    /// for its full time. In nanoseconds. Zero with Levels, and in the lab.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub pause_nanos: u64,
}

fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// One event of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunEvent {
    /// Since traffic began.
    pub seconds: f64,
    /// The switch.
    pub switch: String,
    /// The event's kind, as in the daemon's API.
    pub kind: EventKind,
    /// The port, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub port: Option<String>,
    /// The priority, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub priority: Option<u8>,
    /// Further fields.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub details: BTreeMap<String, String>,
}

/// Curves over time, all with one interval, from the moment traffic began.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Series {
    /// Interval between two values.
    pub interval_seconds: f64,
    /// By flow: bits per second received in the interval. With more than [`FLOW_CURVES_MAX`](Self::FLOW_CURVES_MAX)
    /// flows only sums: [`BETWEEN_SWITCHES`](Self::BETWEEN_SWITCHES) and [`AT_ONE_SWITCH`](Self::AT_ONE_SWITCH).
    pub throughput: BTreeMap<String, Vec<f64>>,
    /// By `switch:ingress-port:priority`: bytes charged to the ingress buffer. Empty for a network with more than
    /// [`BUFFER_CURVES_MAX`](Self::BUFFER_CURVES_MAX) buffers.
    pub occupancy: BTreeMap<String, Vec<u64>>,
}

impl Series {
    /// Maximum number of flows with a curve each: a thousand curves are some megabytes, and indistinguishable in a
    /// chart.
    pub const FLOW_CURVES_MAX: usize = 1000;
    /// Maximum number of lossless ingress buffers with a curve each: that many take a quarter of a gigabyte.
    pub const BUFFER_CURVES_MAX: usize = 16_384;
    /// The sum of all flows between hosts of different switches. No flow has a name with spaces.
    pub const BETWEEN_SWITCHES: &'static str = "between switches";
    /// The sum of all others.
    pub const AT_ONE_SWITCH: &'static str = "at one switch";
}

/// One expectation of the scenario.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Expectation {
    /// The expectation as displayed, such as `lost = 0`.
    pub what: String,
    /// True if it held.
    pub held: bool,
    /// The result for display.
    pub seen: String,
}
