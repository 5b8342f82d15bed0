//! Commands from the control plane to the dataplane.

mod error;

use crate::config::{
    ClassConfig, DetectorConfig, FeedbackCoding, Neighbour, RedConfig, WatchdogConfig,
};
use crate::sets::vlans::VlanId;
use crate::sets::PortSet;
use crate::units::{Bytes, Duration, MacAddress, PortId, Priority};
use crate::wire::clcm::Clcm;

pub use error::CommandError;

/// One request to [`Switch::apply`](crate::Switch::apply).
#[derive(Clone, Copy, Debug, PartialEq)]
#[allow(clippy::large_enum_variant)] // commands are few and live in bounded queues
pub enum Command {
    /// The rings before a port's buffers hold this many credits' frames; `None` for any number.
    SetCreditSlots {
        /// The port.
        port: PortId,
        /// Credits of all its classes.
        slots: Option<u32>,
    },
    /// Send `message` through `port`, outside the data priorities.
    SendClcm {
        /// Egress port.
        port: PortId,
        /// Message to send.
        message: Clcm,
    },
    /// The release of the CLCM paper's section 3.3: for `period` only frames that came in by `ingress`
    /// leave by `egress` at `priority`, and the ingress buffer of `ingress` is larger by `extra`. With Levels Level D
    /// gets as much as the smallest budget beside its own; a release is refused where no frame from `ingress` has come
    /// further than D links and waits for another switch.
    ///
    /// Repeating it while it is active prolongs it. A second `ingress` for the same egress is refused
    /// until the first one's period is over; a preference makes way for it.
    Release {
        /// The loop's ingress port.
        ingress: PortId,
        /// The loop's egress port.
        egress: PortId,
        /// The loop's priority.
        priority: Priority,
        /// Lifetime of the rule.
        period: Duration,
        /// For how long after it frames from `ingress` go before others, which leave by every
        /// fourth turn, or when none of these waits: a loop that comes back at once stays thin, and
        /// is closed to no frame.
        preference: Duration,
        /// Additional buffer, at least one full frame.
        extra: Bytes,
    },
    /// The traffic release of the CLCM paper's section 3.2.3: frames that came in by `ingress` leave by
    /// `egress` although the neighbour pauses it, until `amount` has left, the pause ends, or `period` is
    /// over. The neighbour may drop them.
    ///
    /// Repeating it replaces what is left of the one before.
    TrafficRelease {
        /// The loop's ingress port.
        ingress: PortId,
        /// The loop's egress port.
        egress: PortId,
        /// The loop's priority.
        priority: Priority,
        /// Amount to release; the last frame may exceed it.
        amount: Bytes,
        /// For how long at most.
        period: Duration,
    },
    /// Tell the dataplane that `port`'s link went up or down. A port that is down admits nothing and
    /// sends nothing. Frames wait for it for as long as
    /// [`link_down_hold`](crate::SwitchConfig::link_down_hold); then they are dropped, as
    /// [`PortDown`](crate::DropReason::PortDown), and so are those that arrive for it. Addresses learned at the port are
    /// forgotten with them.
    SetLink {
        /// The port.
        port: PortId,
        /// True if the link is up.
        up: bool,
    },
    /// Tell the dataplane that `port`'s device is gone: nothing that waits for it, or will, can
    /// leave. Such frames are dropped as [`PortDown`](crate::DropReason::PortDown), so that no
    /// neighbour is paused because of them. Frames with the transmitter are the caller's to
    /// [complete](crate::Switch::complete). It lasts until [`DeviceBack`](Self::DeviceBack),
    /// whatever is said of the link.
    DeviceGone {
        /// The port.
        port: PortId,
    },
    /// Tell the dataplane that `port` has a device again. Its link is still down. Earlier messages
    /// of the neighbour no longer count, since it may be another one. A port whose device is there
    /// is unchanged.
    DeviceBack {
        /// The port.
        port: PortId,
    },
    /// Tell the dataplane whether the transmitter of `port` completes frames. While it does not, frames for it are
    /// dropped, as [`PortDown`](crate::DropReason::PortDown): nothing else would bound how long they hold the buffers of
    /// others. Frames that the transmitter has stay with it.
    SetTransmitter {
        /// The port.
        port: PortId,
        /// False once the transmitter completes nothing.
        completes: bool,
    },
    /// Forget learned addresses: those at `port`, those of `vlan`, those that are both, or all.
    /// Tables of more than 4,096 addresses are scanned in steps of 4,096, one for each timeout,
    /// beginning at once.
    ForgetLearned {
        /// At this port; `None` for any.
        port: Option<PortId>,
        /// In this VLAN; `None` for any. Addresses of frames without a VLAN are in [`VlanId::UNTAGGED`].
        vlan: Option<VlanId>,
    },
    /// Treats the switch on the other side of `port` as `neighbour` from now on. Feedback is resent at once in the new
    /// coding; the neighbour's last Feedback stays valid until it expires. The same neighbour again changes nothing.
    SetNeighbour {
        /// The port.
        port: PortId,
        /// Neighbour on the port.
        neighbour: Neighbour,
    },
    /// Send and obey Feedback on `port` in this coding. The Feedback in force is resent at once. A
    /// port that was configured to grant frames has buffers for no more than that: if they have no
    /// room for frames that arrive in a round trip time it sends Feedback D, until it grants frames
    /// again. The same coding again changes nothing.
    SetFeedback {
        /// The port.
        port: PortId,
        /// Coding of Feedback.
        coding: FeedbackCoding,
    },
    /// Frames to `destination` leave by one of `members`, which replace the previous ones. The
    /// buckets are distributed again, round the members in the order of port numbers; pins stay if
    /// their port is still a member. Buffered frames leave where they wait. O(routes + buckets +
    /// pins).
    SetRoute {
        /// The destination.
        destination: MacAddress,
        /// Its group: ports that are equally good ways to it. One needs no buckets.
        members: PortSet,
        /// Number of buckets: from the number of members to
        /// [`BUCKETS_MAX`](crate::config::BUCKETS_MAX).
        buckets: u16,
    },
    /// Forget the static entry of `destination`, its buckets and its pins. O(routes + buckets + pins).
    RemoveRoute {
        /// The destination.
        destination: MacAddress,
    },
    /// As [`SetRoute`](Self::SetRoute), for frames of one VLAN alone, where ports have VLANs: such an entry goes before one for
    /// all. Every member carries the VLAN.
    SetVlanRoute {
        /// The VLAN: one that has tags.
        vlan: VlanId,
        /// The destination.
        destination: MacAddress,
        /// As of any route.
        members: PortSet,
        /// As of any route.
        buckets: u16,
    },
    /// As [`RemoveRoute`](Self::RemoveRoute), of an entry for one VLAN alone.
    RemoveVlanRoute {
        /// The VLAN.
        vlan: VlanId,
        /// The destination.
        destination: MacAddress,
    },
    /// The flows in one bucket of a group leave by another member from now on. A flow that moves may be
    /// overtaken by its own later frames on the other way. O(log routes).
    MoveBucket {
        /// The group's destination.
        destination: MacAddress,
        /// Which bucket: flow hash modulo the number of buckets.
        bucket: u16,
        /// The member that it belongs to from now on.
        to: PortId,
    },
    /// One flow leaves by `port`, whatever its bucket. O(log routes).
    PinFlow {
        /// The group's destination.
        destination: MacAddress,
        /// The flow.
        flow_hash: u32,
        /// The member that it leaves by.
        port: PortId,
    },
    /// The port sends nothing but [copies](crate::Switch::send_copy) from now on, and what comes in by it is dropped
    /// ([`DropReason::MirrorPort`](crate::DropReason::MirrorPort)); or it is a port as any other again. Frames that wait
    /// there leave. Refused while a static route leads to it. O(routes).
    Reserve {
        /// The port.
        port: PortId,
        /// True to reserve the port.
        reserved: bool,
    },
    /// The port pauses its neighbour in `priority` at any occupancy of its ingress buffer, or by
    /// the occupancy alone again: for testing the effect of pauses on a neighbour. Only if the port
    /// pauses by thresholds. O(1).
    HoldNeighbour {
        /// The port.
        port: PortId,
        /// The priority.
        priority: Priority,
        /// True to hold the traffic.
        held: bool,
    },
    /// A pinned flow goes by its bucket again. O(log routes).
    UnpinFlow {
        /// The group's destination.
        destination: MacAddress,
        /// The flow.
        flow_hash: u32,
    },
    /// Move recent flows off (`egress`, `priority`): the Loop Breaker's rerouting (CLCM paper, section
    /// 3.2.2). Each goes to a member of its destination's group that is up, is neither `egress` nor the
    /// port that the flow comes in by, and is not suspected of a deadlock at `priority` if there is a
    /// choice; among several to the one that this command has moved fewest flows to.
    ///
    /// Only frames that come in later take the new way. Gives an
    /// [`EventKind::FlowMoved`](crate::event::EventKind::FlowMoved) for each flow and an
    /// [`EventKind::Rerouted`](crate::event::EventKind::Rerouted) at the end.
    /// O(n·log n) in the capacity of the recent-flow monitor.
    Reroute {
        /// Which flows.
        selection: RerouteSelection,
        /// The blocked egress.
        egress: PortId,
        /// The blocked priority.
        priority: Priority,
        /// Selects the flows to move.
        by: RerouteBy,
    },
    /// A PFC storm holds `egress` at `priority`: the port's watchdog takes its action until no
    /// pause has arrived for the restoration time.
    CallStorm {
        /// The egress port.
        egress: PortId,
        /// The priority.
        priority: Priority,
    },
    /// Have `port` watched in this way from now on; `None` ends the watch, and with it the port's storms.
    /// The same settings again change nothing.
    SetWatchdog {
        /// The port.
        port: PortId,
        /// Times and action.
        watchdog: Option<WatchdogConfig>,
    },
    /// Change the treatment of a priority: thresholds, weight, rates. Its mode, Levels and age
    /// limit stay; frames admitted under older thresholds are not lost. The marking in `class` is
    /// ignored, so that this and [`SetMarking`](Self::SetMarking) do not undo each other. The same
    /// again changes nothing. O(ports × priorities).
    SetClass {
        /// The priority.
        priority: Priority,
        /// Treatment of the priority.
        class: ClassConfig,
    },
    /// Mark frames of a priority in this way from now on; those that wait stay where they are. O(1).
    SetMarking {
        /// The priority.
        priority: Priority,
        /// When; `None` for never.
        marking: Option<RedConfig>,
    },
    /// Change the detection of deadlocks, and restart it: every suspicion ends, and stalled
    /// egresses are suspected again. O(ports × lossless priorities).
    SetDetector {
        /// When an egress is suspected; `None` for never.
        detector: Option<DetectorConfig>,
    },
    /// Admit no more data frames; what is buffered still leaves. There is no way back.
    Drain,
    /// Drop every waiting frame as [`DropReason::Draining`](crate::DropReason::Draining): for a
    /// caller that has another use for them. Frames that one port would have sent come in that
    /// order. O(1) for each frame.
    GiveUpAll,
    /// Assume that every lossless class of every port is held by its neighbour, until the neighbour
    /// sends something else or any pause that it may have sent to a predecessor is over. For the
    /// first moment of a switch that replaces another one: neighbours do not know that this one has
    /// received nothing. O(ports × lossless priorities).
    AssumePaused,
}

