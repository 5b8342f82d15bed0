//! Routes and recent flows as the caller sees them.

use super::observe::FlowKey;
use super::{FlowRecord, PinEntry, RouteEntry, Switch};
use crate::command::CommandError;
use crate::event::{Event, EventKind};
use crate::frame::Frame;
use crate::port_set::PortSet;
use crate::units::{Instant, MacAddress, PortId};

impl Switch {
    /// The static forwarding entries in the order of their addresses. O(1) for each that is taken.
    pub fn routes(&self) -> impl Iterator<Item = RouteEntry<'_>> {
        self.forwarding.routes()
    }

    /// Static forwarding entries.
    pub fn route_count(&self) -> usize {
        self.forwarding.route_count()
    }

    /// The flow pins, in no particular order. O(their capacity) for all of them.
    pub fn pins(&self) -> impl Iterator<Item = PinEntry> + '_ {
        self.forwarding.pins()
    }

    /// Flow pins.
    pub fn pin_count(&self) -> usize {
        self.forwarding.pin_count()
    }

    /// The flows of which the monitor has seen a frame within
    /// [`FlowMonitorConfig::age`](crate::config::FlowMonitorConfig::age), in no particular order. Every
    /// unicast frame that is admitted counts. O(its capacity) for all of them.
    pub fn flows(&self, now: Instant) -> impl Iterator<Item = FlowRecord> + '_ {
        self.flows.iter(now)
    }

    /// Recent flows that the monitor forgot because heavier ones needed their place.
    pub fn flow_evictions(&self) -> u64 {
        self.flows.evictions()
    }

    pub(super) fn set_route(
        &mut self,
        now: Instant,
        destination: MacAddress,
        members: PortSet,
        buckets: u16,
    ) -> Result<(), CommandError> {
        for port in members.iter() {
            self.port_mut(port)?;
        }
        self.forwarding.set_route(destination, members, buckets)?;
        self.note_ways_changed(now);
        Ok(())
    }

    /// Tells who may have given up for want of another way that there may be one. A change of many routes is told once.
    pub(super) fn note_ways_changed(&mut self, now: Instant) {
        let told = |event: &Event| event.kind == EventKind::WaysChanged;
        if self.detector.suspected > 0 && !self.events.back().is_some_and(told) {
            self.push_event(now, EventKind::WaysChanged);
        }
    }

    /// A frame is admitted; `only` is the one port that it leaves by.
    pub(super) fn note_flow(
        &mut self,
        now: Instant,
        ingress: PortId,
        frame: &Frame,
        only: Option<PortId>,
    ) {
        if !self.flows.is_on() || frame.destination.is_group() {
            return;
        }
        if let Some(egress) = only {
            let key = FlowKey {
                ingress,
                egress,
                priority: frame.priority,
                destination: frame.destination,
                flow_hash: frame.flow_hash,
            };
            self.flows.note(now, key, frame.length);
        }
    }
}
