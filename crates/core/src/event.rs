//! Events from the dataplane to the control plane.

use crate::command::RerouteSelection;
use crate::config::StormAction;
use crate::sets::vlans::VlanId;
use crate::sets::PortSet;
use crate::units::{Bytes, Duration, Instant, MacAddress, PortId, Priority};
use crate::wire::clcm::Clcm;

crate::named! {
    /// Why an egress with frames to send sends none.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
    pub enum SuspicionReason {
        /// The neighbour pauses this priority (PFC or 802.3x).
        Paused => "paused" (default),
        /// A release lets only another ingress port's frames out.
        ReleaseRule => "release_rule",
        /// The neighbour's Transmit Feedback blocks every queued Level.
        NoEligibleLevel => "no_eligible_level",
        /// The neighbour has given no credits for another frame.
        NoCredits => "no_credits",
        /// The transmitter takes nothing: its ring is stuck.
        TransmitterStuck => "transmitter_stuck",
    }
}

/// One thing that happened in the dataplane, with the moment it happened.
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
    /// `egress` has had frames of `priority` and zero throughput for the detection time
    /// (CLCM paper, section 3.2.1).
    Suspected {
        /// The blocked port.
        egress: PortId,
        /// The blocked priority.
        priority: Priority,
        /// Why nothing leaves.
        reason: SuspicionReason,
        /// Bytes that wait there.
        queued: Bytes,
        /// For how long nothing has left.
        idle: Duration,
        /// True when some recent flow there could leave by another member of its destination's group. With
        /// the recent-flow monitor off: when some destination that frames wait for has one.
        alternatives: bool,
        /// The ports that such flows come in by.
        alternatives_from: PortSet,
    },
    /// A flow was moved to another member of its destination's group. It may be overtaken by its own later
    /// frames.
    FlowMoved {
        /// Ingress port.
        ingress: PortId,
        /// Old egress port.
        from: PortId,
        /// New egress port.
        to: PortId,
        /// Its priority.
        priority: Priority,
        /// Destination address.
        destination: MacAddress,
        /// Which one.
        flow_hash: u32,
    },
    /// A [`Command::Reroute`](crate::Command::Reroute) is done.
    Rerouted {
        /// Which flows it was to move.
        selection: RerouteSelection,
        /// The egress that they were to leave.
        egress: PortId,
        /// The priority.
        priority: Priority,
        /// Flows that move, among them those that share a pin or a bucket with a selected one.
        moved: u32,
        /// Selected flows that stay: no other member will do, or there is no room for a pin.
        stuck: u32,
    },
    /// `egress` sends again, or has nothing left to send.
    SuspicionEnded {
        /// The port.
        egress: PortId,
        /// The priority.
        priority: Priority,
        /// For how long it was suspected.
        lasted: Duration,
    },
    /// A CLCM came in by a fabric port.
    ClcmReceived {
        /// Ingress port.
        ingress: PortId,
        /// The message.
        message: Clcm,
        /// Egress ports at which frames of the message's priority that came in by `ingress` wait now.
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
    /// A [`Command::TrafficRelease`](crate::Command::TrafficRelease) has come to its end.
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
    /// A destination reached Level D at a switch that is not its own: frames to it travel further than
    /// the D links that the class is configured for. Reported once for each entry of the Level Table.
    RouteTooLong {
        /// The port that the frame came in by.
        ingress: PortId,
        /// Its priority.
        priority: Priority,
        /// Destination address.
        destination: MacAddress,
    },
    /// Flooded frames went round a loop: `port` floods and learns nothing from now on.
    ForwardingLoop {
        /// The port that is blocked.
        port: PortId,
        /// The other port of the loop at this switch.
        other: PortId,
        /// The VLAN in which it is; `None` for all, and in a switch to which tags mean nothing.
        vlan: Option<VlanId>,
    },
    /// No probe came round for a while, or the link went down: the port floods again.
    ForwardingLoopEnded {
        /// The port.
        port: PortId,
        /// The VLAN in which it was blocked; `None` for all.
        vlan: Option<VlanId>,
    },
    /// Probes come back by the port that they left by: there is a loop behind it, or a host there sends them back. The port
    /// goes on. Reported once for as long as it lasts.
    LoopBehind {
        /// The port.
        port: PortId,
        /// The VLAN; `None` in a switch to which tags mean nothing.
        vlan: Option<VlanId>,
    },
    /// An address moves between two ports as no station does: there may be a loop of devices that let no probe through, or a
    /// station uses the address of another one. Reported once for a VLAN, for as long as it goes on.
    AddressMoves {
        /// The address.
        address: MacAddress,
        /// Its VLAN; `None` in a switch to which tags mean nothing.
        vlan: Option<VlanId>,
        /// Current port.
        port: PortId,
        /// Previous port.
        other: PortId,
    },
    /// A link's round trip takes longer than the buffers of the classes with Levels are made for: frames
    /// may be lost. Reported once for each span; the counter has every one.
    RoundTripExceeded {
        /// The link's port.
        port: PortId,
        /// Measured round trip.
        measured: Duration,
    },
    /// A link's round trip takes longer than the headroom that follows from its cable is for: lossless frames may be lost.
    /// Reported once for each span; the counter has every one.
    CableExceeded {
        /// The link's port.
        port: PortId,
        /// Measured round trip.
        measured: Duration,
        /// The longest that the headroom is for.
        round_trip_max: Duration,
    },
    /// The headroom that follows from the cable has been enough for the last ten round trips.
    CableFits {
        /// The link's port.
        port: PortId,
        /// Last measured round trip.
        measured: Duration,
    },
    /// `egress` has been held at `priority` by its neighbour for the watchdog's detection time, with frames
    /// waiting and none leaving. Whether that is a storm is for the control plane to say.
    PauseStalled {
        /// The held port.
        egress: PortId,
        /// The held priority.
        priority: Priority,
        /// For how long it has been held without throughput.
        idle: Duration,
        /// Bytes that wait there.
        queued: Bytes,
    },
    /// The stall is over without having been called a storm.
    PauseStallEnded {
        /// The port.
        egress: PortId,
        /// The priority.
        priority: Priority,
    },
    /// A stall was called a storm; the watchdog's action is in force.
    StormDetected {
        /// The held port.
        egress: PortId,
        /// The held priority.
        priority: Priority,
        /// Action taken.
        action: StormAction,
    },
    /// A storm is over, and its action with it.
    StormRestored {
        /// The port.
        egress: PortId,
        /// The priority.
        priority: Priority,
        /// From the call to the end.
        lasted: Duration,
        /// Copies of frames dropped meanwhile because of it.
        dropped: u64,
        /// Frames that left meanwhile although the neighbour held them.
        forwarded: u64,
    },
    /// (`egress`, `priority`) is VLStalled: as many frames in a row as VLStallCount stood at its head for
    /// longer than the lifetime limit. It drops everything for 8 times the limit.
    LifetimeStalled {
        /// The egress port.
        egress: PortId,
        /// The priority.
        priority: Priority,
    },
    /// The transmitter of `port` has not completed a frame for long: frames for the port are dropped.
    TransmitterStalled {
        /// The port.
        port: PortId,
    },
    /// The transmitter of `port` completes frames again.
    TransmitterResumed {
        /// The port.
        port: PortId,
    },
    /// An address that `port` sent from found no room, or took that of an address that was known still. Reported once in a
    /// minute.
    LearningTableFull {
        /// The port.
        port: PortId,
        /// Addresses that are known.
        learned: u32,
        /// Addresses that there is room for.
        capacity: u32,
    },
    /// The dataplane did nothing for so long, by no choice of its own.
    DataplaneStalled {
        /// Time since the port went down.
        lasted: Duration,
    },
    /// While something was suspected a link came up, or a route was set: flows may have a way that they had not.
    WaysChanged,
    /// Frames were dropped because a neighbour did not obey our pause. Reported once for each
    /// span of overload; the counter has every frame.
    HeadroomExceeded {
        /// The port that the frames came in by.
        ingress: PortId,
        /// Their priority.
        priority: Priority,
    },
}
