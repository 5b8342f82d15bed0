//! Routes, recent flows and the loop's accounts in a [`Snapshot`](super::messages::Snapshot), on request, since they are too
//! large for every sample.

use weir_core::switch::{FlowRecord, PinEntry};
use weir_core::{Frame, Instant, MacAddress, PortId, PortSet, Switch, VlanId, VlanTag};

/// Maximum number of routes in a snapshot.
pub(crate) const ROUTES_MAX: usize = 4096;
/// Maximum total number of buckets of these routes.
pub(crate) const BUCKETS_MAX: usize = 1 << 18;
/// Maximum number of flow pins in a snapshot.
pub(crate) const PINS_MAX: usize = 4096;
/// Maximum number of recent flows in a snapshot.
pub(crate) const FLOWS_MAX: usize = 16_384;

/// Tables requested for a snapshot.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tables {
    /// Routes, their buckets, and flow pins.
    pub routes: bool,
    /// Recent flows.
    pub flows: bool,
    /// The loop's accounts.
    pub accounts: bool,
    /// VLAN settings of ports, and learnt addresses.
    pub vlans: bool,
    /// Request to predict the treatment of a frame.
    pub question: Option<Question>,
}

/// A frame and the port at which its treatment is to be predicted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Question {
    /// The port.
    pub port: PortId,
    /// The frame; its handle is unused.
    pub frame: Frame,
    /// Its outer C-tag.
    pub tag: Option<VlanTag>,
}

impl Tables {
    /// No tables.
    pub const NONE: Self = Self {
        routes: false,
        flows: false,
        accounts: false,
        vlans: false,
        question: None,
    };

    /// Returns the union; of two questions, only the first.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self {
            routes: self.routes || other.routes,
            flows: self.flows || other.flows,
            accounts: self.accounts || other.accounts,
            vlans: self.vlans || other.vlans,
            question: self.question.or(other.question),
        }
    }

    /// Returns true if every table of `wanted` is included.
    pub fn cover(self, wanted: Self) -> bool {
        (self.routes || !wanted.routes)
            && (self.flows || !wanted.flows)
            && (self.accounts || !wanted.accounts)
            && (self.vlans || !wanted.vlans)
            && (wanted.question.is_none() || self.question == wanted.question)
    }
}

/// One route.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RouteRow {
    /// The destination.
    pub destination: MacAddress,
    /// VLAN to which the route is restricted.
    pub vlan: Option<VlanId>,
    /// Its group.
    pub members: PortSet,
    /// Index of its first bucket in [`RouteTables::buckets`].
    pub first_bucket: usize,
    /// Number of buckets; zero for a single member.
    pub bucket_count: usize,
    /// Number of pinned flows.
    pub pins: usize,
}

/// Static entries, buckets and pins.
#[derive(Clone, Debug, Default)]
pub struct RouteTables {
    /// By VLAN and address, as many as there was room for.
    pub rows: Vec<RouteRow>,
    /// Members of the buckets of all rows, in the order of the rows.
    pub buckets: Vec<PortId>,
    /// As many as there was room for.
    pub pins: Vec<PinEntry>,
    /// Total number of routes.
    pub route_total: usize,
    /// Total number of pins.
    pub pin_total: usize,
}

impl RouteTables {
    /// Reserves room for [`ROUTES_MAX`] routes with their buckets and pins.
    pub fn make_room(&mut self) {
        self.clear();
        self.rows.reserve_exact(ROUTES_MAX);
        self.buckets.reserve_exact(BUCKETS_MAX);
        self.pins.reserve_exact(PINS_MAX);
    }

    /// Copies as much as there is room for, without allocation.
    pub(crate) fn fill(&mut self, switch: &Switch) {
        self.clear();
        for route in switch.routes() {
            let first_bucket = self.buckets.len();
            if self.rows.len() >= self.rows.capacity()
                || self.buckets.capacity() - first_bucket < route.buckets.len()
            {
                break;
            }
            self.buckets.extend_from_slice(route.buckets);
            self.rows.push(RouteRow {
                destination: route.destination,
                vlan: route.vlan,
                members: route.members,
                first_bucket,
                bucket_count: route.buckets.len(),
                pins: route.pins,
            });
        }
        let room = self.pins.capacity();
        self.pins.extend(switch.pins().take(room));
        self.route_total = switch.route_count();
        self.pin_total = switch.pin_count();
    }

    /// Removes all rows and keeps the memory.
    pub(crate) fn clear(&mut self) {
        self.rows.clear();
        self.buckets.clear();
        self.pins.clear();
    }

    /// Returns the member for each bucket of `row`.
    pub fn buckets_of(&self, row: &RouteRow) -> &[PortId] {
        self.buckets
            .get(row.first_bucket..row.first_bucket + row.bucket_count)
            .unwrap_or(&[])
    }
}

/// Recent flows.
#[derive(Clone, Debug, Default)]
pub struct FlowTable {
    /// In no particular order, as many as there was room for.
    pub rows: Vec<FlowRecord>,
    /// Total number of recent flows.
    pub total: usize,
    /// Flows that the monitor evicted for heavier ones since the start.
    pub evictions: u64,
}

impl FlowTable {
    /// Reserves room for [`FLOWS_MAX`] flows.
    pub fn make_room(&mut self) {
        self.rows.clear();
        self.rows.reserve_exact(FLOWS_MAX);
    }

    /// Copies as much as there is room for, without allocation.
    pub(crate) fn fill(&mut self, now: Instant, switch: &Switch) {
        self.rows.clear();
        self.total = 0;
        for flow in switch.flows(now) {
            self.total += 1;
            if self.rows.len() < self.rows.capacity() {
                self.rows.push(flow);
            }
        }
        self.evictions = switch.flow_evictions();
    }
}
