//! Forwards requests for the address of a known station only to it.

use weir_core::wire::resolution::requested_address;
use weir_core::{Frame, Instant, MacAddress, PortId};

use super::Worker;
use crate::rings::io::Io;

impl<I: Io> Worker<I> {
    /// Returns the station that a group frame requests, if it is known and reachable; `None` for a frame that is
    /// flooded unchanged. Counts both.
    #[cold]
    pub(super) fn station_asked_for(
        &mut self,
        now: Instant,
        port: PortId,
        frame: &Frame,
    ) -> Option<MacAddress> {
        let chunk = frame.handle.0;
        // No request is that long.
        if self.io.next(chunk).is_some() {
            return None;
        }
        let address = requested_address(self.io.frame(chunk).1)?;
        let counters = &mut self.stats.counters;
        let Some(station) = self.stations.find(address) else {
            counters.address_requests_unknown += 1;
            return None;
        };
        let way = self.switch.way_to(now, port, station, frame.flow_hash);
        if way.is_none() {
            counters.address_requests_without_way += 1;
            return None;
        }
        counters.address_requests_directed += 1;
        Some(station)
    }
}
