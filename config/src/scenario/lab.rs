//! What the lab cannot do, and what the simulator cannot.

use weir_core::Bytes;

use super::{Baseline, HostKind, Pattern, Scenario, Transport};

impl Scenario {
    /// Why the simulator does not run this scenario, and who does; `None` for one that it runs.
    pub fn simulator_gap(&self) -> Option<&'static str> {
        (self.host_kind == HostKind::Kernel).then_some(
            "hosts = \"kernel\": the simulator has no kernel and runs no programs; use the lab (cargo xtask lab FILE)",
        )
    }

    /// What in this scenario the simulator runs and the lab does not, in words that name the keys. Empty for one that
    /// both run.
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
            "`on` and `off`: hosts of the lab send continuously",
            &|flow| matches!(flow.pattern, Pattern::OnOff { .. }),
        );
        flows(
            "`frame`: the lab's frames are 80 B to 1518 B long",
            &|flow| !(FRAME_MIN..=FRAME_MAX).contains(&flow.frame),
        );
        let mut kinds: Vec<&str> = self.faults.iter().map(super::Fault::kind).collect();
        kinds.sort_unstable();
        kinds.dedup();
        gaps.extend(
            kinds.into_iter().map(|kind| {
                format!("[[fault]] `kind` = \"{kind}\": the lab does not inject faults")
            }),
        );
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
