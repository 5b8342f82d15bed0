//! All switches at once: problems, and their locations.

use super::select::SWITCH;
use super::{panel, row, unit, variable, Dashboard};
use crate::definitions::*;

pub(super) fn dashboard() -> Dashboard {
    Dashboard {
        uid: "weir-fabric",
        title: "Weir / Fabric",
        description: "All switches of a lossless fabric: problems, and the switches that have them.",
        variables: vec![variable("instance", "Switch", BUILD_INFO.to_string())],
        rows: vec![
            row("Is anything wrong?", [
                panel("Silent switches", unit::COUNT, "Switches whose last scrape failed.",
                    format!("sum(1 - up{{job=\"weir\",{SWITCH}}})"), "silent").number()
                    .red_from(1.0).see("WeirSwitchDown"),
                panel("Suspected egress queues", unit::COUNT,
                    "Egress queues currently suspected of a deadlock; one that stays is a deadlock.",
                    format!("sum({SUSPECTED}{{{SWITCH}}})"), "suspected").number()
                    .red_from(1.0).see("WeirDeadlockSuspected").see("WeirDeadlocksRecur"),
                panel("PFC storms", unit::COUNT, "Egress queues whose neighbour pauses without end.",
                    format!("sum({STORM}{{{SWITCH}}})"), "storms").number()
                    .red_from(1.0).see("WeirPfcStorm"),
                panel("Lossless drops", unit::COUNT,
                    "Frames lost because headroom was used up, over five minutes. Should always be zero.",
                    format!("sum(increase({DROPS}{{reason=\"headroom_exceeded\",{SWITCH}}}[5m]))"), "frames").number()
                    .red_from(1.0).see("WeirLosslessDrops"),
                panel("Links down", unit::COUNT, "Ports whose device is down or without carrier.",
                    format!("count({LINK_UP}{{{SWITCH}}}) - sum({LINK_UP}{{{SWITCH}}})"), "down").number()
                    .red_from(1.0).see("WeirLinkDown"),
                panel("Peak headroom use", unit::SHARE,
                    "Largest share of its headroom that any ingress buffer used in the last whole interval of its peaks.",
                    format!("max({HEADROOM_USED_MAX_BYTES}{{reader=\"telemetry\",{SWITCH}}} / ignoring (reader) ({HEADROOM_BYTES}{{{SWITCH}}} > 0))"), "share").number()
                    .red_from(1.0).orange_from(0.8).see("WeirHeadroomNearlyUsed"),
            ]),
            row("Traffic and pauses", [
                panel("Sent", unit::BITS_PER_SECOND, "Bits of data frames that each switch sends.",
                    format!("8 * sum by (instance) (rate({PORT_BYTES}{{direction=\"tx\",{SWITCH}}}[$__rate_interval]))"), "{{instance}}"),
                panel("Share of time paused", unit::SHARE,
                    "The port and priority of each switch that its neighbour pauses the most. Near 1, it hardly sends.",
                    format!("max by (instance) (rate({PAUSE_SECONDS}{{{SWITCH}}}[$__rate_interval]))"), "{{instance}}"),
                panel("Pauses sent", unit::FRAMES_PER_SECOND,
                    "XOFF that each switch sends, including refreshes: congestion begins there or spreads through it.",
                    format!("sum by (instance) (rate({PFC_FRAMES}{{kind=\"xoff\",direction=\"tx\",{SWITCH}}}[$__rate_interval]))"), "{{instance}}"),
                panel("Buffered", unit::BYTES, "Occupancy of all ingress buffers of each switch.",
                    format!("sum by (instance) ({INGRESS_BYTES}{{{SWITCH}}})"), "{{instance}}"),
            ]),
            row("Deadlocks", [
                panel("Suspected", unit::COUNT, "Suspected egress queues by switch. A loop appears at all its switches at once.",
                    format!("sum by (instance) ({SUSPECTED}{{{SWITCH}}})"), "{{instance}}"),
                panel("Releases", unit::PER_SECOND, "Deadlock releases that dataplanes carried out.",
                    format!("sum by (instance) (rate({RELEASES}{{{SWITCH}}}[$__rate_interval]))"), "{{instance}}"),
            ]),
            row("Losses and load", [
                panel("Drops by reason", unit::FRAMES_PER_SECOND, "Frames dropped in all switches, by reason.",
                    format!("sum by (reason) (rate({DROPS}{{{SWITCH}}}[$__rate_interval]))"), "{{reason}}"),
                panel("Kernel losses", unit::FRAMES_PER_SECOND,
                    "Frames lost outside the switch by the kernel or a device. Kinds overlap on some kernels: do not add them up.",
                    format!("sum by (instance, kind) (rate({KERNEL_LOSSES}{{{SWITCH}}}[$__rate_interval]))"), "{{instance}} {{kind}}"),
                panel("Dataplane busy", unit::SHARE, "Share of time that each dataplane thread has work.",
                    format!("rate({BUSY_SECONDS}{{{SWITCH}}}[$__rate_interval])"), "{{instance}}"),
                panel("Neighbour mismatches", unit::COUNT, "Ports whose neighbour is configured differently, by difference.",
                    format!("sum by (instance, what) ({LLDP_MISMATCH}{{{SWITCH}}})"), "{{instance}} {{what}}"),
            ]),
        ],
    }
}
