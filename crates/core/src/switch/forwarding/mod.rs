//! Egress ports of a destination: static entries first, learned addresses where learning is on.
//!
//! A static entry is a single port or a group of them. A group's flows are spread over buckets by flow hash and the
//! buckets over its members; a pin takes one flow out of its bucket. Rerouting moves buckets and pins: the members of a
//! group are equally good by construction of the routes. The recent-flow monitor knows the flows that are worth moving.
//!
//! Flooding and learning need a network without loops: probes find them, and ports are blocked.
//!
//! Design: docs/src/internals/design/forwarding.md.

mod blocked;
mod buckets;
mod egresses;
mod entries;
mod explain;
mod flows;
mod groups;
mod index;
mod learnt;
mod loops;
mod pins;
mod routes;
mod sweep;
mod vlans;

use crate::command::CommandError;
use crate::config::{RouteConfig, SwitchConfig, BUCKETS_MAX};
use crate::sets::vlans::VlanId;
use crate::sets::PortSet;
use crate::units::{Instant, MacAddress, PortId};
use crate::wire::loop_probe::LOOP_PROBE_ADDRESS;
use blocked::Blocked;
use groups::{DealId, Groups};
use index::RouteIndex;
use learnt::{LearntTable, Moved};
use pins::Pins;

pub(super) use egresses::Egresses;
pub use entries::{LearntEntry, PinEntry, RouteEntry};
pub use explain::How;
pub(super) use flows::Flows;
pub use flows::{FlowRecord, HALVINGS, WAYS};
pub(super) use learnt::Noted;
pub(super) use loops::Loops;
pub use loops::BLOCKED_VLANS_MAX;
pub use pins::PinnedBy;
pub(crate) use vlans::check_route;
pub(super) use vlans::{OtherCopies, Vlans};
pub use vlans::{VlanTraffic, VLANS_SEEN_MAX};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Decision {
    /// Send it by this port.
    Port(PortId),
    /// Its address was learned: send it by this port, if its ingress port may learn addresses.
    Learnt(PortId),
    /// Send it by all ports used for flooding, except its ingress port.
    Flood,
    /// Unknown, and flooding is off.
    NoRoute,
}

/// Member for the frames of one flow to a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FlowWay {
    pub(super) group: GroupId,
    pub(super) port: PortId,
    pub(super) bucket: u16,
    pub(super) is_pinned: bool,
}

/// Identifies a group for as long as its destination has several members.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct GroupId(pub(super) u32);

#[derive(Clone, Copy, Debug)]
struct Route {
    /// See [`key`].
    address: u64,
    way: Way,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    Port(PortId),
    /// Frames read only the deal, as long as no flow is pinned.
    Group(DealId, GroupId),
}

// Four slots of the index share a cache line.
const _: () = assert!(size_of::<Way>() == 8);

/// Key of an entry: the address as a number, and above it the VLAN if the entry is for one.
#[inline(always)]
fn key(vlan: Option<VlanId>, destination: MacAddress) -> u64 {
    destination.to_u64() | u64::from(vlan.unwrap_or_default().get()) << 48
}

/// Static entries, sorted by VLAN and address, and learned addresses. A lookup is O(1); a change of entries is
/// O(entries + buckets + pins), and allocates nothing after [`touch`](Self::touch).
#[derive(Debug)]
#[cfg_attr(feature = "testing", derive(Clone))]
pub(super) struct Forwarding {
    routes: Vec<Route>,
    index: RouteIndex,
    route_capacity: usize,
    groups: Groups,
    pins: Pins,
    learnt: LearntTable,
    /// Ports used for flooding, if not all are.
    tree: Option<PortSet>,
    blocked: Blocked,
    version: u64,
}

impl Forwarding {
    /// The configured routes, and room for the additions that [`EcmpConfig`](crate::config::EcmpConfig) allows.
    pub(super) fn new(config: &SwitchConfig) -> Self {
        let with_buckets = config.routes.iter().filter(|route| route.ports.len() > 1);
        let buckets: usize = with_buckets.map(|route| usize::from(route.buckets)).sum();
        let route_capacity = config.routes.len() + config.ecmp.spare_routes;
        let mut forwarding = Self {
            routes: Vec::with_capacity(config.routes.len()),
            index: RouteIndex::new(route_capacity),
            route_capacity,
            groups: Groups::new(route_capacity, buckets + config.ecmp.spare_buckets),
            pins: Pins::new(config.ecmp.pin_capacity),
            learnt: LearntTable::new(config),
            tree: config.flood.tree,
            blocked: Blocked::new(config),
            version: 0,
        };
        let mut routes: Vec<&RouteConfig> = config.routes.iter().collect();
        // Sorted, so that each is appended to the table.
        routes.sort_unstable_by_key(|route| (route.vlan, route.destination));
        for route in routes {
            let members = route.ports.iter().copied().collect();
            let set =
                forwarding.set_route_in(route.vlan, route.destination, members, route.buckets);
            debug_assert_eq!(set, Ok(()), "the configuration was checked");
            for (flow_hash, port) in &route.pins {
                let pinned = forwarding.pin(Instant::ZERO, route.destination, *flow_hash, *port);
                debug_assert_eq!(pinned, Ok(()), "the configuration was checked");
            }
        }
        forwarding
    }

