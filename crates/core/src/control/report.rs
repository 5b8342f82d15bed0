//! Reports of the control plane for logs, the API and metrics.

use crate::units::{Bytes, Duration, Instant, PortId, Priority, Spuid};

/// An action or decision of the control plane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Report {
    /// When.
    pub at: Instant,
    /// The port concerned: where a message was received or sent.
    pub port: PortId,
    /// The priority.
    pub priority: Priority,
    /// Contents.
    pub kind: ReportKind,
}

/// The kinds of [`Report`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReportKind {
    /// A suspected egress starts to send CLCM under this identifier.
    SpuidAssigned {
        /// The identifier.
        spuid: Spuid,
    },
    /// An own message was sent by a suspected egress.
    ClcmSent {
        /// The egress port's identifier.
        spuid: Spuid,
    },
    /// Another switch's message was forwarded.
    ClcmForwarded {
        /// Egress port.
        egress: PortId,
        /// Number of hops recorded in it.
        hops: u8,
    },
    /// A message was not forwarded.
    ClcmIgnored {
        /// Reason.
        reason: IgnoreReason,
    },
    /// The own identifier returned: a loop runs from `port` to `egress`.
    LoopFound {
        /// The loop's egress port.
        egress: PortId,
        /// Switches in the loop.
        length: u8,
    },
    /// The dataplane was asked to release the loop from `port` to `egress`.
    ReleaseOrdered {
        /// The loop's egress port.
        egress: PortId,
        /// Time for which the loop's frames are preferred after the release.
        preference: Duration,
    },
    /// This switch was elected to break the loop from `port` to `egress`.
    MasterElected {
        /// The loop's egress port.
        egress: PortId,
        /// Switches in the loop.
        length: u8,
    },
    /// No flow from `ingress` could be moved off `port`: the election continues without this switch.
    NoAlternative {
        /// The loop's ingress port.
        ingress: PortId,
    },
    /// The dataplane was asked to force traffic from `port` out by `egress` although it is paused.
    TrafficReleaseOrdered {
        /// The loop's egress port.
        egress: PortId,
        /// Amount.
        amount: Bytes,
    },
    /// Messages sent through `port` have long had no answer: either the traffic waits for a host, or a switch of the
    /// loop does not support CLCM.
    Unanswered {
        /// For how long the port has been suspected.
        lasted: Duration,
    },
    /// `port` is stalled by a pause, but no storm is declared.
    NoStorm {
        /// Reason.
        reason: NoStormReason,
    },
}

crate::named! {
    /// Reason why a stall is not a storm.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    pub enum NoStormReason {
        /// The neighbour distinguishes loops and storms itself: this egress is part of a loop, or a victim.
        NeighbourJudges => "neighbour_judges",
        /// The kind of neighbour is unknown.
        UnknownNeighbour => "unknown_neighbour",
    }
}

crate::named! {
    /// Reason why a message was not forwarded.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    #[repr(u8)]
    pub enum IgnoreReason {
        /// No traffic from this port waits for a suspected egress: the suspicion upstream is not part of a loop.
        NotSuspected => "not_suspected",
        /// The own identifier is in the message, but frames received on this port do not wait for that egress.
        NotOnLoop => "not_on_loop",
        /// A release names an identifier that is not ours, or no longer.
        UnknownSpuid => "unknown_spuid",
        /// The message has no room for another hop.
        HopsFull => "hops_full",
        /// The release has gone round the whole loop.
        LoopComplete => "loop_complete",
        /// The deadlock policy is off.
        PolicyOff => "policy_off",
        /// The deadlock policy does not use this kind of message.
        OtherPolicy => "other_policy",
        /// This switch's own SPUID is lower.
        Outranked => "outranked",
        /// The message, or a copy of it, was here recently.
        AlreadyHere => "already_here",
    }
}

impl IgnoreReason {
    /// Index into [`ControlCounters::clcm_ignored`](super::ControlCounters::clcm_ignored).
    pub const fn index(self) -> usize {
        self as usize
    }
}
