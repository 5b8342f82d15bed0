//! Events from the dataplane to the control plane.

use crate::command::RerouteSelection;
use crate::config::StormAction;
use crate::sets::vlans::VlanId;
use crate::sets::PortSet;
use crate::units::{Bytes, Duration, Instant, MacAddress, PortId, Priority};
use crate::wire::clcm::Clcm;

crate::named! {
    /// Reason why an egress with waiting frames sends none.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
    pub enum SuspicionReason {
        /// The neighbour pauses this priority (PFC or 802.3x).
        Paused => "paused" (default),
        /// A release lets only frames of another ingress port leave.
        ReleaseRule => "release_rule",
        /// The neighbour's Transmit Feedback blocks every queued Level.
        NoEligibleLevel => "no_eligible_level",
        /// The neighbour has not given enough credits for another frame.
        NoCredits => "no_credits",
        /// The transmitter accepts nothing: its ring is stuck.
        TransmitterStuck => "transmitter_stuck",
    }
}

/// An event of the dataplane, with its time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Event {
    /// When.
    pub at: Instant,
    /// Contents.
    pub kind: EventKind,
}

/// The kinds of [`Event`].
#[derive(Clone, Copy, Debug, PartialEq)]
#[allow(clippy::large_enum_variant)] // events are few and live in one bounded queue
pub enum EventKind {
    /// `egress` has had frames of `priority` waiting and zero throughput for the detection time (CLCM paper, section
    /// 3.2.1).
    Suspected {
        /// The blocked port.
        egress: PortId,
        /// The blocked priority.
        priority: Priority,
        /// Reason why nothing leaves.
        reason: SuspicionReason,
        /// Bytes waiting there.
        queued: Bytes,
        /// Time since the last departure.
        idle: Duration,
        /// True if a recent flow there could leave by another member of its destination's group. If the recent-flow
        /// monitor is off: if a destination of a waiting frame has another member.
        alternatives: bool,
        /// Ingress ports of such flows.
        alternatives_from: PortSet,
    },
    /// A flow was moved to another member of its destination's group. Its later frames may overtake earlier ones.
    FlowMoved {
        /// Ingress port.
        ingress: PortId,
        /// Old egress port.
        from: PortId,
        /// New egress port.
        to: PortId,
        /// Priority of the flow.
        priority: Priority,
        /// Destination address.
        destination: MacAddress,
        /// Hash of the flow.
        flow_hash: u32,
    },
    /// A [`Command::Reroute`](crate::Command::Reroute) has finished.
    Rerouted {
        /// The selected flows.
        selection: RerouteSelection,
        /// The egress that they were to leave.
        egress: PortId,
        /// The priority.
        priority: Priority,
        /// Number of flows moved, including those that share a pin or bucket with a selected one.
        moved: u32,
        /// Number of selected flows that stay: no other member is suitable, or there is no room for a pin.
        stuck: u32,
    },
    /// `egress` sends again, or no frame waits there any longer.
    SuspicionEnded {
        /// The port.
        egress: PortId,
        /// The priority.
        priority: Priority,
        /// Duration of the suspicion.
        lasted: Duration,
    },
    /// A CLCM was received on a fabric port.
    ClcmReceived {
        /// Ingress port.
        ingress: PortId,
        /// The message.
        message: Clcm,
        /// Egress ports at which frames of the message's priority received on `ingress` wait now.
        toward: PortSet,
    },
    /// A release began: only frames from `ingress` leave by `egress`, and `ingress` has more buffer.
    ReleaseStarted {
        /// The loop's ingress port.
        ingress: PortId,
        /// The loop's egress port.
        egress: PortId,
        /// The loop's priority.
        priority: Priority,
    },
    /// A release ended: its time is over.
    ReleaseEnded {
        /// The loop's ingress port.
        ingress: PortId,
        /// The loop's egress port.
        egress: PortId,
        /// The loop's priority.
        priority: Priority,
        /// Bytes that left by `egress` under the rule.
        released: Bytes,
    },
    /// A [`Command::TrafficRelease`](crate::Command::TrafficRelease) has ended.
    TrafficReleaseEnded {
        /// The loop's ingress port.
        ingress: PortId,
        /// The loop's egress port.
        egress: PortId,
        /// The loop's priority.
        priority: Priority,
        /// Bytes sent although the port was paused.
        released: Bytes,
    },
    /// A destination reached Level D at a switch that is not its own: frames to it travel further than the D links for
    /// which the class is configured. Reported once for each entry of the Level Table.
    RouteTooLong {
        /// Ingress port of the frame.
        ingress: PortId,
        /// Priority of the frame.
        priority: Priority,
        /// Destination address.
        destination: MacAddress,
    },
    /// Flooded frames went round a loop: `port` stops flooding and learning.
    ForwardingLoop {
        /// The blocked port.
        port: PortId,
        /// The other port of the loop at this switch.
        other: PortId,
        /// The blocked VLAN; `None` for all, and in a switch that ignores tags.
        vlan: Option<VlanId>,
    },
    /// No probe returned for a while, or the link went down: the port floods again.
    ForwardingLoopEnded {
        /// The port.
        port: PortId,
        /// The VLAN in which it was blocked; `None` for all.
        vlan: Option<VlanId>,
    },
    /// Probes return on the port by which they left: there is a loop behind it, or a host returns them. The port stays
    /// in use. Reported once while it lasts.
    LoopBehind {
        /// The port.
        port: PortId,
        /// The VLAN; `None` in a switch that ignores tags.
        vlan: Option<VlanId>,
    },
    /// An address moves between two ports more often than a station would: there may be a loop of devices that let no
    /// probe through, or a station uses another's address. Reported once for a VLAN while it lasts.
    AddressMoves {
        /// The address.
        address: MacAddress,
        /// Its VLAN; `None` in a switch that ignores tags.
        vlan: Option<VlanId>,
        /// Current port.
        port: PortId,
        /// Previous port.
        other: PortId,
    },
    /// A link's round trip is longer than the buffers of the classes with Levels allow: frames may be lost. Reported
    /// once for each span; the counter counts all.
    RoundTripExceeded {
        /// The link's port.
        port: PortId,
        /// Measured round trip.
        measured: Duration,
    },
    /// A link's round trip is longer than the headroom derived from its cable allows: lossless frames may be lost.
    /// Reported once for each span; the counter counts all.
    CableExceeded {
        /// The link's port.
        port: PortId,
        /// Measured round trip.
        measured: Duration,
        /// Longest round trip that the headroom allows.
        round_trip_max: Duration,
    },
    /// The headroom derived from the cable has sufficed for the last ten round trips.
    CableFits {
        /// The link's port.
        port: PortId,
        /// Last measured round trip.
        measured: Duration,
    },
    /// `egress` has been paused at `priority` by its neighbour for the watchdog's detection time, with frames waiting
    /// and none leaving. The control plane decides whether that is a storm.
    PauseStalled {
        /// The paused port.
        egress: PortId,
        /// The paused priority.
        priority: Priority,
        /// Time paused without throughput.
        idle: Duration,
        /// Bytes waiting there.
        queued: Bytes,
    },
    /// The stall ended without a storm.
    PauseStallEnded {
        /// The port.
        egress: PortId,
        /// The priority.
        priority: Priority,
    },
    /// A stall was declared a storm; the watchdog's action is in force.
    StormDetected {
        /// The paused port.
        egress: PortId,
        /// The paused priority.
        priority: Priority,
        /// Action taken.
        action: StormAction,
    },
    /// A storm and its action have ended.
    StormRestored {
        /// The port.
        egress: PortId,
        /// The priority.
        priority: Priority,
        /// Time from detection to end.
        lasted: Duration,
        /// Copies of frames dropped because of it.
        dropped: u64,
        /// Frames sent although the neighbour paused them.
        forwarded: u64,
    },
    /// (`egress`, `priority`) is VLStalled: VLStallCount consecutive frames stayed at its head for longer than the
    /// lifetime limit. It drops everything for 8 times the limit.
    LifetimeStalled {
        /// The egress port.
        egress: PortId,
        /// The priority.
        priority: Priority,
    },
    /// The transmitter of `port` has completed no frame for long: frames for the port are dropped.
    TransmitterStalled {
        /// The port.
        port: PortId,
    },
    /// The transmitter of `port` completes frames again.
    TransmitterResumed {
        /// The port.
        port: PortId,
    },
    /// A source address on `port` found no room, or replaced an address still in use. Reported once a minute.
    LearningTableFull {
        /// The port.
        port: PortId,
        /// Number of known addresses.
        learned: u32,
        /// Capacity for addresses.
        capacity: u32,
    },
    /// The dataplane was stopped from running for this long.
    DataplaneStalled {
        /// Time since the port went down.
        lasted: Duration,
    },
    /// A link came up or a route was set during a suspicion: flows may have a new path.
    WaysChanged,
    /// Frames were dropped because a neighbour did not obey our pause. Reported once for each span of overload; the
    /// counter counts every frame.
    HeadroomExceeded {
        /// Ingress port of the frames.
        ingress: PortId,
        /// Their priority.
        priority: Priority,
    },
}
