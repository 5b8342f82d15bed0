//! Course of a deadlock: stalled ports, the switch that found the loop, the one that released it, and
//! the times.

use super::select::{PORT, QUEUE, SWITCH};
use super::{panel, row, unit, variable, Dashboard};
use crate::definitions::*;
use weir_svg::meaning;

pub(super) fn dashboard() -> Dashboard {
    let quantile = |share: &str, metric: Definition| {
        format!(
            "histogram_quantile({share}, sum by (le) (increase({metric}_bucket{{{SWITCH}}}[1h])))"
        )
    };
    Dashboard {
        uid: "weir-deadlocks",
        title: "Weir / Deadlock forensics",
        description: "The course of a deadlock: stalled queues, the switch that found the loop, the switch that released it, and the duration.",
        variables: vec![
            variable("instance", "Switch", BUILD_INFO.to_string()),
            variable("port", "Port", format!("{LINK_UP}{{{SWITCH}}}")),
            variable("priority", "Priority", format!("{SUSPECTED}{{{PORT}}}")),
        ],
        rows: vec![
            row("What stalled, and when", [
                panel("Suspected", unit::STATE, "Red while the egress is suspected. The rows of a loop turn red together; the first is where the loop closed.",
                    format!("{SUSPECTED}{{{QUEUE}}}"), "{{instance}} {{port}} {{priority}}").states(meaning::SUSPECTED),
                panel("Paused by the neighbour", unit::STATE, "Orange while the neighbour pauses the priority: follow the rows around the loop.",
                    format!("{PAUSED}{{{QUEUE}}}"), "{{instance}} {{port}} {{priority}}").states(meaning::PAUSED),
                panel("Ingress buffers", unit::BYTES, "In a deadlock these stay full.",
                    format!("{INGRESS_BYTES}{{{QUEUE}}}"), "{{instance}} {{port}} {{priority}}"),
                panel("Sent", unit::BYTES_PER_SECOND, "In a deadlock these are zero.",
                    format!("rate({PORT_BYTES}{{direction=\"tx\",{QUEUE}}}[$__rate_interval])"), "{{instance}} {{port}} {{priority}}"),
            ]),
            row("CLCM: which switch found the loop", [
                panel("CLCM frames", unit::FRAMES_PER_SECOND, "CLCM frames by port and direction: they go around the loop against the traffic.",
                    format!("rate({CLCM_FRAMES}{{{PORT}}}[$__rate_interval])"), "{{instance}} {{port}} {{direction}}"),
                panel("Originated and forwarded", unit::PER_SECOND, "Messages originated for the switch's own suspicions, and forwarded for others.",
                    format!("rate({CLCM_ORIGINATED}{{{SWITCH}}}[$__rate_interval])"), "{{instance}} originated")
                    .and(format!("rate({CLCM_FORWARDED}{{{SWITCH}}}[$__rate_interval])"), "{{instance}} forwarded"),
                panel("Loops found and masters", unit::PER_SECOND, "Loops found by a returned message, and actions of the switch as elected master.",
                    format!("rate({LOOPS_FOUND}{{{SWITCH}}}[$__rate_interval])"), "{{instance}} loops")
                    .and(format!("rate({MASTER_ACTIONS}{{{SWITCH}}}[$__rate_interval])"), "{{instance}} master"),
                panel("Ended and unanswered", unit::PER_SECOND, "Messages not forwarded, by reason, and suspicions without an answer.",
                    format!("sum by (instance, reason) (rate({CLCM_IGNORED}{{{SWITCH}}}[$__rate_interval]))"), "{{instance}} {{reason}}")
                    .and(format!("rate({UNANSWERED}{{{SWITCH}}}[$__rate_interval])"), "{{instance}} unanswered"),
            ]),
            row("Actions", [
                panel("Suspicions and releases", unit::PER_SECOND, "Every suspicion in a loop should be followed by a release there or elsewhere on the loop.",
                    format!("rate({SUSPICIONS}{{{QUEUE}}}[$__rate_interval])"), "{{instance}} {{port}} {{priority}} suspicions")
                    .and(format!("rate({RELEASES}{{{QUEUE}}}[$__rate_interval])"), "{{instance}} {{port}} {{priority}} releases"),
                panel("Ordered", unit::PER_SECOND, "Orders of the control plane: releases, reroutes, and traffic release steps.",
                    format!("rate({RELEASES_ORDERED}{{{SWITCH}}}[$__rate_interval])"), "{{instance}} releases")
                    .and(format!("rate({REROUTES_ORDERED}{{{SWITCH}}}[$__rate_interval])"), "{{instance}} reroutes")
                    .and(format!("rate({TRAFFIC_RELEASES_ORDERED}{{{SWITCH}}}[$__rate_interval])"), "{{instance}} traffic releases"),
                panel("Flows moved", unit::PER_SECOND, "Flows that the Loop Breaker moved away from the port.",
                    format!("rate({FLOWS_MOVED}{{{QUEUE}}}[$__rate_interval])"), "{{instance}} {{port}} {{priority}}"),
                panel("Forced and dropped", unit::FRAMES_PER_SECOND, "Frames sent despite a pause, and frames dropped by the lifetime limit or the PFC storm watchdog.",
                    format!("rate({FORCED_FRAMES}{{{QUEUE}}}[$__rate_interval])"), "{{instance}} {{port}} {{priority}} forced")
                    .and(format!("rate({LIFETIME_DROPPED_FRAMES}{{{QUEUE}}}[$__rate_interval])"), "{{instance}} {{port}} {{priority}} lifetime")
                    .and(format!("rate({STORM_DROPPED_FRAMES}{{{QUEUE}}}[$__rate_interval])"), "{{instance}} {{port}} {{priority}} storm"),
            ]),
            row("Duration", [
                panel("Detection", unit::SECONDS, "Time that egress queues had sent nothing when they became suspected, over an hour: slightly more than the detect time.",
                    quantile("0.5", DETECTION_SECONDS), "median").and(quantile("0.99", DETECTION_SECONDS), "99 %").wide(8),
                panel("First release", unit::SECONDS, "Time from a suspicion to its first release, over an hour: one to three CLCM intervals.",
                    quantile("0.5", RELEASE_SECONDS), "median").and(quantile("0.99", RELEASE_SECONDS), "99 %").wide(8),
                panel("Recovery", unit::SECONDS, "Time from a suspicion to its end, over an hour.",
                    quantile("0.5", RECOVERY_SECONDS), "median").and(quantile("0.99", RECOVERY_SECONDS), "99 %").wide(8),
                panel("Recoveries by length", unit::SECONDS, "Ended suspicions by duration.",
                    format!("sum by (le) (increase({RECOVERY_SECONDS}_bucket{{{SWITCH}}}[$__rate_interval]))"), "{{le}}").heatmap().wide(24),
            ]),
        ],
    }
}
