//! What the tables have, for whoever asks.

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
    /// Of frames of this VLAN alone.
    pub vlan: Option<VlanId>,
    /// The ports of its group.
    pub members: PortSet,
    /// By bucket: the member that it belongs to. Empty for a single member.
    pub buckets: &'a [PortId],
    /// Flows that are pinned.
    pub pins: usize,
}

/// One learnt address, read by [`Switch::learnt`](crate::Switch::learnt).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LearntEntry {
    /// The address.
    pub destination: MacAddress,
    /// The VLAN that it is in.
    pub vlan: VlanId,
    /// The port that it is behind.
    pub port: PortId,
    /// When it was heard of last.
    pub seen_at: Instant,
}

/// One flow pin, read by [`Switch::pins`](crate::Switch::pins).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PinEntry {
    /// The destination.
    pub destination: MacAddress,
    /// The flow.
    pub flow_hash: u32,
    /// The member that it leaves by.
    pub port: PortId,
    /// Who pinned it.
    pub by: PinnedBy,
}

impl Forwarding {
    /// All static entries in the order of their VLANs, those for all of them first, and addresses. O(1) for each that is taken.
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

    /// All pins in no particular order. O(capacity) for all of them.
    pub(in crate::switch) fn pins(&self) -> impl Iterator<Item = PinEntry> + '_ {
        self.pins.iter().map(|pin| PinEntry {
            destination: self.groups.destination(pin.group),
            flow_hash: pin.flow_hash,
            port: pin.port,
            by: pin.by,
        })
    }

    /// Addresses that are known of late, by VLAN and address, with the port that each is behind and since when nothing was
    /// heard of it. O(capacity).
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

    /// The link of `port` is up or down.
    pub(in crate::switch) fn note_link(&mut self, port: PortId, is_up: bool) {
        self.learnt.note_link(port, is_up);
    }

    /// Forgets learned addresses. False where there is no room for another request.
    pub(in crate::switch) fn forget_learnt(
        &mut self,
        now: Instant,
        port: Option<PortId>,
        vlan: Option<VlanId>,
    ) -> bool {
        let at = now;
        self.learnt.forget(now, Forget { port, vlan, at })
    }

    /// When [`sweep_learnt`](Self::sweep_learnt) has something to do.
    pub(in crate::switch) fn next_sweep(&self) -> Instant {
        self.learnt.next_sweep()
    }

    /// Forgets some of the addresses that are too old, or to be forgotten.
    pub(in crate::switch) fn sweep_learnt(&mut self, now: Instant) {
        self.learnt.sweep(now);
    }

    /// The port that a frame of this flow from `ingress` would leave by, if it has a way of its own. Nothing is noted.
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
