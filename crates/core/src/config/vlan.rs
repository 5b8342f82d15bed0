//! Treatment of tags by a port of a VLAN-aware switch.

use crate::sets::vlans::{VlanId, VlanSet, VlanTag};

crate::named! {
    /// Which VLANs a port has, and which frames have tags on its line. Names and meanings are those of Open vSwitch.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum VlanMode {
        /// One VLAN, without tags.
        Access => "access",
        /// Several, with tags.
        Trunk => "trunk",
        /// Several, with tags; what comes in without a tag is in the native one.
        NativeTagged => "native-tagged",
        /// The same, but frames of the native VLAN leave without a tag.
        NativeUntagged => "native-untagged",
    }
}

/// One port of a VLAN-aware switch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VlanPort {
    mode: VlanMode,
    /// VLAN of frames that arrive without a tag.
    untagged_in: VlanId,
    /// Frames of this VLAN leave without a tag, and those of [`VlanId::UNTAGGED`].
    untagged_out: VlanId,
    carried: VlanSet,
}

impl VlanPort {
    /// One VLAN, without tags.
    pub fn access(vlan: VlanId) -> Self {
        Self {
            mode: VlanMode::Access,
            untagged_in: vlan,
            untagged_out: vlan,
            carried: [vlan].into_iter().collect(),
        }
    }

    /// These VLANs, with tags. That of [frames without a tag](VlanId::UNTAGGED) is one of them, or not.
    pub const fn trunk(trunks: VlanSet) -> Self {
        Self {
            mode: VlanMode::Trunk,
            untagged_in: VlanId::UNTAGGED,
            untagged_out: VlanId::UNTAGGED,
            carried: trunks,
        }
    }

    /// These VLANs and the native one, with tags. [`VlanId::UNTAGGED`] is none of them: on this line what has no tag is in the
    /// native VLAN, so that its frames would cross.
    pub fn native_tagged(native: VlanId, trunks: VlanSet) -> Self {
        let mut port = Self::trunk(trunks);
        port.mode = VlanMode::NativeTagged;
        port.untagged_in = native;
        port.carried.remove(VlanId::UNTAGGED);
        port.carried.insert(native);
        port
    }

    /// These VLANs with tags, and the native one without.
    pub fn native_untagged(native: VlanId, trunks: VlanSet) -> Self {
        let mut port = Self::native_tagged(native, trunks);
        port.mode = VlanMode::NativeUntagged;
        port.untagged_out = native;
        port
    }

    /// Its mode.
    pub const fn mode(&self) -> VlanMode {
        self.mode
    }

    /// The VLAN of what comes in without a tag.
    pub const fn untagged_in(&self) -> VlanId {
        self.untagged_in
    }

    /// Its VLANs.
    pub const fn carried(&self) -> &VlanSet {
        &self.carried
    }

    /// Returns true if frames of `vlan` enter and leave by this port.
    #[inline]
    pub fn carries(&self, vlan: VlanId) -> bool {
        self.carried.contains(vlan)
    }

    /// Returns the VLAN of a frame that arrives with this tag, or without one; `None` for a frame
    /// that may not enter. A tag with the number 0 names no VLAN (802.1Q, 9.6).
    #[inline]
    pub fn classify(&self, tag: Option<VlanTag>) -> Option<VlanId> {
        let named = match tag {
            None => VlanId::UNTAGGED,
            Some(tag) => tag.vlan()?,
        };
        let vlan = match named {
            VlanId::UNTAGGED => self.untagged_in,
            _ if self.mode == VlanMode::Access => return None,
            vlan => vlan,
        };
        self.carries(vlan).then_some(vlan)
    }

    /// Returns true if frames of `vlan` leave with a tag.
    #[inline]
    pub fn leaves_tagged(&self, vlan: VlanId) -> bool {
        vlan != VlanId::UNTAGGED && vlan != self.untagged_out
    }
}
