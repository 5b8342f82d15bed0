//! What follows from a change of an ingress buffer, and what a release has moved.

use crate::counters::DropReason;
use crate::units::{Bytes, Instant};

/// How far a release has moved the thresholds.
#[derive(Clone, Copy, Debug)]
pub(super) enum Raise {
    /// Not at all.
    None,
    /// To these values, until a moment.
    Active {
        xoff: Bytes,
        xon: Bytes,
        until: Instant,
    },
    /// The release is over, but what it admitted may still stand above the normal limit: `xoff` counts
    /// only for the limit until the occupancy is below the normal xoff.
    Draining { xoff: Bytes },
}

/// What a change of occupancy asks us to tell the neighbour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::switch) enum PauseChange {
    None,
    Xoff,
    Xon,
    /// A departure from a pool: this buffer and the next ones that are paused are to be looked at.
    Pool,
}

/// What follows from a frame that was admitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::switch) struct Admission {
    pub(in crate::switch) change: PauseChange,
    /// The frame is to be marked Congestion Experienced.
    pub(in crate::switch) mark: bool,
}

/// Why a frame was not admitted, and whether this is the first of its span.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::switch) struct Refusal {
    pub(in crate::switch) reason: DropReason,
    pub(in crate::switch) first: bool,
    /// The neighbour is paused although: where the pool has no headroom left.
    pub(in crate::switch) change: PauseChange,
}
