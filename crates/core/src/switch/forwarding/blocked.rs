//! Where nothing is flooded and learnt: off the tree, and where a loop was found.

use super::Forwarding;
use crate::config::SwitchConfig;
use crate::sets::vlans::{VlanId, VlanSet};
use crate::sets::PortSet;
use crate::units::PortId;

/// Ports that flood and learn nothing because of a loop, in all VLANs or in some.
#[derive(Debug, Default)]
#[cfg_attr(feature = "testing", derive(Clone))]
pub(super) struct Blocked {
    /// In any VLAN.
    any: PortSet,
    /// In all.
    whole: PortSet,
    /// By port; nothing in a switch to which tags mean nothing.
    in_vlans: Vec<VlanSet>,
}

impl Blocked {
    pub(super) fn new(config: &SwitchConfig) -> Self {
        let is_asked = config.loops.is_some() && config.learning_capacity > 0;
        let ports = if is_asked { config.vlans.len() } else { 0 };
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
    /// Whether flooded frames use some ports only.
    pub(in crate::switch) fn has_tree(&self) -> bool {
        self.tree.is_some()
    }

    /// Whether frames of `vlan` without a way of their own may come in and leave by `port`.
    pub(in crate::switch) fn is_on_tree(&self, port: PortId, vlan: VlanId) -> bool {
        self.tree.is_none_or(|tree| tree.contains(port)) && !self.is_blocked(port, vlan)
    }

    /// Whether it floods and learns nothing in `vlan` because of a loop.
    pub(in crate::switch) fn is_blocked(&self, port: PortId, vlan: VlanId) -> bool {
        self.blocked.is_blocked(port, vlan)
    }

    /// Ports that are blocked in any VLAN.
    pub(in crate::switch) fn blocked_ports(&self) -> PortSet {
        self.blocked.any
    }

    /// In this VLAN the port floods and learns nothing from now on, without a VLAN in none.
    pub(in crate::switch) fn block(&mut self, port: PortId, vlan: Option<VlanId>) {
        self.blocked.any.insert(port);
        match (vlan, self.blocked.in_vlans.get_mut(port.index())) {
            (Some(vlan), Some(vlans)) => vlans.insert(vlan),
            _ => self.blocked.whole.insert(port),
        }
    }

    /// The port floods again in this VLAN, without a VLAN in all.
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
