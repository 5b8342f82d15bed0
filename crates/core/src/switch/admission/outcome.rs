//! Effects of a changed ingress buffer, and thresholds raised by a release.

use crate::counters::DropReason;
use crate::units::{Bytes, Instant};

#[derive(Clone, Copy, Debug)]
pub(super) enum Raise {
    None,
    /// To these values, until the given time.
    Active {
        xoff: Bytes,
        xon: Bytes,
        until: Instant,
    },
    /// The release is over, but its frames may still exceed the normal limit: `xoff` applies only to the limit until
    /// the occupancy is below the normal xoff.
    Draining {
        xoff: Bytes,
    },
}

/// Message to the neighbour after a change of occupancy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::switch) enum PauseChange {
    None,
    Xoff,
    Xon,
    /// A departure from a buffer filled by credits: there is room for more.
    Freed,
    /// A departure from a pool: check this buffer and the next paused ones.
    Pool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::switch) struct Admission {
    pub(in crate::switch) change: PauseChange,
    pub(in crate::switch) mark: bool,
}

/// Reason for refusing a frame, and true if this is the first refusal of its span.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::switch) struct Refusal {
    pub(in crate::switch) reason: DropReason,
    pub(in crate::switch) first: bool,
    /// The neighbour is paused although the frame is refused: the pool has no headroom left.
    pub(in crate::switch) change: PauseChange,
}
