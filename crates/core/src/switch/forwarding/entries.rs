//! Queries of the tables.

use super::sweep::Forget;
use super::{key, Forwarding, PinnedBy, Way};
use crate::sets::vlans::VlanId;
use crate::sets::PortSet;
use crate::units::{Instant, MacAddress, PortId};

/// One static entry, read by [`Switch::routes`](crate::Switch::routes).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RouteEntry<'a> {
    /// The destination.
    pub destination: MacAddress,
    /// The VLAN, if the entry is for one.
    pub vlan: Option<VlanId>,
    /// The ports of its group.
    pub members: PortSet,
    /// Member of each bucket. Empty for a single member.
    pub buckets: &'a [PortId],
    /// Number of pinned flows.
    pub pins: usize,
}

/// One learnt address, read by [`Switch::learnt`](crate::Switch::learnt).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LearntEntry {
    /// The address.
    pub destination: MacAddress,
    /// Its VLAN.
    pub vlan: VlanId,
    /// The port behind which it was seen.
    pub port: PortId,
    /// When it was last seen.
    pub seen_at: Instant,
}

/// One flow pin, read by [`Switch::pins`](crate::Switch::pins).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PinEntry {
    /// The destination.
    pub destination: MacAddress,
    /// The flow.
    pub flow_hash: u32,
    /// The member by which it leaves.
    pub port: PortId,
    /// Source of the pin.
    pub by: PinnedBy,
}

impl Forwarding {
    /// All static entries, ordered by VLAN (those for all VLANs first) and address. O(1) for each item.
    pub(in crate::switch) fn routes(&self) -> impl Iterator<Item = RouteEntry<'_>> {
        self.routes.iter().map(|route| {
            let destination = MacAddress::from_u64(route.address);
            let vlan = VlanId::new((route.address >> 48) as u16);
            let vlan = vlan.filter(|vlan| *vlan != VlanId::UNTAGGED);
            match route.way {
                Way::Port(port) => RouteEntry {
                    destination,
                    vlan,
                    members: PortSet::from_iter([port]),
                    buckets: &[],
                    pins: 0,
                },
                Way::Group(_, group) => RouteEntry {
                    destination,
                    vlan,
                    members: self.groups.members(group),
                    buckets: self.groups.buckets(group),
                    pins: self.groups.pin_count(group),
                },
            }
        })
    }

    /// All pins in no particular order. O(capacity) in total.
    pub(in crate::switch) fn pins(&self) -> impl Iterator<Item = PinEntry> + '_ {
        self.pins.iter().map(|pin| PinEntry {
            destination: self.groups.destination(pin.group),
            flow_hash: pin.flow_hash,
            port: pin.port,
            by: pin.by,
        })
    }

    /// Addresses that have not expired, by VLAN and address, with their port and the time since they were last seen.
    /// O(capacity).
    pub(in crate::switch) fn learnt(&self, now: Instant) -> impl Iterator<Item = LearntEntry> + '_ {
        self.learnt
            .iter(now)
            .map(|(key, port, seen_at)| LearntEntry {
                destination: MacAddress::from_u64(key),
                vlan: VlanId::new((key >> 48) as u16).unwrap_or_default(),
                port,
                seen_at,
            })
    }

    pub(in crate::switch) fn learnt_count(&self) -> u32 {
        self.learnt.len()
    }

    pub(in crate::switch) fn learnt_at(&self, port: PortId) -> u32 {
        self.learnt.count_at(port)
    }

    pub(in crate::switch) fn learnt_capacity(&self) -> usize {
        self.learnt.capacity()
    }

    pub(in crate::switch) fn note_link(&mut self, port: PortId, is_up: bool) {
        self.learnt.note_link(port, is_up);
    }

    /// Forgets learned addresses. Returns false if there is no room for another request.
    pub(in crate::switch) fn forget_learnt(
        &mut self,
        now: Instant,
        port: Option<PortId>,
        vlan: Option<VlanId>,
    ) -> bool {
        let at = now;
        self.learnt.forget(now, Forget { port, vlan, at })
    }

    pub(in crate::switch) fn next_sweep(&self) -> Instant {
        self.learnt.next_sweep()
    }

    /// Forgets some of the addresses that have expired or were requested to be forgotten.
    pub(in crate::switch) fn sweep_learnt(&mut self, now: Instant) {
        self.learnt.sweep(now);
    }

    /// The port by which a frame of this flow from `ingress` would leave, if it has a route. Records nothing.
    pub(in crate::switch) fn known_way(
        &self,
        now: Instant,
        ingress: PortId,
        vlan: VlanId,
        destination: MacAddress,
        flow_hash: u32,
    ) -> Option<PortId> {
        match self.static_way(vlan, destination) {
            Some(Way::Port(port)) => Some(port),
            Some(Way::Group(_, group)) => Some(self.way_in(group, flow_hash)?.port),
            None if self.is_on_tree(ingress, vlan) => {
                let learnt = self.learnt.find(now, key(Some(vlan), destination));
                learnt.filter(|port| !self.is_blocked(*port, vlan))
            }
            None => None,
        }
    }
}
