//! A frame as the switch core sees it: a handle into the caller's pool and what the
//! classifier already read from the bytes.

use crate::counters::DropReason;
use crate::sets::vlans::{VlanId, VlanTag};
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

/// Remaining duties of the caller of [`Switch::receive`](crate::Switch::receive) for an admitted
/// frame.
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
    /// Handle of its bytes.
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

/// Form in which a frame leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// As it came.
    AsIs,
    /// Without the tag that it came with.
    Untagged,
    /// With this tag instead of the original one.
    Retagged(VlanTag),
    /// With this tag, where it came without one.
    Tagged(VlanTag),
}

impl Form {
    /// Of a frame of `vlan` that came with `tag` and leaves with or without one. One that gets a tag says by its priority code
    /// point which priority it had here; one that has a tag keeps what that says.
    pub fn of(tag: Option<VlanTag>, vlan: VlanId, priority: Priority, leaves_tagged: bool) -> Self {
        match (tag, leaves_tagged) {
            (None, false) => Self::AsIs,
            (None, true) => Self::Tagged(VlanTag::new(priority, vlan)),
            (Some(_), false) => Self::Untagged,
            (Some(tag), true) if tag.vlan() == Some(vlan) => Self::AsIs,
            (Some(tag), true) => Self::Retagged(tag.in_vlan(vlan)),
        }
    }

    /// Bytes that it adds to the frame's length; below zero where it takes the tag off.
    pub const fn grows_by(self) -> i64 {
        match self {
            Self::AsIs | Self::Retagged(_) => 0,
            Self::Untagged => -4,
            Self::Tagged(_) => 4,
        }
    }
}

/// Remaining duties of the caller of [`Switch::receive_tagged`](crate::Switch::receive_tagged) for
/// an admitted frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "a frame in the wrong form would leave with a tag that it must not have, or without one"]
pub struct Tagged {
    /// As of any frame.
    pub admitted: Admitted,
    /// Give it this form now: all copies under its handle leave so.
    pub form: Form,
    /// Some copies leave in another form: call [`Switch::receive_other`](crate::Switch::receive_other) with a copy of the
    /// bytes as they came, under another handle, or [`Switch::drop_other`](crate::Switch::drop_other), before anything else.
    pub has_other: bool,
}
