//! Routes, recent flows and the loop's accounts in a [`Snapshot`](super::messages::Snapshot), on
//! request: they are larger than the contents of every sample.

use weir_core::switch::{FlowRecord, PinEntry};
use weir_core::{Frame, Instant, MacAddress, PortId, PortSet, Switch, VlanId, VlanTag};

/// Routes that a snapshot has at most.
pub const ROUTES_MAX: usize = 4096;
/// Buckets that the routes of a snapshot have together at most.
pub const BUCKETS_MAX: usize = 1 << 18;
/// Flow pins that a snapshot has at most.
pub const PINS_MAX: usize = 4096;
/// Recent flows that a snapshot has at most.
pub const FLOWS_MAX: usize = 16_384;

/// Which tables a snapshot is to have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tables {
    /// Routes, their buckets, and flow pins.
    pub routes: bool,
    /// Recent flows.
    pub flows: bool,
    /// The loop's books.
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
    /// The frame; its handle means nothing.
    pub frame: Frame,
    /// Its outer C-tag.
    pub tag: Option<VlanTag>,
}

impl Tables {
    /// None of them.
    pub const NONE: Self = Self {
        routes: false,
        flows: false,
        accounts: false,
        vlans: false,
        question: None,
    };

    /// These and those, but of two questions only the first.
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

    /// True when every one of `wanted` is among these.
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
    /// Of frames of this VLAN alone.
    pub vlan: Option<VlanId>,
    /// Its group.
    pub members: PortSet,
    /// Index of its first bucket in [`RouteTables::buckets`].
    pub first_bucket: usize,
    /// Number of buckets; zero for a single member.
    pub bucket_count: usize,
    /// Flows that are pinned.
    pub pins: usize,
}

/// Static entries, buckets and pins.
#[derive(Clone, Debug, Default)]
pub struct RouteTables {
    /// In the order of their VLANs and addresses, as many as there was room for.
    pub rows: Vec<RouteRow>,
    /// Buckets of all rows, one row's behind the other's: the member that each belongs to.
    pub buckets: Vec<PortId>,
    /// As many as there was room for.
    pub pins: Vec<PinEntry>,
    /// Routes in all.
    pub route_total: usize,
    /// Pins in all.
    pub pin_total: usize,
}

impl RouteTables {
    /// Makes room for [`ROUTES_MAX`] routes and what belongs to them.
    pub fn make_room(&mut self) {
        self.clear();
        self.rows.reserve_exact(ROUTES_MAX);
        self.buckets.reserve_exact(BUCKETS_MAX);
        self.pins.reserve_exact(PINS_MAX);
    }

    /// Copies what there is room for: allocates nothing.
    pub fn fill(&mut self, switch: &Switch) {
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

    /// Forgets all rows and keeps the room.
    pub fn clear(&mut self) {
        self.rows.clear();
        self.buckets.clear();
        self.pins.clear();
    }

    /// The member that each bucket of `row` belongs to.
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
    /// Recent flows in all.
    pub total: usize,
    /// Recent flows that the monitor forgot since the start because heavier ones needed their place.
    pub evictions: u64,
}

impl FlowTable {
    /// Makes room for [`FLOWS_MAX`] flows.
    pub fn make_room(&mut self) {
        self.rows.clear();
        self.rows.reserve_exact(FLOWS_MAX);
    }

    /// Copies what there is room for: allocates nothing.
    pub fn fill(&mut self, now: Instant, switch: &Switch) {
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
