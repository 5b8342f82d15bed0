//! The result of one experiment, the same from the lab and from the simulator.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::words::{DeadlockPolicy, EventKind, Mode, RunBy};

/// The version that [`RunResult::format`] carries.
pub const RUN_FORMAT: u32 = 1;

/// Result of running one scenario once.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunResult {
    /// [`RUN_FORMAT`].
    pub format: u32,
    /// The scenario's name.
    pub scenario: String,
    /// Who ran it.
    pub runner: RunBy,
    /// What was done about deadlocks.
    pub policy: DeadlockPolicy,
    /// Mode of the class that the flows use.
    pub mode: Mode,
    /// Seed of the run.
    pub seed: u64,
    /// For how long traffic was offered.
    pub duration_seconds: f64,
    /// The verdict on the network: no loop flow made progress in the last third of the run while
    /// frames were held. Computed from what hosts and switches counted, not from the detector.
    pub deadlocked: bool,
    /// The most (switch, egress, priority) triples that were suspected at one time.
    pub suspected_peak: usize,
    /// From the last frame that any flow through the later loop delivered before the standstill to the moment when the last
    /// port of the loop became suspected. Absent when nothing was suspected.
    pub detect_seconds: Option<f64>,
    /// From that moment to the first release. Absent when nothing was released.
    pub first_release_seconds: Option<f64>,
    /// From the moment when the last port became suspected to the end of the first interval of the series in which a
    /// flow between switches arrived again. Absent when nothing was suspected, or nothing ever arrived again.
    #[serde(default)]
    pub recover_seconds: Option<f64>,
    /// Releases started, all switches.
    pub releases: u64,
    /// Switches that were elected to break a loop, in the order of their first election.
    #[serde(default)]
    pub masters: Vec<String>,
    /// Flows that were moved to another port, all switches.
    #[serde(default)]
    pub flows_moved: u64,
    /// PFC frames, Transmit Feedback in them included, and CLCM that the switches sent.
    #[serde(default)]
    pub control_frames: u64,
    /// Each flow.
    pub flows: Vec<FlowResult>,
    /// Of the flows that have a size and of which everything arrived: how much longer they took than in an empty network, by
    /// size. Bins of no flow are left out.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub slowdown: Vec<SlowdownBin>,
    /// Each program that ran on a host with an ordinary kernel.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub applications: Vec<ApplicationResult>,
    /// What buffers and queues came to, by switch, port and priority; only those that ever held a frame.
    #[serde(default)]
    pub buffers: Vec<BufferResult>,
    /// Frames dropped by switches and by the kernel under them, by reason; only what happened.
    pub drops: BTreeMap<String, u64>,
    /// Events of all switches in time order.
    pub events: Vec<RunEvent>,
    /// Curves over time.
    pub series: Series,
    /// What the scenario expected and whether it held.
    pub expectations: Vec<Expectation>,
}

/// One flow of a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FlowResult {
    /// The flow's name.
    pub name: String,
    /// Frames that the sender handed to its transmitter.
    pub sent: u64,
    /// Frames that arrived whole.
    pub received: u64,
    /// Frames still inside the network at the end.
    pub in_flight: u64,
    /// Frames neither received nor in flight.
    pub lost: u64,
    /// Frames that arrived after one with a higher number.
    pub reordered: u64,
    /// Frames whose content was not what the sender wrote.
    pub corrupted: u64,
    /// Frames that arrived more than once.
    pub duplicated: u64,
    /// Mean rate over the whole run, frame bytes without FCS.
    pub bits_per_second: f64,
    /// Mean rate over the last third of the run.
    pub bits_per_second_last_third: f64,
    /// Longest time without an arrival, from the first arrival (or the start) to the end of the run.
    pub longest_stall_seconds: f64,
    /// How much the flow has to send, of a flow that has an end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size_bytes: Option<u64>,
    /// Flow completion time: from the flow's start to the arrival of the last byte of `size_bytes`. Absent of a flow without an
    /// end, of one of which not everything arrived, and in the lab.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub completion_seconds: Option<f64>,
    /// The flow completion time on the same path in an empty network: every frame at the rate of the lines, or at the flow's own
    /// if that is lower, with store and forward at each switch and the lines' delays. Absent where `completion_seconds` is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ideal_seconds: Option<f64>,
    /// The quotient of the two.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slowdown: Option<f64>,
    /// When a flow with a size began, since traffic began. Absent of one that waits for others and never did, and in the lab.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub began_seconds: Option<f64>,
}