    /// Allocates the memory for everything that commands may add.
    pub(super) fn touch(&mut self) {
        let more = self.route_capacity - self.routes.len();
        self.routes.reserve_exact(more);
        self.groups.touch();
    }

    pub(super) fn learns(&self) -> bool {
        self.learnt.is_on()
    }

    /// The port of a destination behind a single one: the fast path of [`decide`](Self::decide).
    #[inline(always)]
    pub(super) fn single_port(&self, destination: MacAddress) -> Option<PortId> {
        self.index.find_port(destination.to_u64())
    }

    /// Prefetches the likely slot of a destination's entry.
    #[inline]
    pub(super) fn reads(&self, destination: MacAddress) -> u64 {
        self.index.reads(destination.to_u64())
    }

    /// The fast path for most frames to a group.
    #[inline]
    pub(super) fn likely_port(&self, destination: MacAddress, flow_hash: u32) -> Option<PortId> {
        match self.index.find(destination.to_u64())? {
            Way::Port(port) => Some(port),
            Way::Group(deal, _) => self.groups.port(deal, flow_hash),
        }
    }

    #[inline(never)]
    pub(super) fn decide(
        &mut self,
        now: Instant,
        destination: MacAddress,
        flow_hash: u32,
    ) -> Decision {
        self.decide_in(now, VlanId::UNTAGGED, destination, flow_hash)
    }

    /// The decision for a frame of `vlan`: an entry for that VLAN takes precedence over one for all VLANs. Addresses
    /// are learned for one VLAN.
    pub(super) fn decide_in(
        &mut self,
        now: Instant,
        vlan: VlanId,
        destination: MacAddress,
        flow_hash: u32,
    ) -> Decision {
        match self.static_way(vlan, destination) {
            Some(Way::Port(port)) => Decision::Port(port),
            Some(Way::Group(deal, group)) => self.decide_in_group(now, deal, group, flow_hash),
            None => self.decide_by_what_is_learnt(now, vlan, destination),
        }
    }

    fn static_way(&self, vlan: VlanId, destination: MacAddress) -> Option<Way> {
        if vlan != VlanId::UNTAGGED {
            if let Some(way) = self.index.find(key(Some(vlan), destination)) {
                return Some(way);
            }
        }
        self.index.find(destination.to_u64())
    }

    fn decide_in_group(
        &mut self,
        now: Instant,
        deal: DealId,
        group: GroupId,
        flow_hash: u32,
    ) -> Decision {
        if self.pins.len() > 0 && self.groups.has_pins(group) {
            if let Some(port) = self.pins.use_pin(now, group, flow_hash) {
                return Decision::Port(port);
            }
        }
        self.groups
            .port(deal, flow_hash)
            .map_or(Decision::NoRoute, Decision::Port)
    }

    fn decide_by_what_is_learnt(
        &self,
        now: Instant,
        vlan: VlanId,
        destination: MacAddress,
    ) -> Decision {
        if destination.is_group() && self.has_tree() {
            return Decision::Flood;
        }
        if !self.learns() {
            return Decision::NoRoute;
        }
        if destination.is_group() {
            return Decision::Flood;
        }
        self.learnt
            .find(now, key(Some(vlan), destination))
            .filter(|port| !self.is_blocked(*port, vlan))
            .map_or(Decision::Flood, Decision::Learnt)
    }

    /// Notes that the source of a frame is behind `port`, unless it is a probe for loops. Addresses with a
    /// static entry are not learnt, nor are addresses from a port that is not on the tree: a frame that
    /// arrived there over a static entry does not show where the tree leads.
    pub(super) fn learn(
        &mut self,
        now: Instant,
        source: MacAddress,
        destination: MacAddress,
        port: PortId,
    ) -> Option<Noted> {
        self.learn_in(now, VlanId::UNTAGGED, source, destination, port)
    }

    /// [`learn`](Self::learn) for a frame of `vlan`.
    pub(super) fn learn_in(
        &mut self,
        now: Instant,
        vlan: VlanId,
        source: MacAddress,
        destination: MacAddress,
        port: PortId,
    ) -> Option<Noted> {
        let is_probe = destination == LOOP_PROBE_ADDRESS;
        if !self.learns() || source.is_group() || is_probe || !self.is_on_tree(port, vlan) {
            return None;
        }
        match self.static_way(vlan, source) {
            None => self.learnt.note(now, key(Some(vlan), source), port),
            Some(way) => self.check_static_source(way, port),
        }
    }

