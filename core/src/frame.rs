//! A frame as the switch core sees it: a handle into the caller's pool and what the
//! classifier already read from the bytes.

use crate::counters::DropReason;
use crate::units::{Bytes, MacAddress, PortId, Priority};

/// Index of a frame's memory in the caller's pool.
///
/// Must be below [`SwitchConfig::frame_count`](crate::SwitchConfig::frame_count). From
/// [`Switch::receive`](crate::Switch::receive) until the switch hands the frame back, the
/// caller must not use the same handle for another frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FrameHandle(pub u32);

impl FrameHandle {
    /// As an index into arrays with one entry for each frame of the pool.
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// What the caller of [`Switch::receive`](crate::Switch::receive) still has to do with a frame that was
/// taken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[must_use = "a frame that is not marked tells its sender nothing"]
pub struct Admitted {
    /// Mark it Congestion Experienced, if it is of an ECN-capable transport
    /// ([`mark_congestion`](crate::wire::ecn::mark_congestion)).
    pub mark: bool,
}

/// A frame that was dropped after it had been admitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Discarded {
    /// The caller's again.
    pub handle: FrameHandle,
    /// The port that it came in by, where the drop is counted.
    pub ingress: PortId,
    /// Its priority.
    pub priority: Priority,
    /// Why.
    pub reason: DropReason,
}

/// One data frame on its way through the switch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame {
    /// Where its bytes are.
    pub handle: FrameHandle,
    /// Length from the destination address to the last payload byte, without FCS.
    pub length: Bytes,
    /// Priority that the classifier gave it.
    pub priority: Priority,
    /// Destination address.
    pub destination: MacAddress,
    /// Source address.
    pub source: MacAddress,
    /// Hash over the fields that ECMP spreads by; equal for all frames of one flow.
    pub flow_hash: u32,
}
