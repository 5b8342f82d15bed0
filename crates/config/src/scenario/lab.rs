//! What the lab cannot do, and what the simulator cannot; and what both put into the frames of endpoints.

use std::net::Ipv4Addr;
use std::ops::RangeInclusive;

use weir_core::{Bytes, MacAddress};

use super::{Balancing, Baseline, HostKind, Pattern, Scenario, Transport};

/// UDP destination port of the frames of endpoints: `discard`.
pub const ENDPOINT_UDP_PORT: u16 = 9;
/// UDP source ports of the frames of endpoints: the dynamic ones of RFC 6335. A flow has the one of its number, unless it
/// needs another one to go its way.
pub const ENDPOINT_SOURCE_PORTS: RangeInclusive<u16> = 49_152..=65_535;

/// The address of an endpoint, in its frames: a private one that no two stations with different low 24 bits share,
/// 10.x.y.z.
pub fn endpoint_ip(mac: MacAddress) -> Ipv4Addr {
    let MacAddress([_, _, _, x, y, z]) = mac;
    Ipv4Addr::new(10, x, y, z)
}

impl Scenario {
    /// Why the simulator does not run this scenario, and who does; `None` for one that it runs.
    pub fn simulator_gap(&self) -> Option<&'static str> {
        (self.host_kind == HostKind::Kernel).then_some(
            "hosts = \"kernel\": the simulator has no kernel and runs no programs; use the lab (cargo xtask lab FILE)",
        )
    }

    /// What in this scenario the simulator runs and the lab does not, in words that name the keys. Empty for one that
    /// both run. Of faults, the lab itself says which of them it can have.
    pub fn lab_gaps(&self) -> Vec<String> {
        /// What the lab's frames need for their headers, and what fits a payload of 1500 B behind a tag.
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
            gaps.push("[routing] `hash`, `spread`: the lab's switches hash alike, by flow; run it with weir-sim run".into());
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
