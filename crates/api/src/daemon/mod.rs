//! Bodies of the daemon's HTTP API.
//!
//! [`ROUTES`](crate::routes::ROUTES) lists the requests and their answers. Errors have a 4xx or 5xx status and an
//! [`Error`].

mod buffers;
mod credits;
mod ecn;
mod exports;
mod flight;
mod flows;
pub mod health;
mod impair;
mod levels;
mod mirrors;
mod pauses;
mod restart;
mod routes;
pub mod trace;
mod vlans;
mod watermarks;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::counters::{DeviceLosses, KernelLosses};
use crate::words::{
    DaemonState, DeadlockPolicy, EventKind, ExpressState, Mode, Reason, Role, Suspicion, XdpMode,
};

pub use buffers::{Buffers, Cable, Pool, PooledBuffer};
pub use credits::{CreditMessages, Credits, ReceivingCredits, SendingCredits};
pub use ecn::{EcnChange, EcnProfile};
pub use exports::{Exports, Ipfix, Sflow};
pub use flight::{FlightLevels, FlightPort, FlightPortSample, FlightRecord, FlightSample, Master};
pub use flows::{Flow, Flows};
pub use health::{Health, HealthReason};
pub use impair::{
    Impair, ImpairRequest, Impairment, DELAY_SECONDS_MAX, DUTY_SECONDS_MIN, IMPAIRMENTS_MAX,
    IMPAIR_SECONDS_MAX,
};
pub use levels::{LevelDestination, LevelLink, Levels};
pub use mirrors::MirrorState;
pub use pauses::{PauseCounters, Pauses};
pub use restart::Restarting;
pub use routes::{
    Changed, Pin, Route, RouteDetail, RouteMember, Routes, SetRoute, Station, ToPort,
};
pub use vlans::{
    Fdb, FdbFlush, FdbPort, LearntAddress, LoopBlocked, PortVlans, VlanTraffic, Vlans,
};
pub use watermarks::{
    PoolWatermarks, QueueWatermarks, ReaderWatermarks, WatermarkClear, Watermarks,
};

/// A problem and its remedy.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Error {
    /// A sentence for people.
    pub error: String,
}

/// `GET /v1/status`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Status {
    /// The switch's name from its configuration.
    pub name: String,
    /// Version of the daemon.
    pub version: String,
    /// Process id of the daemon.
    pub pid: u32,
    /// Its state.
    pub state: DaemonState,
    /// Its health, updated every second; absent from older daemons.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub health: Option<Health>,
    /// Seconds since the daemon began to forward.
    pub uptime_seconds: f64,
    /// The keeper's restart that started this daemon.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub restart: Option<Restart>,
    /// Reaction to deadlocks.
    pub deadlock_policy: DeadlockPolicy,
    /// Number of ports.
    pub port_count: usize,
    /// Ports without a device (`device_gone`).
    #[serde(default)]
    pub ports_without_device: Vec<String>,
    /// Impairments in force: `switchctl impair`.
    #[serde(default)]
    pub impairment_count: usize,
    /// Number of (egress, priority) pairs suspected of a deadlock now.
    pub suspected_count: usize,
    /// Number of frames in the switch now.
    pub held_frames: u64,
    /// Frames admitted since the start.
    pub admitted_frames_total: u64,
    /// Frames handed to a transmitter since the start; a flooded frame counts once for each port.
    pub transmitted_frames_total: u64,
    /// Frames dropped since the start, by reason; reasons without drops are omitted.
    pub drops_total: BTreeMap<Reason, u64>,
    /// Frames that the kernel lost before the switch received them (`kernel_losses`, sum of all ports).
    pub kernel_losses_total: u64,
    /// Total number of UMEM frames.
    pub umem_frames: u64,
    /// Number of free UMEM frames.
    pub umem_frames_free: u64,
    /// Figures of the dataplane thread.
    pub dataplane: Dataplane,
    /// PFC frames sent, including those with Transmit Feedback.
    #[serde(default)]
    pub pfc_sent_total: u64,
    /// CLCM messages sent, loops found and releases ordered.
    pub clcm: Clcm,
}

