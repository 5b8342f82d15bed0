//! Commands from the control plane to the dataplane.

mod error;

use crate::config::{
    ClassConfig, DetectorConfig, FeedbackCoding, Neighbour, RedConfig, WatchdogConfig,
};
use crate::credit::CreditHints;
use crate::sets::vlans::VlanId;
use crate::sets::PortSet;
use crate::units::{Bytes, Duration, MacAddress, PortId, Priority};
use crate::wire::clcm::Clcm;

pub use error::CommandError;

/// One request to [`Switch::apply`](crate::Switch::apply).
#[derive(Clone, Copy, Debug, PartialEq)]
#[allow(clippy::large_enum_variant)] // commands are few and live in bounded queues
pub enum Command {
    /// Sets the number of credits that the rings before a port's buffers can hold; `None` for unlimited.
    SetCreditSlots {
        /// The port.
        port: PortId,
        /// Credits of all its classes.
        slots: Option<u32>,
    },
    /// Sets the announcements of `port`'s neighbours about credits. Classes in which none are announced use the fallback
    /// at once, unless a neighbour has answered. Classes that a Weir switch newly denies although they use credits begin
    /// an epoch in both directions. Hosts are not awaited longer for what they offer. Setting the same announcements again has no effect; a link that comes up clears
    /// them. O(classes).
    SetCreditHints {
        /// The port.
        port: PortId,
        /// The announcements.
        hints: CreditHints,
    },
    /// Send `message` through `port`, outside the data priorities.
    SendClcm {
        /// Egress port.
        port: PortId,
        /// Message to send.
        message: Clcm,
    },
    /// The release of the CLCM paper's section 3.3: for `period`, only frames received on `ingress` leave by `egress`
    /// at `priority`, and the ingress buffer of `ingress` is larger by `extra`. With Levels, Level D gets additional
    /// room of the size of the smallest budget. The release is refused unless a frame from `ingress` that has come
    /// further than D links waits for another switch.
    ///
    /// Repeating it while it is active prolongs it. A second `ingress` for the same egress is refused until the first
    /// one's period is over, but replaces a mere preference.
    Release {
        /// The loop's ingress port.
        ingress: PortId,
        /// The loop's egress port.
        egress: PortId,
        /// The loop's priority.
        priority: Priority,
        /// Lifetime of the rule.
        period: Duration,
        /// Time after the release during which frames from `ingress` are preferred; others get every fourth turn, or
        /// leave when none of these waits. A loop that closes again at once then carries little traffic, and no frame
        /// is blocked.
        preference: Duration,
        /// Additional buffer, at least one full frame.
        extra: Bytes,
    },
    /// The traffic release of the CLCM paper's section 3.2.3: frames received on `ingress` leave by `egress` although
    /// the neighbour pauses it, until `amount` has left, the pause ends, or `period` is over. The neighbour may drop
    /// them.
    ///
    /// Repeating it replaces the rest of the previous one.
    TrafficRelease {
        /// The loop's ingress port.
        ingress: PortId,
        /// The loop's egress port.
        egress: PortId,
        /// The loop's priority.
        priority: Priority,
        /// Amount to release; the last frame may exceed it.
        amount: Bytes,
        /// Maximum duration.
        period: Duration,
    },
    /// Reports that `port`'s link went up or down. A port that is down admits nothing and sends nothing. Frames wait
    /// for it for [`link_down_hold`](crate::SwitchConfig::link_down_hold); then they, and those that arrive for it
    /// later, are dropped as [`PortDown`](crate::DropReason::PortDown), and the addresses learned at the port are
    /// forgotten.
    SetLink {
        /// The port.
        port: PortId,
        /// True if the link is up.
        up: bool,
    },
    /// Reports that `port`'s device is gone. Frames that wait for it or arrive for it later are dropped as
    /// [`PortDown`](crate::DropReason::PortDown), so that no neighbour is paused because of them. The caller must
    /// [complete](crate::Switch::complete) frames that the transmitter holds. Lasts until
    /// [`DeviceBack`](Self::DeviceBack), regardless of the link's state.
    DeviceGone {
        /// The port.
        port: PortId,
    },
    /// Reports that `port` has a device again. Its link is still down. Earlier messages of the neighbour no longer
    /// count, since it may be another one. No effect if the device was not gone.
    DeviceBack {
        /// The port.
        port: PortId,
    },
    /// Reports that the transmitter of `port` completes frames, or has stopped completing them. Meanwhile, frames for
    /// the port are dropped as [`PortDown`](crate::DropReason::PortDown): nothing else would bound how long they occupy
    /// the buffers of other ports. Frames already with the transmitter stay there.
    SetTransmitter {
        /// The port.
        port: PortId,
        /// False if the transmitter no longer completes frames.
        completes: bool,
    },
    /// Forgets learned addresses: those at `port`, those in `vlan`, those that match both, or all. Tables of more than
    /// 4,096 addresses are scanned in steps of 4,096, one for each timeout, starting at once.
    ForgetLearned {
        /// At this port; `None` for any.
        port: Option<PortId>,
        /// In this VLAN; `None` for any. Addresses of frames without a VLAN are in [`VlanId::UNTAGGED`].
        vlan: Option<VlanId>,
    },
    /// Treats the switch on the other side of `port` as `neighbour` from now on. Feedback is resent at once in the new
    /// coding; the neighbour's last Feedback stays valid until it expires. Setting the same neighbour again has no
    /// effect.
    SetNeighbour {
        /// The port.
        port: PortId,
        /// Neighbour on the port.
        neighbour: Neighbour,
    },
    /// Sends and obeys Feedback on `port` in this coding. The Feedback in force is resent at once. The buffers of a
    /// port configured for grants hold no more than it grants. If they have no room for the frames of a round trip, the
    /// port sends Feedback D in another coding, until it grants frames again. Setting the same coding again has no
    /// effect.
    SetFeedback {
        /// The port.
        port: PortId,
        /// Coding of Feedback.
        coding: FeedbackCoding,
    },
    /// Frames to `destination` leave by one of `members`, which replace the previous ones. The buckets are dealt again
    /// to the members in the order of port numbers; pins stay if their port is still a member. Waiting frames keep
    /// their egress. O(routes + buckets + pins).
    SetRoute {
        /// The destination.
        destination: MacAddress,
        /// Its group: equally good ports. A single port needs no buckets.
        members: PortSet,
        /// Number of buckets: from the number of members to
        /// [`BUCKETS_MAX`](crate::config::BUCKETS_MAX).
        buckets: u16,
    },
    /// Forgets the static entry of `destination`, its buckets and its pins. O(routes + buckets + pins).
    RemoveRoute {
        /// The destination.
        destination: MacAddress,
    },
    /// [`SetRoute`](Self::SetRoute) for the frames of one VLAN, on ports with VLANs. Takes precedence over an entry for
    /// all VLANs. Every member must carry the VLAN.
    SetVlanRoute {
        /// A VLAN with tags.
        vlan: VlanId,
        /// The destination.
        destination: MacAddress,
        /// As in [`SetRoute`](Self::SetRoute).
        members: PortSet,
        /// As in [`SetRoute`](Self::SetRoute).
        buckets: u16,
    },
    /// [`RemoveRoute`](Self::RemoveRoute) for an entry of one VLAN.
    RemoveVlanRoute {
        /// The VLAN.
        vlan: VlanId,
        /// The destination.
        destination: MacAddress,
    },
    /// Flows in one bucket of a group leave by another member from now on. Their later frames may overtake earlier ones
    /// that wait at the old port. O(log routes).
    MoveBucket {
        /// The group's destination.
        destination: MacAddress,
        /// The bucket: flow hash modulo the number of buckets.
        bucket: u16,
        /// Its new member.
        to: PortId,
    },
    /// Makes one flow leave by `port`, regardless of its bucket. O(log routes).
    PinFlow {
        /// The group's destination.
        destination: MacAddress,
        /// The flow.
        flow_hash: u32,
        /// The member by which it leaves.
        port: PortId,
    },
    /// Reserves the port for [copies](crate::Switch::send_copy): frames received on it are dropped
    /// ([`DropReason::MirrorPort`](crate::DropReason::MirrorPort)). Or makes it a normal port again. Frames waiting
    /// there leave. Refused while a static route leads to it. O(routes).
    Reserve {
        /// The port.
        port: PortId,
        /// True to reserve the port.
        reserved: bool,
    },
    /// Pauses the neighbour on the port at `priority` regardless of the occupancy of its ingress buffer, or returns to
    /// pauses by occupancy: for testing how a neighbour reacts. Only for ports that pause by thresholds. O(1).
    HoldNeighbour {
        /// The port.
        port: PortId,
        /// The priority.
        priority: Priority,
        /// True to hold the traffic.
        held: bool,
    },
    /// Makes a pinned flow follow its bucket again. O(log routes).
    UnpinFlow {
        /// The group's destination.
        destination: MacAddress,
        /// The flow.
        flow_hash: u32,
    },
    /// Moves recent flows off (`egress`, `priority`): the Loop Breaker's rerouting (CLCM paper, section 3.2.2). Each
    /// goes to a member of its destination's group that is up, is neither `egress` nor the flow's ingress port, and, if
    /// there is a choice, is not suspected of a deadlock at `priority`. Among several, the one to which this command
    /// has moved the fewest flows is chosen.
    ///
    /// Only frames that arrive later take the new path. Produces an
    /// [`EventKind::FlowMoved`](crate::event::EventKind::FlowMoved) for each flow and an
    /// [`EventKind::Rerouted`](crate::event::EventKind::Rerouted) at the end. O(n·log n) in the capacity of the
    /// recent-flow monitor.
    Reroute {
        /// The flows to move, by their ingress port.
        selection: RerouteSelection,
        /// The blocked egress.
        egress: PortId,
        /// The blocked priority.
        priority: Priority,
        /// The unit that moves: flows or buckets.
        by: RerouteBy,
    },
    /// Declares a PFC storm at (`egress`, `priority`): the port's watchdog takes its action until no pause has arrived
    /// for the restoration time.
    CallStorm {
        /// The egress port.
        egress: PortId,
        /// The priority.
        priority: Priority,
    },
    /// Sets the storm watchdog of `port`; `None` ends it and the port's storms. Setting the same values again has no
    /// effect.
    SetWatchdog {
        /// The port.
        port: PortId,
        /// Times and action.
        watchdog: Option<WatchdogConfig>,
    },
    /// Changes the treatment of a priority: thresholds, weight, rates. Its mode, Levels and age limit stay; frames
    /// admitted under older thresholds are not lost. The marking in `class` is ignored, so that this and
    /// [`SetMarking`](Self::SetMarking) do not undo each other. Setting the same values again has no effect. O(ports ×
    /// priorities).
    SetClass {
        /// The priority.
        priority: Priority,
        /// Treatment of the priority.
        class: ClassConfig,
    },
    /// Sets the marking of a priority for later frames. O(1).
    SetMarking {
        /// The priority.
        priority: Priority,
        /// Thresholds of the marking; `None` for none.
        marking: Option<RedConfig>,
    },
    /// Changes the detection of deadlocks and restarts it: every suspicion ends, and stalled egresses are suspected
    /// again. O(ports × lossless priorities).
    SetDetector {
        /// Detection time; `None` turns detection off.
        detector: Option<DetectorConfig>,
    },
    /// Admits no more data frames; buffered ones still leave. Cannot be reversed.
    Drain,
    /// Drops every waiting frame as [`DropReason::Draining`](crate::DropReason::Draining), for a caller that passes the
    /// frames on. Frames are returned in the order in which each port would have sent them. O(1) for each frame.
    GiveUpAll,
    /// Assumes that every lossless class of every port is paused by its neighbour, until the neighbour sends something
    /// else or any pause that it may have sent to a predecessor is over. Used when a switch replaces another one:
    /// neighbours do not know that this one has not received their pauses. O(ports × lossless priorities).
    AssumePaused,
}

