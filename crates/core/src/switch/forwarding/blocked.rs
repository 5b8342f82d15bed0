//! Ports that neither flood nor learn: off the tree, and where a loop was found.

use super::Forwarding;
use crate::config::SwitchConfig;
use crate::sets::vlans::{VlanId, VlanSet};
use crate::sets::PortSet;
use crate::units::PortId;

/// Ports that neither flood nor learn because of a loop, in all VLANs or in some.
#[derive(Debug, Default)]
#[cfg_attr(feature = "testing", derive(Clone))]
pub(super) struct Blocked {
    /// Blocked in any VLAN.
    any: PortSet,
    /// Blocked in all VLANs.
    whole: PortSet,
    /// By port; empty in a switch that ignores tags.
    in_vlans: Vec<VlanSet>,
}

impl Blocked {
    pub(super) fn new(config: &SwitchConfig) -> Self {
        let ports = config.loops.map_or(0, |_| config.vlans.len());
        Self {
            any: PortSet::EMPTY,
            whole: PortSet::EMPTY,
            in_vlans: vec![VlanSet::EMPTY; ports],
        }
    }

    fn is_blocked(&self, port: PortId, vlan: VlanId) -> bool {
        let in_vlan = || {
            let vlans = self.in_vlans.get(port.index());
            vlans.is_some_and(|vlans| vlans.contains(vlan))
        };
        self.any.contains(port) && (self.whole.contains(port) || in_vlan())
    }
}

impl Forwarding {
    /// Returns true if frames are flooded on some ports only.
    pub(in crate::switch) fn has_tree(&self) -> bool {
        self.tree.is_some()
    }

    /// Returns true if frames of `vlan` without a route may enter and leave by `port`.
    pub(in crate::switch) fn is_on_tree(&self, port: PortId, vlan: VlanId) -> bool {
        self.tree.is_none_or(|tree| tree.contains(port)) && !self.is_blocked(port, vlan)
    }

    /// Returns true if `port` neither floods nor learns in `vlan` because of a loop.
    pub(in crate::switch) fn is_blocked(&self, port: PortId, vlan: VlanId) -> bool {
        self.blocked.is_blocked(port, vlan)
    }

    pub(in crate::switch) fn blocked_ports(&self) -> PortSet {
        self.blocked.any
    }

    /// Stops flooding and learning at `port` in this VLAN, or in all without a VLAN.
    pub(in crate::switch) fn block(&mut self, port: PortId, vlan: Option<VlanId>) {
        self.blocked.any.insert(port);
        match (vlan, self.blocked.in_vlans.get_mut(port.index())) {
            (Some(vlan), Some(vlans)) => vlans.insert(vlan),
            _ => self.blocked.whole.insert(port),
        }
    }

    /// Lets `port` flood again in this VLAN, or in all without a VLAN.
    pub(in crate::switch) fn unblock(&mut self, port: PortId, vlan: Option<VlanId>) {
        let vlans = self.blocked.in_vlans.get_mut(port.index());
        let rest = match (vlan, vlans) {
            (Some(vlan), Some(vlans)) => {
                vlans.remove(vlan);
                !vlans.is_empty() || self.blocked.whole.contains(port)
            }
            (_, vlans) => {
                self.blocked.whole.remove(port);
                if let Some(vlans) = vlans {
                    *vlans = VlanSet::EMPTY;
                }
                false
            }
        };
        if !rest {
            self.blocked.any.remove(port);
        }
    }
}