/// A restart by the keeper.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Restart {
    /// Time for which neighbours were paused.
    pub held_seconds: f64,
    /// Frames in the previous daemon that could not leave in time.
    pub lost_frames: u64,
    /// Frames of any class that arrived at the ports while no daemon received them. Neighbours hold back those of
    /// lossless classes.
    #[serde(default)]
    pub missed_frames: u64,
    /// Reason why the next daemon failed to start, if this is the previous one, started again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failed: Option<String>,
}

/// Figures of the dataplane thread.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Dataplane {
    /// Rounds of the polling loop.
    pub rounds_total: u64,
    /// Rounds that found something to do.
    pub busy_rounds_total: u64,
    /// Times that the thread slept in poll(2).
    pub sleeps_total: u64,
    /// Longest time from the end of one round to the end of the next, excluding sleep.
    pub round_seconds_max: f64,
    /// Events lost because the queue to the control plane was full.
    pub events_lost_total: u64,
}

/// Counters of the Deadlock Breaker.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Clcm {
    /// CLCM frames sent, own and forwarded.
    pub sent_total: u64,
    /// CLCM frames received and understood.
    pub received_total: u64,
    /// Loops that this switch found.
    pub loops_found_total: u64,
    /// Releases that this switch ordered from its dataplane.
    pub releases_total: u64,
}

/// One port, `GET /v1/ports`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Port {
    /// Name from the configuration.
    pub name: String,
    /// Network device.
    pub device: String,
    /// Kind of device that it faces.
    pub role: Role,
    /// The port's own MAC address.
    pub address: String,
    /// Configured line rate.
    pub rate_bits_per_second: u64,
    /// True when the device is up and has carrier, and the link is not suppressed.
    pub link_up: bool,
    /// True while flap damping counts the link as down because it went down too often.
    #[serde(default)]
    pub link_suppressed: bool,
    /// True while the port has no device: it was deleted or moved to another network namespace, does not exist yet, or
    /// the port was removed. Frames for it are dropped as `port_down`.
    #[serde(default)]
    pub device_gone: bool,
    /// The reason, while it has no device.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device_gone_reason: Option<String>,
    /// Attachment of its XDP program.
    pub xdp_mode: XdpMode,
    /// True when the driver shares memory with the socket.
    pub zero_copy: bool,
    /// State of the express path from this port, with the reason if frames do not take it.
    #[serde(default)]
    pub express: ExpressState,
    /// Frames from this port that took it; included in the admitted ones.
    #[serde(default)]
    pub express_rx_frames_total: u64,
    /// Frames that left by this port on it; included in the sent ones.
    #[serde(default)]
    pub express_tx_frames_total: u64,
    /// Frames admitted.
    pub rx_frames_total: u64,
    /// Bytes admitted.
    pub rx_bytes_total: u64,
    /// Priorities of the admitted frames, since the start.
    #[serde(default)]
    pub rx_priorities: Vec<u8>,
    /// Frames sent.
    pub tx_frames_total: u64,
    /// Bytes sent.
    pub tx_bytes_total: u64,
    /// Frames from this port that were dropped, by reason; reasons without drops are omitted.
    pub drops_total: BTreeMap<Reason, u64>,
    /// Frames that the kernel lost at this port.
    pub kernel_losses: KernelLosses,
    /// The device is known to count frames that AF_XDP sends: those that it does not count are `tx_missing` in `kernel_losses`.
    #[serde(default)]
    pub compares_sent: bool,
    /// Frames that the device lost before that, by its own counters.
    #[serde(default)]
    pub device_losses: DeviceLosses,
    /// Frames that the kernel's network stack dropped at the device since the start, by its `enum skb_drop_reason` in lower
    /// case, such as `netfilter_drop`. Linux 5.17 or newer.
    #[serde(default)]
    pub stack_drops_total: BTreeMap<String, u64>,
    /// Frames seen by the XDP program, by class: `data`, `mac_control`, `lldp`, `clcm`.
    pub xdp_frames_total: BTreeMap<String, u64>,
    /// Their verdicts: `redirected` to the switch, `express` to their egress, `passed` to the kernel, and drops:
    /// `dropped` (a queue without a socket), `too_short`, `no_meta` (no room for metadata), `cut` (part of a frame that
    /// the driver has split), `no_slot` (all slots of the RX ring that are not reserved for credits were in use).
    #[serde(default)]
    pub xdp_verdicts_total: BTreeMap<String, u64>,
    /// CLCM frames sent.
    pub clcm_sent_total: u64,
    /// CLCM frames received and understood.
    pub clcm_received_total: u64,
    /// Consequences of the cable's length; absent if none is configured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cable: Option<Cable>,
    /// VLANs in which it neither floods nor learns because of a loop; absent if there are none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub loop_blocked: Option<LoopBlocked>,
}

