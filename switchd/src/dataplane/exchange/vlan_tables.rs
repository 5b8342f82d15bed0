//! VLANs in a [`Snapshot`](super::messages::Snapshot).

use weir_core::switch::{LearntEntry, VlanTraffic};
use weir_core::{Instant, Switch, VlanPort};

/// Learnt addresses that a snapshot has at most.
pub const LEARNT_MAX: usize = 4096;

/// Counters by VLAN, and for whoever asked for them ([`Tables::vlans`](super::tables::Tables)) what ports make of tags and
/// which addresses have been learnt.
#[derive(Clone, Debug, Default)]
pub struct VlanTables {
    /// As [`Switch::vlan_traffic`] has it: empty where tags mean nothing.
    pub traffic: Vec<VlanTraffic>,
    /// By port; empty where tags mean nothing.
    pub ports: Vec<VlanPort>,
    /// As many as there was room for.
    pub learnt: Vec<LearntEntry>,
    /// There was no room for more.
    pub learnt_left_out: bool,
}

impl VlanTables {
    /// Makes room for what is asked for.
    pub fn make_room(&mut self, port_count: usize) {
        self.ports.clear();
        self.ports.reserve_exact(port_count);
        self.learnt.clear();
        self.learnt.reserve_exact(LEARNT_MAX);
    }

    /// Copies the counters. Allocates the first time that a snapshot comes by, never again.
    pub(in crate::dataplane) fn fill_traffic(&mut self, switch: &Switch) {
        self.traffic.clear();
        self.traffic.reserve_exact(switch.vlan_capacity());
        self.traffic.extend_from_slice(switch.vlan_traffic());
    }

    /// Copies what there is room for: allocates nothing.
    pub(in crate::dataplane) fn fill(&mut self, now: Instant, switch: &Switch) {
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
