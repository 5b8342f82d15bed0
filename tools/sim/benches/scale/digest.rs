//! A number with which two runs can be compared.

use weir_core::PortId;
use weir_sim::network::Network;

use crate::plans::PRIORITY;

/// Returns FNV-1a over the counts of every flow, port and buffer; equal digests mean equal runs.
pub fn of(network: &Network) -> u64 {
    let mut hash = 0xcbf2_9ce4_8422_2325u64;
    let mut add = |number: u64| {
        for byte in number.to_le_bytes() {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    };
    for flow in network.flows() {
        add(flow.sent);
        add(flow.received);
        add(flow.reordered);
        add(flow.delay_total.as_nanos());
        add(flow.delay_max.as_nanos());
        add(flow.longest_gap().as_nanos());
    }
    for (index, port) in ports(network) {
        let switch = network.switch(index);
        let counters = switch.counters(port);
        let gauges = switch.gauges(network.now(), port, PRIORITY);
        add(counters.priority[PRIORITY.index()].tx_frames);
        add(counters.pfc_sent);
        add(counters.pfc_received);
        add(counters.drops_total());
        add(gauges.ingress.get());
        add(gauges.ingress_max.get());
        add(gauges.egress_max.get());
        add(gauges.pauses_received.total.as_nanos());
    }
    hash
}

/// Iterates over every port of every switch.
pub fn ports(network: &Network) -> impl Iterator<Item = (usize, PortId)> + '_ {
    let switches = network.plan().switches.iter().enumerate();
    switches.flat_map(|(index, switch)| {
        (0..switch.config.ports.len()).map(move |port| (index, PortId::new(port as u8)))
    })
}
