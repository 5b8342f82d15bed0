//! A frame as the switch core sees it: a handle into the caller's pool, and the fields that the classifier has read
//! from the bytes.

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
    /// Index into arrays with one entry for each frame of the pool.
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// Work on an admitted frame that is left to the caller of [`Switch::receive`](crate::Switch::receive).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[must_use = "an unmarked frame does not signal congestion to its sender"]
pub struct Admitted {
    /// Mark it Congestion Experienced, if its transport is ECN-capable
    /// ([`mark_congestion`](crate::wire::ecn::mark_congestion)).
    pub mark: bool,
}

/// A frame dropped after its admission.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Discarded {
    /// Its handle, which belongs to the caller again.
    pub handle: FrameHandle,
    /// Its ingress port, where the drop is counted.
    pub ingress: PortId,
    /// Its priority.
    pub priority: Priority,
    /// Reason.
    pub reason: DropReason,
}

/// A data frame in the switch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame {
    /// Handle of its bytes.
    pub handle: FrameHandle,
    /// Length from the destination address to the last payload byte, without FCS.
    pub length: Bytes,
    /// Priority assigned by the classifier.
    pub priority: Priority,
    /// Destination address.
    pub destination: MacAddress,
    /// Source address.
    pub source: MacAddress,
    /// Hash over the fields used by ECMP; equal for all frames of one flow.
    pub flow_hash: u32,
}

/// Form in which a frame leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// As received.
    AsIs,
    /// Without its tag.
    Untagged,
    /// With this tag instead of its own.
    Retagged(VlanTag),
    /// With this tag added.
    Tagged(VlanTag),
}

impl Form {
    /// Form of a frame of `vlan` that arrived with `tag` and leaves tagged or untagged. An added tag carries the
    /// frame's priority here as its priority code point; an existing tag keeps its own.
    pub fn of(tag: Option<VlanTag>, vlan: VlanId, priority: Priority, leaves_tagged: bool) -> Self {
        match (tag, leaves_tagged) {
            (None, false) => Self::AsIs,
            (None, true) => Self::Tagged(VlanTag::new(priority, vlan)),
            (Some(_), false) => Self::Untagged,
            (Some(tag), true) if tag.vlan() == Some(vlan) => Self::AsIs,
            (Some(tag), true) => Self::Retagged(tag.in_vlan(vlan)),
        }
    }

    /// Bytes added to the frame's length; negative if the tag is removed.
    pub const fn grows_by(self) -> i64 {
        match self {
            Self::AsIs | Self::Retagged(_) => 0,
            Self::Untagged => -4,
            Self::Tagged(_) => 4,
        }
    }
}

/// Work on an admitted frame that is left to the caller of [`Switch::receive_tagged`](crate::Switch::receive_tagged).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "a frame in the wrong form would leave with a tag that it must not have, or without one"]
pub struct Tagged {
    /// As for any frame.
    pub admitted: Admitted,
    /// Give the frame this form now: all copies under its handle leave in it.
    pub form: Form,
    /// Some copies leave in another form: before anything else, call
    /// [`Switch::receive_other`](crate::Switch::receive_other) with an unmodified copy of the bytes under another
    /// handle, or [`Switch::drop_other`](crate::Switch::drop_other).
    pub has_other: bool,
}
