//! UDP source ports that steer flows along their paths.
//!
//! If a route has several members, a switch chooses by the flow hash. `via` of a flow requires certain members, and the lab
//! searches for a source port whose hash selects all of them.

use anyhow::{Context, Result};
use weir_config::scenario::{PortPeer, Scenario};
use weir_core::config::default_member;
use weir_ebpf::udp_flow_hash;

use crate::endpoint::config::SOURCE_PORTS;
use crate::endpoint::frame::{ip_address, UDP_PORT};

/// Returns the UDP source port of a flow, which is unique in its scenario.
///
/// # Errors
///
/// When no port steers a flow along its `via`.
pub fn source_port(scenario: &Scenario, flow: usize) -> Result<u16> {
    let ports = SOURCE_PORTS.skip(flow).step_by(scenario.flows.len().max(1));
    let mut ports = ports.filter(|port| goes_via(scenario, flow, *port));
    ports.next().with_context(|| {
        format!(
            "flow {}: no UDP source port has a hash that selects the path in `via`",
            scenario.flows[flow].name
        )
    })
}

/// Returns the switches that a flow passes with this source port, first to last.
pub fn way(scenario: &Scenario, flow: usize, source_port: u16) -> Vec<usize> {
    let flow = &scenario.flows[flow];
    let addresses = [flow.from, flow.to].map(|host| ip_address(scenario.hosts[host].address));
    let hash = udp_flow_hash(addresses[0], addresses[1], source_port, UDP_PORT);
    let mut way = vec![scenario.hosts[flow.from].switch];
    while let Some(next) = way.last().and_then(|at| {
        let members = &scenario.next_hops[*at][flow.to];
        let port = *members.get(default_member(hash, members.len())?)?;
        match scenario.ports(*at).get(port)?.peer {
            PortPeer::Switch(next) => Some(next),
            PortPeer::Host(_) => None,
        }
    }) {
        way.push(next);
    }
    way
}

fn goes_via(scenario: &Scenario, flow: usize, source_port: u16) -> bool {
    let via = scenario.flows[flow].via.as_ref();
    via.is_none_or(|via| *via == way(scenario, flow, source_port))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::path::Path;

    use super::*;

    /// With 64 buckets for 3 members, the last bucket goes to the first member, and so does bucket 0 after it.
    #[test]
    fn members_are_picked_by_bucket() {
        let picks: Vec<usize> = (62..68)
            .map(|hash| default_member(hash, 3).unwrap())
            .collect();
        assert_eq!(picks, [2, 0, 0, 1, 2, 0]);
        assert_eq!(default_member(7, 0), None);
    }

    #[test]
    fn every_flow_of_every_scenario_goes_its_way() {
        let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios");
        let mut asked = 0;
        for entry in std::fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                continue;
            }
            let scenario = Scenario::load(&path, &[]).unwrap();
            if !scenario.lab_gaps().is_empty() {
                continue;
            }
            let mut ports = BTreeSet::new();
            for flow in 0..scenario.flows.len() {
                let port = source_port(&scenario, flow).unwrap();
                let taken = way(&scenario, flow, port);
                // If the hash decides, the path still leads to the host.
                let expected = scenario.way(flow).unwrap_or_else(|| taken.clone());
                assert_eq!(taken, expected, "{}", scenario.name);
                let to = scenario.flows[flow].to;
                assert_eq!(taken.last(), Some(&scenario.hosts[to].switch));
                asked += usize::from(scenario.flows[flow].via.is_some());
                ports.insert(port);
            }
            assert_eq!(ports.len(), scenario.flows.len(), "{}", scenario.name);
        }
        assert!(asked >= 15);
    }
}
