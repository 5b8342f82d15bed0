//! The stations whose network addresses are configured.

use std::collections::HashMap;
use std::net::IpAddr;

use weir_config::daemon::DaemonConfig;
use weir_core::MacAddress;

/// MAC addresses by network address: as many as the configuration has, which is bounded. A look-up is O(1) and allocates
/// nothing; the hash function's key is unknown to senders of frames.
#[derive(Debug, Default)]
pub struct Stations {
    macs: HashMap<IpAddr, MacAddress>,
}

impl Stations {
    /// Builds the stations that requests are sent to; none without `multicast.suppress`.
    pub fn new(config: &DaemonConfig) -> Self {
        let stations = config.stations.iter();
        let used = stations.filter(|_| config.multicast.suppress);
        let pairs = used.flat_map(|station| {
            let addresses = station.addresses.iter();
            addresses.map(|address| (*address, station.mac))
        });
        Self {
            macs: pairs.collect(),
        }
    }

    pub(crate) fn is_on(&self) -> bool {
        !self.macs.is_empty()
    }

    pub(crate) fn find(&self, address: IpAddr) -> Option<MacAddress> {
        self.macs.get(&address).copied()
    }
}
