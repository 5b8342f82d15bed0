//! Reports of the control plane for people: logs, the API, metrics.

use crate::units::{Bytes, Duration, Instant, PortId, Priority, Spuid};

/// Something the control plane did or decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Report {
    /// When.
    pub at: Instant,
    /// The port it concerns: where a message came in or goes out.
    pub port: PortId,
    /// The priority.
    pub priority: Priority,
    /// Contents.
    pub kind: ReportKind,
}

/// The kinds of [`Report`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReportKind {
    /// A suspected egress has begun to send CLCM under this identifier.
    SpuidAssigned {
        /// The identifier.
        spuid: Spuid,
    },
    /// An own message went out by a suspected egress.
    ClcmSent {
        /// The egress port's identifier.
        spuid: Spuid,
    },
    /// Another switch's message was passed on.
    ClcmForwarded {
        /// Egress port.
        egress: PortId,
        /// Hops that it has recorded.
        hops: u8,
    },
    /// A message went no further.
    ClcmIgnored {
        /// Why.
        reason: IgnoreReason,
    },
    /// The own identifier came back: a loop runs from `port` to `egress`.
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
        /// For how long the loop's frames go first when the release is over.
        preference: Duration,
    },
    /// This switch was elected to break the loop from `port` to `egress`.
    MasterElected {
        /// The loop's egress port.
        egress: PortId,
        /// Switches in the loop.
        length: u8,
    },
    /// No flow from `ingress` could be moved off `port`: the election goes on without this switch.
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
    /// Nothing has answered for long what is sent through `port`: what waits there waits for a host, or a
    /// switch of the loop does not speak CLCM.
    Unanswered {
        /// For how long the port has been suspected.
        lasted: Duration,
    },
    /// `port` is stalled by a pause, and that is not called a storm.
    NoStorm {
        /// Why not.
        reason: NoStormReason,
    },
}

crate::named! {
    /// Why a stall is no storm.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    pub enum NoStormReason {
        /// The neighbour tells loops and storms apart itself: this egress is part of a loop, or a victim.
        NeighbourJudges => "neighbour_judges",
        /// Nothing is known of the neighbour.
        UnknownNeighbour => "unknown_neighbour",
    }
}

crate::named! {
    /// Why a message went no further.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    #[repr(u8)]
    pub enum IgnoreReason {
        /// Nothing here waits for an egress that is suspected: the suspicion upstream is no part of a loop.
        NotSuspected => "not_suspected",
        /// The own identifier is in the message, but what came in by this port does not wait for that egress.
        NotOnLoop => "not_on_loop",
        /// A release names an identifier that is not ours, or no longer.
        UnknownSpuid => "unknown_spuid",
        /// The message holds as many hops as it can.
        HopsFull => "hops_full",
        /// The release went round the whole loop: its way ends here.
        LoopComplete => "loop_complete",
        /// The deadlock policy is off.
        PolicyOff => "policy_off",
        /// The deadlock policy knows nothing of this kind of message.
        OtherPolicy => "other_policy",
        /// This switch's own SPUID is lower.
        Outranked => "outranked",
        /// The message has been here, or a copy of it just now.
        AlreadyHere => "already_here",
    }
}

impl IgnoreReason {
    /// As an index into [`ControlCounters::clcm_ignored`](super::ControlCounters::clcm_ignored).
    pub const fn index(self) -> usize {
        self as usize
    }
}
