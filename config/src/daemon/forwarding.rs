//! `[forwarding]`, `[[route]]` and `[flows]`.

use weir_core::config::{default_bucket_count, EcmpConfig, FlowMonitorConfig};
use weir_core::{Duration, MacAddress, PortId};

/// `[forwarding]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ForwardingConfig {
    /// Whether addresses are learnt and unknown ones flooded.
    pub learning: bool,
    /// Addresses that are learnt at most.
    pub capacity: usize,
    /// A learnt address is forgotten after this long.
    pub age: Duration,
    /// Room for what is changed about routes at run time.
    pub ecmp: EcmpConfig,
}

/// `[[route]]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Route {
    /// Frames to this address …
    pub destination: MacAddress,
    /// … leave by one of these ports; at least one.
    pub ports: Vec<PortId>,
    /// Buckets that flows to it are spread over; without meaning for a single port.
    pub buckets: u16,
}

impl Route {
    /// A route with the usual number of buckets.
    pub fn new(destination: MacAddress, ports: Vec<PortId>) -> Self {
        Self {
            destination,
            buckets: default_bucket_count(ports.len()),
            ports,
        }
    }
}

/// `[flows]` where nothing else is said.
pub const DEFAULT_FLOWS: FlowMonitorConfig = FlowMonitorConfig {
    capacity: 4096,
    age: Duration::from_secs(10),
};

impl Default for ForwardingConfig {
    fn default() -> Self {
        Self {
            learning: false,
            capacity: 4096,
            age: Duration::from_secs(300),
            ecmp: EcmpConfig {
                spare_routes: 1024,
                spare_buckets: 1 << 16,
                pin_capacity: 4096,
            },
        }
    }
}