/// Selects the flows at a blocked egress that a [`Command::Reroute`] moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RerouteSelection {
    /// Flows received on this port: those on the loop's {ingress, egress}.
    From(PortId),
    /// Flows received on other ports, which enter the loop from elsewhere: the paper's alternative behaviour.
    NotFrom(PortId),
}

impl RerouteSelection {
    /// The loop's ingress port.
    pub const fn ingress(self) -> PortId {
        match self {
            Self::From(ingress) | Self::NotFrom(ingress) => ingress,
        }
    }

    /// Returns true for flows received on `ingress`.
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
    /// Unit that a [`Command::Reroute`] moves.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum RerouteBy {
        /// Each flow is pinned to another member. Its frames at other priorities and from other ports move with it.
        Flow => "flow",
        /// The bucket of each flow moves to another member, with all flows in it. Pinned flows are pinned elsewhere.
        Bucket => "bucket",
    }
}

impl Command {
    /// Returns the command for a route of one VLAN, or for all VLANs without their own.
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

    /// Returns the command that removes such a route.
    pub const fn remove_route(vlan: Option<VlanId>, destination: MacAddress) -> Self {
        match vlan {
            None => Self::RemoveRoute { destination },
            Some(vlan) => Self::RemoveVlanRoute { vlan, destination },
        }
    }
}
