//! Prefetches memory that frames will touch, for callers with so many switches that no cache holds them all.
//!
//! A frame needs dependent lookups: handle, route, port, buffer. A caller that knows several frames of one switch can
//! do the first lookup for all of them, then the second: independent loads overlap. Nothing here changes any state, and
//! the results are only good for [`std::hint::black_box`].

use crate::frame::FrameHandle;
use crate::switch::Switch;
use crate::units::{MacAddress, PortId, Priority};

impl Switch {
    /// Returns the port by which a frame is likely to leave: by static entries for all VLANs, regardless of pins. O(1).
    #[inline]
    pub fn likely_egress(&self, destination: MacAddress, flow_hash: u32) -> Option<PortId> {
        self.forwarding.likely_port(destination, flow_hash)
    }

    /// Prefetches the entry that [`likely_egress`](Self::likely_egress) will look up. O(1).
    #[inline]
    pub fn read_route(&self, destination: MacAddress) -> u64 {
        self.forwarding.reads(destination)
    }

    /// Ingress (port, priority) of a frame in the switch. O(1).
    #[inline]
    pub fn origin(&self, handle: FrameHandle) -> Option<(PortId, Priority)> {
        self.charges.origin(handle)
    }

    /// Reads the memory of the ingress port that [`receive`](Self::receive) and [`complete`](Self::complete) touch.
    /// O(1).
    #[inline]
    pub fn read_ingress(&self, ingress: PortId, priority: Priority) -> u64 {
        let Some(port) = self.ports.get(ingress.index()) else {
            return 0;
        };
        let buffer = port.ingress[priority.index()].occupancy().get();
        let counted = port.counters.priority[priority.index()].rx_frames;
        u64::from(port.takes_frames) ^ buffer ^ counted
    }

    /// Reads the memory of the egress port that [`receive`](Self::receive) and [`transmit`](Self::transmit) touch.
    /// O(1).
    #[inline]
    pub fn read_egress(&self, egress: PortId, priority: Priority) -> u64 {
        let Some(port) = self.ports.get(egress.index()) else {
            return 0;
        };
        let index = priority.index();
        let waits = self.queues.reads(egress, priority);
        let free = port.shaper.free_at().as_nanos() ^ port.turn.deficits[index];
        let gate = u64::from(port.levels[index].is_some()) ^ u64::from(port.precedence.is_some());
        let held = port.resumes_at(priority).as_nanos();
        let counted = port.counters.priority[index].tx_frames;
        waits ^ free ^ gate ^ held ^ port.egress[index].backlog().get() ^ counted
    }
}