/// Slowdown of flows of similar size. Percentiles are of the nearest rank.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SlowdownBin {
    /// Flows of this bin are larger. In bytes.
    pub above_bytes: u64,
    /// And no larger than this. Absent of the last bin.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to_bytes: Option<u64>,
    /// Flows.
    pub flows: u64,
    /// Half of them are no slower.
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
    /// The application's name.
    pub name: String,
    /// The host that it ran on.
    pub from: String,
    /// The host that it talked to.
    pub to: String,
    /// Program and arguments.
    pub command: Vec<String>,
    /// Its exit status; `None` when a signal ended it, as at the end of the run, or when it could not be started.
    pub exit_status: Option<i32>,
    /// For how long it ran.
    pub seconds: f64,
    /// What it printed, standard output and then standard error; of a long text the beginning.
    pub output: String,
    /// Bits a second that arrived at the other side, where it was iperf3.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bits_per_second: Option<f64>,
    /// TCP segments that were sent again, where it was iperf3 over TCP.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retransmitted: Option<u64>,
}

/// One (switch, port, priority) of a run, as the switch itself counted it since it was started last.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BufferResult {
    /// The switch.
    pub switch: String,
    /// The port, by its neighbour's name.
    pub port: String,
    /// The priority, 0 to 7.
    pub priority: u8,
    /// The most that was charged to the port's ingress buffer, in whole cells.
    pub ingress_bytes_max: u64,
    /// The most that waited to leave by the port, in frame bytes.
    pub egress_bytes_max: u64,
    /// How often the switch paused the neighbour with PFC: XON that it sent, and one more if it still paused it at the end.
    pub pauses: u64,
    /// XOFF sent, refreshes included.
    pub xoff_sent: u64,
    /// XOFF and XON that were sent to a host of the lab and that it did not get: a lost XON holds it until the pause's time is over.
    #[serde(default)]
    pub pauses_lost: u64,
    /// For how long the switch had held the neighbour with PFC altogether when traffic ended, as far as it was told: each pause
    /// for as long as it says. In nanoseconds. Zero where Levels are, and in the lab.
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
    /// The port, if one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub port: Option<String>,
    /// The priority, if one.
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
    /// By flow: bits per second received in the interval. Of more than [`FLOW_CURVES_MAX`](Self::FLOW_CURVES_MAX) flows sums
    /// alone: [`BETWEEN_SWITCHES`](Self::BETWEEN_SWITCHES) and [`AT_ONE_SWITCH`](Self::AT_ONE_SWITCH).
    pub throughput: BTreeMap<String, Vec<f64>>,
    /// By `switch:ingress-port:priority`: bytes charged to the ingress buffer. None of a network with more than
    /// [`BUFFER_CURVES_MAX`](Self::BUFFER_CURVES_MAX) buffers.
    pub occupancy: BTreeMap<String, Vec<u64>>,
}

impl Series {
    /// Flows of a run at most that have a curve each: a thousand curves are some megabytes, and nobody can tell them apart.
    pub const FLOW_CURVES_MAX: usize = 1000;
    /// Lossless ingress buffers of a network at most that have a curve each: so many of them take a quarter of a gigabyte.
    pub const BUFFER_CURVES_MAX: usize = 16_384;
    /// The sum of all flows between hosts of different switches. No flow has a name with spaces.
    pub const BETWEEN_SWITCHES: &'static str = "between switches";
    /// The sum of all others.
    pub const AT_ONE_SWITCH: &'static str = "at one switch";
}

/// One expectation of the scenario.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Expectation {
    /// For people: `lost = 0`.
    pub what: String,
    /// Whether it held.
    pub held: bool,
    /// What was seen, for people.
    pub seen: String,
}
