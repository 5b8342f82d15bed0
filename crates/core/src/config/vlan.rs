//! Treatment of tags by the ports of a VLAN-aware switch.

use crate::sets::vlans::{VlanId, VlanSet, VlanTag};

crate::named! {
    /// VLANs of a port, and which frames are tagged on its line. Names and meanings are those of Open vSwitch.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum VlanMode {
        /// One VLAN, untagged.
        Access => "access",
        /// Several VLANs, tagged.
        Trunk => "trunk",
        /// Several VLANs, tagged; untagged frames belong to the native VLAN.
        NativeTagged => "native-tagged",
        /// As `native-tagged`, but frames of the native VLAN leave untagged.
        NativeUntagged => "native-untagged",
    }
}

/// One port of a VLAN-aware switch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VlanPort {
    mode: VlanMode,
    /// VLAN of frames that arrive untagged.
    untagged_in: VlanId,
    /// Frames of this VLAN, and those of [`VlanId::UNTAGGED`], leave untagged.
    untagged_out: VlanId,
    carried: VlanSet,
}

impl VlanPort {
    /// Creates a port with one VLAN, untagged.
    pub fn access(vlan: VlanId) -> Self {
        Self {
            mode: VlanMode::Access,
            untagged_in: vlan,
            untagged_out: vlan,
            carried: [vlan].into_iter().collect(),
        }
    }

    /// Creates a port with these VLANs, tagged. [`VlanId::UNTAGGED`] may be one of them.
    pub const fn trunk(trunks: VlanSet) -> Self {
        Self {
            mode: VlanMode::Trunk,
            untagged_in: VlanId::UNTAGGED,
            untagged_out: VlanId::UNTAGGED,
            carried: trunks,
        }
    }

    /// Creates a port with these VLANs and the native one, all tagged. [`VlanId::UNTAGGED`] is excluded: untagged
    /// frames on this line belong to the native VLAN, so its frames would change VLAN.
    pub fn native_tagged(native: VlanId, trunks: VlanSet) -> Self {
        let mut port = Self::trunk(trunks);
        port.mode = VlanMode::NativeTagged;
        port.untagged_in = native;
        port.carried.remove(VlanId::UNTAGGED);
        port.carried.insert(native);
        port
    }

    /// Creates a port with these VLANs tagged and the native one untagged.
    pub fn native_untagged(native: VlanId, trunks: VlanSet) -> Self {
        let mut port = Self::native_tagged(native, trunks);
        port.mode = VlanMode::NativeUntagged;
        port.untagged_out = native;
        port
    }

    /// The port's mode.
    pub const fn mode(&self) -> VlanMode {
        self.mode
    }

    /// VLAN of frames that arrive untagged.
    pub const fn untagged_in(&self) -> VlanId {
        self.untagged_in
    }

    /// The port's VLANs.
    pub const fn carried(&self) -> &VlanSet {
        &self.carried
    }

    /// Returns true if frames of `vlan` enter and leave by this port.
    #[inline]
    pub fn carries(&self, vlan: VlanId) -> bool {
        self.carried.contains(vlan)
    }

    /// Returns the VLAN of a frame that arrives with this tag or untagged; `None` if it may not enter. A tag with the
    /// number 0 names no VLAN (802.1Q, 9.6).
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
