//! VLANs in a [`Snapshot`](super::messages::Snapshot).

use weir_core::switch::{LearntEntry, VlanTraffic, BLOCKED_VLANS_MAX};
use weir_core::{Instant, PortId, Switch, VlanId, VlanPort, VlanSet};

/// Maximum number of learned addresses in a snapshot.
pub const LEARNT_MAX: usize = 4096;

/// Counters by VLAN, and on request ([`Tables::vlans`](super::tables::Tables)) the ports' treatment of tags and the learned
/// addresses.
#[derive(Clone, Debug, Default)]
pub struct VlanTables {
    /// As in [`Switch::vlan_traffic`]; empty if the switch ignores tags.
    pub traffic: Vec<VlanTraffic>,
    /// By port; empty if the switch ignores tags.
    pub ports: Vec<VlanPort>,
    /// Learned addresses, as many as there was room for.
    pub learnt: Vec<LearntEntry>,
    /// True if there was no room for more.
    pub learnt_left_out: bool,
}

/// VLANs in which a port neither floods nor learns because of a loop. Has its own memory, because nothing may be allocated
/// while it is filled.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BlockedIn {
    /// In all VLANs, or in a switch that ignores tags.
    pub is_whole: bool,
    vlans: [Option<VlanId>; BLOCKED_VLANS_MAX],
}

impl BlockedIn {
    pub(crate) fn of(switch: &Switch, port: PortId) -> Self {
        let mut blocked = Self::default();
        for (at, vlan) in switch.blocked_in(port).enumerate() {
            match (vlan, blocked.vlans.get_mut(at)) {
                (Some(_), Some(place)) => *place = vlan,
                _ => blocked.is_whole = true,
            }
        }
        blocked
    }

    /// Returns true if the port is blocked in any VLAN.
    pub fn is_any(&self) -> bool {
        self.is_whole || self.vlans.iter().any(Option::is_some)
    }

    /// Returns the VLANs, if the port is blocked in some only.
    pub fn vlans(&self) -> VlanSet {
        self.vlans.iter().flatten().copied().collect()
    }
}

impl VlanTables {
    /// Reserves room for the requested tables.
    pub fn make_room(&mut self, port_count: usize) {
        self.ports.clear();
        self.ports.reserve_exact(port_count);
        self.learnt.clear();
        self.learnt.reserve_exact(LEARNT_MAX);
    }

    /// Copies the counters. Allocates only when a snapshot is first used.
    pub(crate) fn fill_traffic(&mut self, switch: &Switch) {
        self.traffic.clear();
        self.traffic.reserve_exact(switch.vlan_capacity());
        self.traffic.extend_from_slice(switch.vlan_traffic());
    }

    /// Copies as much as there is room for, without allocation.
    pub(crate) fn fill(&mut self, now: Instant, switch: &Switch) {
        self.ports.clear();
        let room = self.ports.capacity();
        self.ports
            .extend(switch.config().vlans.iter().take(room).copied());
        self.learnt.clear();
        let room = self.learnt.capacity();
        self.learnt.extend(switch.learnt(now).take(room));
        self.learnt_left_out = self.learnt.len() == room;
    }
}
