//! Routes and pins in the switch's interface.

use super::{Forwarding, PinEntry, RouteEntry};
use crate::command::CommandError;
use crate::sets::vlans::VlanId;
use crate::sets::PortSet;
use crate::switch::Switch;
use crate::units::{Instant, MacAddress, PortId};

impl Switch {
    /// The static forwarding entries, ordered by VLAN and address. O(1) for each item.
    pub fn routes(&self) -> impl Iterator<Item = RouteEntry<'_>> {
        self.forwarding.routes()
    }

    /// The port by which a frame to `destination` received on `ingress` would leave: a working port other than
    /// `ingress`. `None` if the frame would be flooded or dropped. Assumes an untagged frame in a VLAN-aware switch.
    /// Changes nothing. O(1).
    pub fn way_to(
        &self,
        now: Instant,
        ingress: PortId,
        destination: MacAddress,
        flow_hash: u32,
    ) -> Option<PortId> {
        let vlan = match self.is_vlan_aware() {
            true => Some(self.vlan_of(ingress, None)?),
            false => None,
        };
        let way = self.forwarding.known_way(
            now,
            ingress,
            vlan.unwrap_or_default(),
            destination,
            flow_hash,
        )?;
        if vlan.is_some_and(|vlan| !self.carries(way, vlan)) {
            return None;
        }
        let is_up = self.ports.get(way.index())?.up;
        (is_up && way != ingress).then_some(way)
    }

    /// Returns true if frames to `destination` without a VLAN have several possible egress ports, one for each flow
    /// hash. O(1).
    pub fn has_choice(&self, destination: MacAddress) -> bool {
        self.forwarding.group_of(destination).is_some()
    }

    /// Number of static forwarding entries.
    pub fn route_count(&self) -> usize {
        self.forwarding.route_count()
    }

    /// The flow pins, in no particular order. O(capacity) in total.
    pub fn pins(&self) -> impl Iterator<Item = PinEntry> + '_ {
        self.forwarding.pins()
    }

    /// Number of flow pins.
    pub fn pin_count(&self) -> usize {
        self.forwarding.pin_count()
    }

    pub(in crate::switch) fn set_route_in(
        &mut self,
        vlan: Option<VlanId>,
        destination: MacAddress,
        members: PortSet,
        buckets: u16,
    ) -> Result<(), CommandError> {
        for port in members.iter() {
            if self.port_mut(port)?.reserved {
                return Err(CommandError::PortReserved(port));
            }
        }
        self.check_members(vlan, destination, members)?;
        self.forwarding
            .set_route_in(vlan, destination, members, buckets)
    }
}

impl Forwarding {
    /// Returns true if a static entry has `port` among its ports. O(entries).
    pub(in crate::switch) fn leads_to(&self, port: PortId) -> bool {
        self.routes().any(|route| route.members.contains(port))
    }
}
