//! Limitations of the lab and of the simulator, and the addressing of endpoints' frames in both.

use std::net::Ipv4Addr;
use std::ops::RangeInclusive;

use weir_core::{Bytes, MacAddress};

use super::{Balancing, Baseline, HostKind, Pattern, Scenario, Transport};

/// UDP destination port of endpoints' frames: `discard`.
pub const ENDPOINT_UDP_PORT: u16 = 9;
/// UDP source ports of endpoints' frames: the dynamic ones of RFC 6335. A flow uses the port of its number, unless its
/// path needs another one.
pub const ENDPOINT_SOURCE_PORTS: RangeInclusive<u16> = 49_152..=65_535;

/// The IP address of an endpoint in its frames: a private address, 10.x.y.z, unique for each value of the low 24 bits
/// of the MAC address.
pub fn endpoint_ip(mac: MacAddress) -> Ipv4Addr {
    let MacAddress([_, _, _, x, y, z]) = mac;
    Ipv4Addr::new(10, x, y, z)
}

impl Scenario {
    /// The reason why the simulator cannot run this scenario, and the tool that can; `None` if it can.
    pub fn simulator_gap(&self) -> Option<&'static str> {
        (self.host_kind == HostKind::Kernel).then_some(
            "hosts = \"kernel\": the simulator has no kernel and runs no programs; use the lab (cargo xtask lab FILE)",
        )
    }

    /// Features of this scenario that the simulator supports and the lab does not, with their keys. Empty if both can
    /// run it. The lab itself checks which faults it can produce.
    pub fn lab_gaps(&self) -> Vec<String> {
        /// Minimum for the headers of the lab's frames, and maximum for a payload of 1500 B with a tag.
        const FRAME_MIN: Bytes = Bytes::new(80);
        const FRAME_MAX: Bytes = Bytes::new(1518);
        let mut gaps = Vec::new();
        let mut flows = |gap: &str, is_hit: &dyn Fn(&super::Flow) -> bool| {
            let mut hit = self.flows.iter().filter(|flow| is_hit(flow));
            if let Some(first) = hit.next() {
                let others = match hit.count() {
                    0 => String::new(),
                    count => format!(" and {count} others"),
                };
                gaps.push(format!("flow `{}`{others}: {gap}", first.name));
            }
        };
        flows(
            "`transport`: hosts of the lab support only \"open\"",
            &|flow| flow.transport != Transport::Open,
        );
        flows("`size`: hosts of the lab do not send bursts", &|flow| {
            matches!(flow.pattern, Pattern::Burst { .. })
        });
        flows(
            "`after`, or `kind` of a collective: hosts of the lab do not wait for other flows; run it with weir-sim run",
            &|flow| !flow.after.is_empty(),
        );
        flows(
            "`on` and `off`: hosts of the lab send continuously",
            &|flow| matches!(flow.pattern, Pattern::OnOff { .. }),
        );
        flows(
            "`frame`: the lab's frames are 80 B to 1518 B long",
            &|flow| !(FRAME_MIN..=FRAME_MAX).contains(&flow.frame),
        );
        if self.balancing != Balancing::default() {
            gaps.push("[routing] `hash`, `spread`: all switches of the lab use the same hash, by flow; run it with weir-sim run".into());
        }
        if self.baseline != Baseline::None {
            gaps.push(format!(
                "[baseline] `kind` = \"{}\": the lab's switches do not have it",
                self.baseline.kind()
            ));
        }
        if self.links.iter().any(|link| !link.properties.known) {
            gaps.push("[[link]] `known`: the lab's switches learn it by LLDP".into());
        }
        if !self.control.latency.is_zero() {
            gaps.push("[control] `latency`: the lab's control plane runs in real time".into());
        }
        gaps
    }
}