/// `PUT /v1/ports/{port}`; the answer is the port's new state, or its state after some seconds if the change takes
/// longer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct PortChange {
    /// True if the port should take its device as soon as it exists, false to release it. Frames waiting for it are
    /// then dropped as `port_down`, and the device is free for other uses.
    pub device: bool,
}

impl Port {
    /// Frames dropped by the XDP program, by verdict; verdicts without frames are omitted.
    pub fn xdp_drops(&self) -> BTreeMap<String, u64> {
        let arrived = ["redirected", "passed", "express"];
        let verdicts = self.xdp_verdicts_total.iter();
        let drops =
            verdicts.filter(|(verdict, count)| **count > 0 && !arrived.contains(&verdict.as_str()));
        drops
            .map(|(verdict, count)| (verdict.clone(), *count))
            .collect()
    }
}

/// One (port, priority) as a queue, `GET /v1/queues`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Queue {
    /// The port.
    pub port: String,
    /// The priority, 0 to 7.
    pub priority: u8,
    /// The class's name from the configuration.
    pub class: String,
    /// The class's reaction to congestion.
    pub mode: Mode,
    /// Present charge of the ingress buffer of this port, in whole cells.
    pub ingress_bytes: u64,
    /// Peak of `ingress_bytes` since the start, or since the peaks of `persistent` were cleared.
    pub ingress_bytes_max: u64,
    /// Bytes waiting to leave by this port now.
    pub egress_bytes: u64,
    /// Peak of `egress_bytes` since then.
    pub egress_bytes_max: u64,
    /// Frames waiting to leave by this port now.
    pub egress_frames: u64,
    /// Frames admitted.
    pub rx_frames_total: u64,
    /// Frames sent.
    pub tx_frames_total: u64,
    /// Bytes admitted.
    pub rx_bytes_total: u64,
    /// Bytes sent.
    pub tx_bytes_total: u64,
}

/// One (port, priority) of a lossless class, `GET /v1/pfc`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Pfc {
    /// The port.
    pub port: String,
    /// The priority, 0 to 7.
    pub priority: u8,
    /// Ingress occupancy.
    pub ingress_bytes: u64,
    /// Present threshold for pausing the neighbour.
    pub xoff_bytes: u64,
    /// Present threshold for letting it resume.
    pub xon_bytes: u64,
    /// Room above xoff.
    pub headroom_bytes: u64,
    /// Peak of the used headroom since the start, or since the peaks of `persistent` were cleared.
    pub headroom_used_bytes_max: u64,
    /// Peak of the used headroom in the last complete interval of the reader `telemetry`; absent before the first one
    /// ends.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub telemetry_headroom_used_bytes_max: Option<u64>,
    /// True while we pause the neighbour.
    pub pausing: bool,
    /// True while the neighbour pauses us.
    pub paused: bool,
    /// XOFF sent, refreshes included.
    pub xoff_sent_total: u64,
    /// XON sent.
    pub xon_sent_total: u64,
    /// Pauses received for this priority (PFC and 802.3x).
    pub pause_received_total: u64,
    /// Resumes received for this priority.
    pub resume_received_total: u64,
    /// Total time for which the neighbour has paused us.
    pub paused_seconds_total: f64,
    /// True while this egress is suspected of a deadlock.
    pub suspected: bool,
    /// While a release is in force at this egress: the only ingress port that may send.
    pub release_ingress: Option<String>,
}