/// Which flows at a blocked egress a [`Command::Reroute`] moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RerouteSelection {
    /// Those that come in by this port: the flows on the loop's {ingress, egress}.
    From(PortId),
    /// Those that do not: the flows that enter the loop from elsewhere, the paper's alternative behaviour.
    NotFrom(PortId),
}

impl RerouteSelection {
    /// The loop's ingress port.
    pub const fn ingress(self) -> PortId {
        match self {
            Self::From(ingress) | Self::NotFrom(ingress) => ingress,
        }
    }

    /// True for flows that come in by `ingress`.
    pub fn includes(self, ingress: PortId) -> bool {
        match self {
            Self::From(from) => ingress == from,
            Self::NotFrom(from) => ingress != from,
        }
    }

    /// The name in JSON and messages.
    pub const fn name(self) -> &'static str {
        match self {
            Self::From(_) => "from",
            Self::NotFrom(_) => "not_from",
        }
    }
}

crate::named! {
    /// What a [`Command::Reroute`] changes.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum RerouteBy {
        /// Each flow is pinned to another member. Its frames at other priorities and from other ports, if there
        /// are any, move with it.
        Flow => "flow",
        /// The bucket of each flow goes to another member, with all flows that are in it. Flows that are pinned
        /// are pinned elsewhere.
        Bucket => "bucket",
    }
}

impl Command {
    /// The command for a route of one VLAN, or of all that have none of their own.
    pub const fn set_route(
        vlan: Option<VlanId>,
        destination: MacAddress,
        members: PortSet,
        buckets: u16,
    ) -> Self {
        match vlan {
            None => Self::SetRoute {
                destination,
                members,
                buckets,
            },
            Some(vlan) => Self::SetVlanRoute {
                vlan,
                destination,
                members,
                buckets,
            },
        }
    }

    /// Returns the command to remove one.
    pub const fn remove_route(vlan: Option<VlanId>, destination: MacAddress) -> Self {
        match vlan {
            None => Self::RemoveRoute { destination },
            Some(vlan) => Self::RemoveVlanRoute { vlan, destination },
        }
    }
}
