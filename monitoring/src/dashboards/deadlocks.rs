//! What happened in a deadlock: who stood still, who found the loop, who released it, and how long it took.

use super::select::{PORT, QUEUE, SWITCH};
use super::{panel, row, unit, variable, Dashboard};
use crate::definitions::*;

pub(super) fn dashboard() -> Dashboard {
    let quantile = |share: &str, metric: Definition| {
        format!(
            "histogram_quantile({share}, sum by (le) (increase({metric}_bucket{{{SWITCH}}}[1h])))"
        )
    };
    Dashboard {
        uid: "weir-deadlocks",
        title: "Weir / Deadlock forensics",
        description: "What happened in a deadlock: who stood still, who found the loop, who released it, and how long it took.",
        variables: vec![
            variable("instance", "Switch", BUILD_INFO.to_string()),
            variable("port", "Port", format!("{LINK_UP}{{{SWITCH}}}")),
            variable("priority", "Priority", format!("{SUSPECTED}{{{PORT}}}")),
        ],
        rows: vec![
            row("Who stood still, and when", [
                panel("Suspected", unit::STATE, "Red while the egress is suspected. The rows of a loop turn red together; the first is where it closed.",
                    format!("{SUSPECTED}{{{QUEUE}}}"), "{{instance}} {{port}} {{priority}}").states(),
                panel("Held by the neighbour", unit::STATE, "Red while the neighbour pauses the priority: follow the rows around the loop.",
                    format!("{PAUSED}{{{QUEUE}}}"), "{{instance}} {{port}} {{priority}}").states(),
                panel("Ingress buffers", unit::BYTES, "In a deadlock these stay full and do not move.",
                    format!("{INGRESS_BYTES}{{{QUEUE}}}"), "{{instance}} {{port}} {{priority}}"),
                panel("Sent", unit::BYTES_PER_SECOND, "In a deadlock these are zero.",
                    format!("rate({PORT_BYTES}{{direction=\"tx\",{QUEUE}}}[$__rate_interval])"), "{{instance}} {{port}} {{priority}}"),
            ]),
            row("CLCM: who found the loop", [
                panel("CLCM frames", unit::FRAMES_PER_SECOND, "CLCM frames by port and direction: they go around the loop against the traffic.",
                    format!("rate({CLCM_FRAMES}{{{PORT}}}[$__rate_interval])"), "{{instance}} {{port}} {{direction}}"),
                panel("Own and passed on", unit::PER_SECOND, "Messages of the switch's own suspicions, and of others that it passed on.",
                    format!("rate({CLCM_ORIGINATED}{{{SWITCH}}}[$__rate_interval])"), "{{instance}} own")
                    .and(format!("rate({CLCM_FORWARDED}{{{SWITCH}}}[$__rate_interval])"), "{{instance}} passed on"),
                panel("Loops found and masters", unit::PER_SECOND, "Loops whose message came back, and steps that the switch took as elected master.",
                    format!("rate({LOOPS_FOUND}{{{SWITCH}}}[$__rate_interval])"), "{{instance}} loops")
                    .and(format!("rate({MASTER_ACTIONS}{{{SWITCH}}}[$__rate_interval])"), "{{instance}} master"),
                panel("Ended and unanswered", unit::PER_SECOND, "Messages that went no further, by reason, and suspicions that nothing answered.",
                    format!("sum by (instance, reason) (rate({CLCM_IGNORED}{{{SWITCH}}}[$__rate_interval]))"), "{{instance}} {{reason}}")
                    .and(format!("rate({UNANSWERED}{{{SWITCH}}}[$__rate_interval])"), "{{instance}} unanswered"),
            ]),
            row("What was done", [
                panel("Suspicions and releases", unit::PER_SECOND, "Every suspicion in a loop should be followed by a release there or elsewhere on it.",
                    format!("rate({SUSPICIONS}{{{QUEUE}}}[$__rate_interval])"), "{{instance}} {{port}} {{priority}} suspicions")
                    .and(format!("rate({RELEASES}{{{QUEUE}}}[$__rate_interval])"), "{{instance}} {{port}} {{priority}} releases"),
                panel("Ordered", unit::PER_SECOND, "What the control plane ordered: releases, reroutes, and steps of traffic releases.",
                    format!("rate({RELEASES_ORDERED}{{{SWITCH}}}[$__rate_interval])"), "{{instance}} releases")
                    .and(format!("rate({REROUTES_ORDERED}{{{SWITCH}}}[$__rate_interval])"), "{{instance}} reroutes")
                    .and(format!("rate({TRAFFIC_RELEASES_ORDERED}{{{SWITCH}}}[$__rate_interval])"), "{{instance}} traffic releases"),
                panel("Flows moved", unit::PER_SECOND, "Flows that the Loop Breaker moved away from the port.",
                    format!("rate({FLOWS_MOVED}{{{QUEUE}}}[$__rate_interval])"), "{{instance}} {{port}} {{priority}}"),
                panel("Forced and dropped", unit::FRAMES_PER_SECOND, "Frames sent in spite of a pause, and frames that the lifetime limit or the storm watchdog dropped.",
                    format!("rate({FORCED_FRAMES}{{{QUEUE}}}[$__rate_interval])"), "{{instance}} {{port}} {{priority}} forced")
                    .and(format!("rate({LIFETIME_DROPPED_FRAMES}{{{QUEUE}}}[$__rate_interval])"), "{{instance}} {{port}} {{priority}} lifetime")
                    .and(format!("rate({STORM_DROPPED_FRAMES}{{{QUEUE}}}[$__rate_interval])"), "{{instance}} {{port}} {{priority}} storm"),
            ]),
            row("How long it took", [
                panel("Detection", unit::SECONDS, "For how long egress queues had sent nothing when they became suspected, within an hour: the detect time and a little more.",
                    quantile("0.5", DETECTION_SECONDS), "median").and(quantile("0.99", DETECTION_SECONDS), "99 %").wide(8),
                panel("First release", unit::SECONDS, "From a suspicion to the first release there, within an hour: one to three CLCM intervals.",
                    quantile("0.5", RELEASE_SECONDS), "median").and(quantile("0.99", RELEASE_SECONDS), "99 %").wide(8),
                panel("Recovery", unit::SECONDS, "From a suspicion to its end, within an hour.",
                    quantile("0.5", RECOVERY_SECONDS), "median").and(quantile("0.99", RECOVERY_SECONDS), "99 %").wide(8),
                panel("Recoveries by length", unit::SECONDS, "Suspicions that ended, by how long they lasted.",
                    format!("sum by (le) (increase({RECOVERY_SECONDS}_bucket{{{SWITCH}}}[$__rate_interval]))"), "{{le}}").heatmap().wide(24),
            ]),
        ],
    }
}
