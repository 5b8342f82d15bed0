//! Ports by priority: traffic, buffers, pauses and Levels.

use super::select::{PORT, QUEUE, SWITCH};
use super::{panel, row, unit, variable, Dashboard};
use crate::definitions::*;
use weir_svg::meaning;

pub(super) fn dashboard() -> Dashboard {
    Dashboard {
        uid: "weir-port",
        title: "Weir / Port",
        description: "Ports by priority: traffic, buffers against their thresholds, pauses, and Levels.",
        variables: vec![
            variable("instance", "Switch", BUILD_INFO.to_string()),
            variable("port", "Port", format!("{LINK_UP}{{{SWITCH}}}")),
            variable("priority", "Priority", format!("{INGRESS_BYTES}{{{PORT}}}")),
        ],
        rows: vec![
            row("Traffic", [
                panel("Bytes", unit::BYTES_PER_SECOND, "Bytes of data frames by direction, seen from the switch.",
                    format!("rate({PORT_BYTES}{{{QUEUE}}}[$__rate_interval])"), "{{instance}} {{port}} {{priority}} {{direction}}"),
                panel("Frames", unit::FRAMES_PER_SECOND, "Data frames by direction, seen from the switch.",
                    format!("rate({PORT_FRAMES}{{{QUEUE}}}[$__rate_interval])"), "{{instance}} {{port}} {{priority}} {{direction}}"),
                panel("Drops", unit::FRAMES_PER_SECOND, "Frames from the port that were dropped, by reason.",
                    format!("rate({DROPS}{{{PORT}}}[$__rate_interval])"), "{{instance}} {{port}} {{reason}}"),
                panel("ECN marks", unit::FRAMES_PER_SECOND, "Frames from the port that were marked Congestion Experienced.",
                    format!("rate({MARKED_FRAMES}{{{QUEUE}}}[$__rate_interval])"), "{{instance}} {{port}} {{priority}}"),
            ]),
            row("Buffers", [
                panel("Ingress buffer and its threshold", unit::BYTES, "Current occupancy, its peak in the last whole interval, and the threshold at which the neighbour is paused.",
                    format!("{INGRESS_BYTES}{{{QUEUE}}}"), "{{instance}} {{port}} {{priority}} now")
                    .and(format!("{INGRESS_MAX_BYTES}{{reader=\"telemetry\",{QUEUE}}}"), "{{instance}} {{port}} {{priority}} peak")
                    .and(format!("{XOFF_BYTES}{{{QUEUE}}}"), "{{instance}} {{port}} {{priority}} xoff"),
                panel("Headroom", unit::BYTES, "Current use of the headroom above xoff, its peak in the last whole interval, and its size. Once it is used up, frames are lost.",
                    format!("{HEADROOM_USED_BYTES}{{{QUEUE}}}"), "{{instance}} {{port}} {{priority}} now")
                    .and(format!("{HEADROOM_USED_MAX_BYTES}{{reader=\"telemetry\",{QUEUE}}}"), "{{instance}} {{port}} {{priority}} peak")
                    .and(format!("{HEADROOM_BYTES}{{{QUEUE}}}"), "{{instance}} {{port}} {{priority}} size"),
                panel("Egress queue", unit::BYTES, "Current backlog of the port, and its peak in the last whole interval.",
                    format!("{EGRESS_BYTES}{{{QUEUE}}}"), "{{instance}} {{port}} {{priority}} now")
                    .and(format!("{EGRESS_MAX_BYTES}{{reader=\"telemetry\",{QUEUE}}}"), "{{instance}} {{port}} {{priority}} peak"),
                panel("Rings", unit::COUNT, "Entries in use of the AF_XDP socket's rings.",
                    format!("{RING_FRAMES}{{{PORT}}}"), "{{instance}} {{port}} {{ring}}"),
            ]),
            row("Pauses", [
                panel("Paused by the neighbour", unit::STATE, "Orange while the neighbour pauses the priority.",
                    format!("{PAUSED}{{{QUEUE}}}"), "{{instance}} {{port}} {{priority}}").states(meaning::PAUSED),
                panel("Pausing the neighbour", unit::STATE, "Blue while the switch pauses the neighbour's priority.",
                    format!("{PAUSING}{{{QUEUE}}}"), "{{instance}} {{port}} {{priority}}").states(meaning::PAUSING),
                panel("Share of time paused", unit::SHARE, "Share of time that the neighbour paused the priority.",
                    format!("rate({PAUSE_SECONDS}{{{QUEUE}}}[$__rate_interval])"), "{{instance}} {{port}} {{priority}}"),
                panel("Pause frames by priority", unit::FRAMES_PER_SECOND, "XOFF and XON sent and received.",
                    format!("rate({PFC_FRAMES}{{{QUEUE}}}[$__rate_interval])"), "{{instance}} {{port}} {{priority}} {{direction}} {{kind}}"),
                panel("MAC control frames", unit::FRAMES_PER_SECOND, "By protocol: PFC, and PAUSE of neighbours without PFC.",
                    format!("rate({PAUSE_FRAMES}{{{PORT}}}[$__rate_interval])"), "{{instance}} {{port}} {{protocol}} {{direction}}"),
                panel("Storms", unit::FRAMES_PER_SECOND, "Frames that the PFC storm watchdog drops, and frames sent despite a pause.",
                    format!("rate({STORM_DROPPED_FRAMES}{{{QUEUE}}}[$__rate_interval])"), "{{instance}} {{port}} {{priority}} dropped")
                    .and(format!("rate({STORM_FORWARDED_FRAMES}{{{QUEUE}}}[$__rate_interval])"), "{{instance}} {{port}} {{priority}} forwarded"),
            ]),
            row("Levels (classes of mode level)", [
                panel("Transmit Feedback", unit::COUNT, "The Level below which each side stops the other; 0 restricts nothing.",
                    format!("{FEEDBACK}{{{QUEUE}}}"), "{{instance}} {{port}} {{priority}} {{direction}}"),
                panel("Feedback frames", unit::FRAMES_PER_SECOND, "Transmit Feedback sent and received, refreshes included.",
                    format!("rate({FEEDBACK_FRAMES}{{{QUEUE}}}[$__rate_interval])"), "{{instance}} {{port}} {{priority}} {{direction}}"),
                panel("Free room m_i", unit::BYTES, "What the frames up to each Level leave free of their budgets, and the budgets.",
                    format!("{LEVEL_FREE_BYTES}{{{QUEUE}}}"), "{{instance}} {{port}} {{priority}} m_{{level}}")
                    .and(format!("{LEVEL_BUDGET_BYTES}{{instance=~\"$instance\",priority=~\"$priority\"}}"), "{{instance}} {{priority}} b_{{level}}"),
                panel("Held and eligible", unit::BYTES, "Backlog held back by the neighbour's Feedback, and backlog that it permits to be sent.",
                    format!("{LEVEL_HELD_BYTES}{{{QUEUE}}}"), "{{instance}} {{port}} {{priority}} held")
                    .and(format!("{LEVEL_ELIGIBLE_BYTES}{{{QUEUE}}}"), "{{instance}} {{port}} {{priority}} eligible"),
                panel("Lifts", unit::PER_SECOND, "Destinations that frames from the port lifted to a higher Level.",
                    format!("rate({LIFTS}{{{QUEUE}}}[$__rate_interval])"), "{{instance}} {{port}} {{priority}}"),
                panel("Round trip", unit::SECONDS, "Longest recent round trip of the link, by echo messages.",
                    format!("{ROUND_TRIP}{{{QUEUE}}}"), "{{instance}} {{port}} {{priority}}"),
                panel("Level Table", unit::COUNT, "Destinations in the switch's Level Table.",
                    format!("{LEVEL_TABLE_ENTRIES}{{{SWITCH}}}"), "{{instance}}"),
                panel("Held frames", unit::COUNT, "Frames that the neighbour's Feedback holds back.",
                    format!("{LEVEL_HELD_FRAMES}{{{QUEUE}}}"), "{{instance}} {{port}} {{priority}}"),
            ]),
        ],
    }
}