    /// Checks for a host that uses an address of another port. Switches may forward frames on other paths than those
    /// back.
    fn check_static_source(&self, way: Way, port: PortId) -> Option<Noted> {
        let is_there = match way {
            Way::Port(its) => its == port,
            Way::Group(_, group) => self.groups.members(group).contains(port),
        };
        (!is_there && self.learnt.is_edge(port)).then_some(Noted::Foreign)
    }

    /// Current way of a flow's frames; `None` if there is no choice.
    pub(super) fn way_of(&self, destination: MacAddress, flow_hash: u32) -> Option<FlowWay> {
        self.way_in(self.group_of(destination)?, flow_hash)
    }

    fn way_in(&self, group: GroupId, flow_hash: u32) -> Option<FlowWay> {
        let (bucket, port) = self.groups.bucket(group, flow_hash)?;
        let pin = self.pins.find(group, flow_hash);
        Some(FlowWay {
            group,
            port: pin.map_or(port, |pin| pin.port),
            bucket,
            is_pinned: pin.is_some(),
        })
    }

    /// The group of a destination with several members.
    pub(super) fn group_of(&self, destination: MacAddress) -> Option<GroupId> {
        match self.index.find(destination.to_u64())? {
            Way::Port(_) => None,
            Way::Group(_, group) => Some(group),
        }
    }

    pub(super) fn members(&self, group: GroupId) -> PortSet {
        self.groups.members(group)
    }

    #[cfg(test)]
    pub(super) fn set_route(
        &mut self,
        destination: MacAddress,
        members: PortSet,
        buckets: u16,
    ) -> Result<(), CommandError> {
        self.set_route_in(None, destination, members, buckets)
    }

    /// Replaces the members of `destination`. The buckets are dealt again; pins stay if their port is still a member.
    /// With a VLAN, only for its frames.
    pub(super) fn set_route_in(
        &mut self,
        vlan: Option<VlanId>,
        destination: MacAddress,
        members: PortSet,
        buckets: u16,
    ) -> Result<(), CommandError> {
        let count = members.count();
        let Some(first) = members.iter().next() else {
            return Err(CommandError::NoMembers(destination));
        };
        if !(count..=BUCKETS_MAX).contains(&usize::from(buckets)) {
            return Err(CommandError::BucketCount {
                buckets,
                members: count,
            });
        }
        let address = key(vlan, destination);
        let place = self.find(address);
        let known = place.ok().map(|index| self.routes[index].way);
        if known.is_none() && self.routes.len() >= self.route_capacity {
            return Err(CommandError::RoutesFull(self.route_capacity));
        }
        let way = match (known, count) {
            (Some(Way::Group(_, group)), 1) => {
                self.pins.remove_group(group, |_| true);
                self.groups.remove(group);
                Way::Port(first)
            }
            (_, 1) => Way::Port(first),
            (Some(Way::Group(_, group)), _) => {
                self.groups.replace(group, members, buckets)?;
                let kept = |port| members.contains(port);
                let removed = self.pins.remove_group(group, |pin| !kept(pin.port));
                self.groups.note_pins_removed(group, removed);
                self.way_by(group)
            }
            (_, _) => {
                let group = self.groups.add(address, members, buckets)?;
                self.way_by(group)
            }
        };
        self.version += 1;
        match place {
            Ok(index) => self.routes[index].way = way,
            Err(index) => self.routes.insert(index, Route { address, way }),
        }
        self.index.set(address, way);
        Ok(())
    }

    /// Forgets `destination`, its buckets and its pins.
    pub(super) fn remove_route(&mut self, destination: MacAddress) -> Result<(), CommandError> {
        self.remove_route_in(None, destination)
    }

    /// [`remove_route`](Self::remove_route) for the entry of one VLAN.
    pub(super) fn remove_route_in(
        &mut self,
        vlan: Option<VlanId>,
        destination: MacAddress,
    ) -> Result<(), CommandError> {
        let address = key(vlan, destination);
        let index = self
            .find(address)
            .map_err(|_| CommandError::NoSuchRoute(destination))?;
        self.version += 1;
        self.index.remove(address);
        if let Way::Group(_, group) = self.routes.remove(index).way {
            self.pins.remove_group(group, |_| true);
            self.groups.remove(group);
        }
        Ok(())
    }

    /// Number that differs after each change of the static entries.
    pub(super) fn version(&self) -> u64 {
        self.version
    }

    pub(super) fn route_count(&self) -> usize {
        self.routes.len()
    }

    pub(super) fn pin_count(&self) -> usize {
        self.pins.len()
    }

    fn find(&self, address: u64) -> Result<usize, usize> {
        self.routes
            .binary_search_by_key(&address, |route| route.address)
    }
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
