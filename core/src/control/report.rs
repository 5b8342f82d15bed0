//! What the control plane tells people: logs, the API, metrics.

use crate::units::{Instant, PortId, Priority, Spuid};

/// Something the control plane did or decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Report {
    /// When.
    pub at: Instant,
    /// The port it concerns: where a message came in or goes out.
    pub port: PortId,
    /// The priority.
    pub priority: Priority,
    /// What.
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
        /// Where to.
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
    },
}

impl ReportKind {
    /// The kind's name in metrics, JSON and messages.
    pub const fn name(self) -> &'static str {
        match self {
            Self::SpuidAssigned { .. } => "spuid_assigned",
            Self::ClcmSent { .. } => "clcm_sent",
            Self::ClcmForwarded { .. } => "clcm_forwarded",
            Self::ClcmIgnored { .. } => "clcm_ignored",
            Self::LoopFound { .. } => "loop_found",
            Self::ReleaseOrdered { .. } => "release_ordered",
        }
    }
}

/// Why a message went no further.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(usize)]
pub enum IgnoreReason {
    /// Nothing here waits for an egress that is suspected: the suspicion upstream is no part of a loop.
    NotSuspected,
    /// The own identifier is in the message, but what came in by this port does not wait for that egress.
    NotOnLoop,
    /// A release names an identifier that is not ours, or no longer.
    UnknownSpuid,
    /// The message holds as many hops as it can.
    HopsFull,
    /// The release went round the whole loop: its way ends here.
    LoopComplete,
    /// The deadlock policy is off.
    PolicyOff,
}

impl IgnoreReason {
    /// All reasons in declaration order.
    pub const ALL: [Self; 6] = [
        Self::NotSuspected,
        Self::NotOnLoop,
        Self::UnknownSpuid,
        Self::HopsFull,
        Self::LoopComplete,
        Self::PolicyOff,
    ];

    /// The reason's name in metrics, JSON and messages.
    pub const fn name(self) -> &'static str {
        match self {
            Self::NotSuspected => "not_suspected",
            Self::NotOnLoop => "not_on_loop",
            Self::UnknownSpuid => "unknown_spuid",
            Self::HopsFull => "hops_full",
            Self::LoopComplete => "loop_complete",
            Self::PolicyOff => "policy_off",
        }
    }
}

/// What the control plane has counted since it began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ControlCounters {
    /// Own messages sent.
    pub clcm_sent: u64,
    /// Messages of others passed on.
    pub clcm_forwarded: u64,
    /// Messages that went no further, by [`IgnoreReason`] in declaration order.
    pub clcm_ignored: [u64; IgnoreReason::ALL.len()],
    /// Loops found here.
    pub loops_found: u64,
    /// Releases ordered of the dataplane.
    pub releases_ordered: u64,
    /// Commands and reports that found their queue full.
    pub overflows: u64,
}