/// `GET /v1/deadlocks`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Deadlocks {
    /// Present suspicions.
    pub current: Vec<Deadlock>,
    /// Past suspicions, newest first, bounded.
    pub past: Vec<Deadlock>,
    /// Suspicions for which the flight recorder had no room since the daemon started: too many others were being
    /// recorded.
    #[serde(default)]
    pub unrecorded_total: u64,
}

/// One suspicion: an egress with frames to send and no throughput.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Deadlock {
    /// Number of the suspicion since the daemon started, from 1.
    pub id: u64,
    /// The egress port.
    pub port: String,
    /// The priority.
    pub priority: u8,
    /// Reason why nothing left.
    pub reason: Suspicion,
    /// Start, on the machine's monotonic clock.
    pub began_monotonic_nanos: u64,
    /// Time since the last departure, at its start.
    pub idle_seconds: f64,
    /// Bytes waiting there at its start.
    pub queued_bytes: u64,
    /// The identifier used for it in CLCM, hexadecimal.
    pub spuid: Option<String>,
    /// Loops found at this egress during it.
    pub loops_found: u64,
    /// Releases ordered at this egress during it.
    pub releases: u64,
    /// Time from its start to the first release at this egress.
    pub first_release_seconds: Option<f64>,
    /// Its duration; absent while it lasts.
    pub lasted_seconds: Option<f64>,
    /// The switch that led the reaction; absent if there was none, or it is unknown.
    #[serde(default)]
    pub master: Option<Master>,
    /// Reroutes done for it.
    #[serde(default)]
    pub reroutes: u64,
    /// Flows that moved from this egress to another.
    #[serde(default)]
    pub flows_moved: u64,
    /// Bytes that left by this egress under the rule of a release.
    #[serde(default)]
    pub released_bytes: u64,
    /// Bytes that a traffic release sent although the egress was paused.
    #[serde(default)]
    pub forced_bytes: u64,
    /// True when the flight recorder has a record: `GET /v1/deadlocks/ID`.
    #[serde(default)]
    pub recorded: bool,
}

/// `GET /v1/events`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct EventPage {
    /// Oldest first.
    pub events: Vec<Event>,
    /// Value of `after` for the next request.
    pub next: u64,
    /// Events after the requested sequence that are no longer in the bounded log.
    pub missed: u64,
}

/// One event.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Event {
    /// Number since the daemon started, from 1.
    pub sequence: u64,
    /// Time on the machine's monotonic clock.
    pub monotonic_nanos: u64,
    /// Time by the machine's wall clock, RFC 3339 in UTC.
    pub time: String,
    /// Kind of event.
    pub kind: EventKind,
    /// The port concerned, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub port: Option<String>,
    /// The priority concerned, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub priority: Option<u8>,
    /// Further fields by name, as text with units.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub details: BTreeMap<String, String>,
}

/// `GET /v1/history`: samples at the configured interval, bounded.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct History {
    /// Interval between samples.
    pub interval_seconds: f64,
    /// Oldest first.
    pub samples: Vec<Sample>,
    /// Value of `after` for the next request.
    pub next: u64,
}

/// One sample of the whole switch.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Sample {
    /// Number since the daemon started, from 1.
    pub sequence: u64,
    /// Time at which the dataplane took it.
    pub monotonic_nanos: u64,
    /// Frames in the switch.
    pub held_frames: u64,
    /// All lossless (port, priority) pairs.
    pub queues: Vec<QueueSample>,
    /// All ports.
    #[serde(default)]
    pub ports: Vec<PortSample>,
}

/// One port in a [`Sample`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct PortSample {
    /// The port.
    pub port: String,
    /// Bytes admitted so far, of all priorities.
    pub rx_bytes_total: u64,
    /// Bytes sent so far, of all priorities.
    pub tx_bytes_total: u64,
}

/// One lossless (port, priority) in a [`Sample`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct QueueSample {
    /// The port.
    pub port: String,
    /// The priority.
    pub priority: u8,
    /// Charge of the ingress buffer of this port.
    pub ingress_bytes: u64,
    /// Bytes waiting to leave by this port.
    pub egress_bytes: u64,
    /// Bytes sent so far.
    pub tx_bytes_total: u64,
    /// True while the neighbour pauses us.
    pub paused: bool,
    /// True while suspected.
    pub suspected: bool,
}
