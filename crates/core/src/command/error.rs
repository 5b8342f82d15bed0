//! Reasons for refusing a command.

use crate::config::RedError;
use crate::sets::vlans::VlanId;
use crate::units::{MacAddress, PortId, Priority};

/// Reason for refusing a [`Command`](super::Command). The switch is unchanged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CommandError {
    /// The command names a port that the configuration does not have.
    #[error("port {0} does not exist")]
    NoSuchPort(PortId),
    /// The port's control queue has no room.
    #[error("the control queue of port {0} is full; try again in a moment")]
    ControlQueueFull(PortId),
    /// Another loop holds this egress until its release ends.
    #[error(
        "egress {egress} priority {priority} is held for ingress {holder} until its release ends"
    )]
    ReleaseConflict {
        /// The contested egress port.
        egress: PortId,
        /// The contested priority.
        priority: Priority,
        /// The ingress port that the rule in force favours.
        holder: PortId,
    },
    /// Only ports configured for grants can change their coding.
    #[error("port {0}: the coding of Feedback can change only if it is configured as grants, and only to pfc")]
    FeedbackFixed(PortId),
    /// Only lossless classes have an ingress buffer that can be enlarged.
    #[error("priority {0} is not a lossless class")]
    NotLossless(Priority),
    /// Not stalled: frames have moved since, no watchdog watches the port, or a storm was already declared.
    #[error("egress {egress} priority {priority} is not stalled by a pause")]
    NotStalled {
        /// The egress port.
        egress: PortId,
        /// The priority.
        priority: Priority,
    },
    /// A detection or restoration time of zero.
    #[error("the storm watchdog's detection and restoration times must be above zero")]
    ZeroStorm,
    /// A class with Levels cannot deadlock while no route is longer than D.
    #[error("priority {0} is a class with Levels: only the Deadlock Breaker can release it, and only if frames have come further than D links")]
    HasLevels(Priority),
    /// Nothing may be sent without a credit.
    #[error("priority {0} sends by credits on port {1}: frames cannot be forced out there")]
    HasCredits(Priority, PortId),
    /// A group needs at least one port.
    #[error("the route to {0} needs at least one port")]
    NoMembers(MacAddress),
    /// Each member needs a bucket, and a group has at most [`BUCKETS_MAX`](crate::config::BUCKETS_MAX).
    #[error("{buckets} buckets for {members} ports; valid are {members} to {max}", max = crate::config::BUCKETS_MAX)]
    BucketCount {
        /// Requested buckets.
        buckets: u16,
        /// Members of the group.
        members: usize,
    },
    /// The configuration's room for destinations is used up.
    #[error("no room for another route: all {0} are in use; remove one")]
    RoutesFull(usize),
    /// The configuration's room for buckets is used up.
    #[error("{wanted} buckets requested, but only {free} of {capacity} are free")]
    BucketsFull {
        /// Requested buckets.
        wanted: u16,
        /// Free buckets.
        free: usize,
        /// All buckets.
        capacity: usize,
    },
    /// The configuration's room for pins is used up.
    #[error("no room for another flow pin: all {0} are in use; remove one")]
    PinsFull(usize),
    /// No static entry for this destination.
    #[error("no route to {0}")]
    NoSuchRoute(MacAddress),
    /// The switch does not learn addresses.
    #[error("the switch does not learn addresses (`forwarding.learning`)")]
    NoLearning,
    /// All requests to forget addresses are in use.
    #[error("a request to forget learned addresses is still in progress; try again in a moment")]
    StillForgetting,
    /// With a single port there is nothing to choose.
    #[error("the route to {0} has a single port: there is nothing to move or pin")]
    SingleMember(MacAddress),
    /// A route leads to the port that is to be reserved for mirrored frames.
    #[error("port {0} is in a route and cannot be reserved for mirrored frames")]
    PortInUse(PortId),
    /// The port does not pause its neighbour by thresholds at this priority.
    #[error("port {port} does not pause its neighbour by thresholds in priority {priority}")]
    NotPausing {
        /// The port.
        port: PortId,
        /// The priority.
        priority: Priority,
    },
    /// The port sends mirrored frames only.
    #[error("port {0} sends mirrored frames only")]
    PortReserved(PortId),
    /// Frames may leave only by ports of the group.
    #[error("port {port} is not a member of the group of {destination}")]
    NotAMember {
        /// The group's destination.
        destination: MacAddress,
        /// The port.
        port: PortId,
    },
    /// The group has fewer buckets.
    #[error("bucket {bucket} does not exist: the group of {destination} has buckets 0 to {last}", last = .buckets.saturating_sub(1))]
    NoSuchBucket {
        /// The group's destination.
        destination: MacAddress,
        /// The bucket named.
        bucket: u16,
        /// Buckets of the port.
        buckets: u16,
    },
    /// The flow already follows its bucket.
    #[error("flow {flow_hash:08x} to {destination} is not pinned")]
    NotPinned {
        /// The group's destination.
        destination: MacAddress,
        /// The flow.
        flow_hash: u32,
    },
    /// The switch ignores tags, or the VLAN has none.
    #[error("a route for one VLAN needs a port with VLANs (`tag`, `trunks` or `vlan-mode`), and a VLAN from 1 to 4094")]
    NoVlans,
    /// A port of the route does not carry the VLAN: frames would be lost.
    #[error("route to {destination}: port {port} does not carry {}", crate::config::of_vlans(*.vlan))]
    NotInVlan {
        /// The destination.
        destination: MacAddress,
        /// The route's VLAN.
        vlan: Option<VlanId>,
        /// The port.
        port: PortId,
    },
    /// Waiting frames were admitted under these settings, so they cannot change.
    #[error(
        "priority {0}: mode, Levels and age limit of a class cannot change while the switch runs"
    )]
    ClassFixed(Priority),
    /// Settings that [`SwitchConfig::validate`](crate::SwitchConfig::validate) refuses.
    #[error("priority {0}: invalid thresholds, weight or rates")]
    BadClass(Priority),
    /// Thresholds that cannot mark a frame.
    #[error("priority {priority}: {error}")]
    BadMarking {
        /// The priority.
        priority: Priority,
        /// The fault in the thresholds.
        error: RedError,
    },
    /// Each admitted frame needs memory.
    #[error(
        "the thresholds need {needed} frames of packet memory, but there are only {frame_count}"
    )]
    TooFewFrames {
        /// Frames that all ingress buffers together can hold.
        needed: usize,
        /// Available frames.
        frame_count: usize,
    },
    /// A buffer holds more than its thresholds allow: a release, or a change of thresholds, is not over.
    #[error("the ingress buffer of port {port} priority {priority} holds more than the new thresholds allow; try again when it has drained")]
    BufferDrains {
        /// The port.
        port: PortId,
        /// The priority.
        priority: Priority,
    },
    /// [`Command::Drain`](super::Command::Drain) cannot be reversed.
    #[error("the switch is stopping")]
    Draining,
    /// A detection time of zero.
    #[error("the detection time must be above zero")]
    ZeroDetect,
    /// Without the recent-flow monitor the flows to move are unknown.
    #[error("the recent-flow monitor is off (`flows.capacity` is 0): there are no flows to move")]
    NoFlowMonitor,
}
