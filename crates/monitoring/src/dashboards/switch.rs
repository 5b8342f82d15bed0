//! One switch: its daemon, its dataplane thread, and its ports side by side.

use super::select::SWITCH;
use super::{panel, row, unit, variable, Dashboard};
use crate::definitions::*;

pub(super) fn dashboard() -> Dashboard {
    Dashboard {
        uid: "weir-switch",
        title: "Weir / Switch",
        description: "One switch: its daemon, its dataplane thread, and its ports side by side.",
        variables: vec![variable("instance", "Switch", BUILD_INFO.to_string())],
        rows: vec![
            row("Daemon", [
                panel("Version", unit::TEXT, "The daemon's version and deadlock policy.",
                    format!("{BUILD_INFO}{{{SWITCH}}}"), "{{version}} ({{deadlock_policy}})").number().wide(6),
                panel("Uptime", unit::SECONDS, "Time since forwarding started.",
                    format!("{UPTIME}{{{SWITCH}}}"), "{{instance}}").number(),
                panel("Age of the figures", unit::SECONDS, "Age of the dataplane's figures at the last scrape. Large if it does not answer.",
                    format!("{SNAPSHOT_AGE}{{{SWITCH}}}"), "{{instance}}").number()
                    .red_from(5.0).orange_from(2.0).see("WeirDataplaneSilent"),
                panel("Resident memory", unit::BYTES, "Memory of the daemon, including packet memory.",
                    format!("{PROCESS_RESIDENT_MEMORY}{{{SWITCH}}}"), "{{instance}}").number(),
                panel("Frames inside", unit::COUNT, "Frames admitted and not yet sent.",
                    format!("{HELD_FRAMES}{{{SWITCH}}}"), "{{instance}}").number().wide(6),
            ]),
            row("Ports", [
                panel("Received", unit::BITS_PER_SECOND, "Bits of data frames admitted from each port.",
                    format!("8 * sum by (instance, port) (rate({PORT_BYTES}{{direction=\"rx\",{SWITCH}}}[$__rate_interval]))"), "{{instance}} {{port}}"),
                panel("Sent", unit::BITS_PER_SECOND, "Bits of data frames handed to each port's transmitter.",
                    format!("8 * sum by (instance, port) (rate({PORT_BYTES}{{direction=\"tx\",{SWITCH}}}[$__rate_interval]))"), "{{instance}} {{port}}"),
                panel("Paused by the neighbour", unit::SHARE, "Share of time that the neighbour pauses each priority of each port.",
                    format!("rate({PAUSE_SECONDS}{{{SWITCH}}}[$__rate_interval])"), "{{instance}} {{port}} {{priority}}"),
                panel("Ingress buffers", unit::BYTES, "Occupancy of each ingress buffer.",
                    format!("{INGRESS_BYTES}{{{SWITCH}}}"), "{{instance}} {{port}} {{priority}}"),
                panel("Drops", unit::FRAMES_PER_SECOND, "Frames dropped by port and reason.",
                    format!("sum by (instance, port, reason) (rate({DROPS}{{{SWITCH}}}[$__rate_interval]))"), "{{instance}} {{port}} {{reason}}"),
                panel("Links", unit::STATE, "1 while the port's device is up and has carrier.",
                    format!("{LINK_UP}{{{SWITCH}}}"), "{{instance}} {{port}}"),
                panel("Classes by XDP", unit::FRAMES_PER_SECOND, "Frames seen by the XDP program, by the class it assigned.",
                    format!("sum by (instance, class) (rate({XDP_FRAMES}{{{SWITCH}}}[$__rate_interval]))"), "{{instance}} {{class}}"),
                panel("LLDP", unit::FRAMES_PER_SECOND, "LLDP frames sent, received and discarded.",
                    format!("sum by (instance, direction) (rate({LLDP_FRAMES}{{{SWITCH}}}[$__rate_interval]))"), "{{instance}} {{direction}}")
                    .and(format!("sum by (instance, reason) (rate({LLDP_DISCARDED}{{{SWITCH}}}[$__rate_interval]))"), "{{instance}} {{reason}}"),
            ]),
            row("Dataplane thread", [
                panel("What the thread does", unit::SHARE, "Shares of time: busy with frames, polling, asleep. Much idle and little sleep is the spin before a sleep.",
                    format!("rate({BUSY_SECONDS}{{{SWITCH}}}[$__rate_interval])"), "{{instance}} busy")
                    .and(format!("rate({IDLE_SECONDS}{{{SWITCH}}}[$__rate_interval])"), "{{instance}} idle")
                    .and(format!("rate({SLEEP_SECONDS}{{{SWITCH}}}[$__rate_interval])"), "{{instance}} asleep"),
                panel("Length of rounds", unit::SECONDS, "Median and 99th percentile of rounds with work: a pause is obeyed after at most one round.",
                    format!("histogram_quantile(0.5, sum by (instance, le) (rate({ROUND_SECONDS}_bucket{{{SWITCH}}}[$__rate_interval])))"), "{{instance}} median")
                    .and(format!("histogram_quantile(0.99, sum by (instance, le) (rate({ROUND_SECONDS}_bucket{{{SWITCH}}}[$__rate_interval])))"), "{{instance}} 99 %"),
                panel("Rounds by length", unit::SECONDS, "Rounds with work, by their length.",
                    format!("sum by (le) (rate({ROUND_SECONDS}_bucket{{{SWITCH}}}[$__rate_interval]))"), "{{le}}").heatmap(),
                panel("Frames at a time", unit::COUNT, "Frames taken from an RX ring at once. Many full batches of 64: the thread falls behind.",
                    format!("sum by (le) (rate({BATCH_FRAMES}_bucket{{{SWITCH}}}[$__rate_interval]))"), "{{le}}").heatmap(),
                panel("Mean batch", unit::COUNT, "Mean frames taken from an RX ring at once.",
                    format!("rate({BATCH_FRAMES}_sum{{{SWITCH}}}[$__rate_interval]) / rate({BATCH_FRAMES}_count{{{SWITCH}}}[$__rate_interval])"), "{{instance}}"),
                panel("Rings", unit::SHARE, "Fill level of the fullest ring of each kind. An empty fill ring or a full RX ring loses frames.",
                    format!("max by (instance, ring) ({RING_FRAMES}{{{SWITCH}}} / {RING_SIZE_FRAMES}{{{SWITCH}}})"), "{{instance}} {{ring}}"),
                panel("Packet memory free", unit::SHARE, "Share of packet memory in no ring and no queue.",
                    format!("{UMEM_FRAMES_FREE}{{{SWITCH}}} / {UMEM_FRAMES}{{{SWITCH}}}"), "{{instance}}"),
                panel("Kernel and device losses", unit::FRAMES_PER_SECOND, "Frames that the kernel or a device lost, by port and kind.",
                    format!("sum by (instance, port, kind) (rate({KERNEL_LOSSES}{{{SWITCH}}}[$__rate_interval]))"), "{{instance}} {{port}} {{kind}}")
                    .and(format!("sum by (instance, port, kind) (rate({DEVICE_LOSSES}{{{SWITCH}}}[$__rate_interval]))"), "{{instance}} {{port}} device {{kind}}"),
            ]),
            row("Control plane and process", [
                panel("Lost and refused", unit::PER_SECOND, "Events and commands lost to a full queue, and commands that the dataplane refused.",
                    format!("rate({EVENTS_LOST}{{{SWITCH}}}[$__rate_interval])"), "{{instance}} events lost")
                    .and(format!("rate({COMMANDS_LOST}{{{SWITCH}}}[$__rate_interval])"), "{{instance}} commands lost")
                    .and(format!("rate({COMMANDS_REFUSED}{{{SWITCH}}}[$__rate_interval])"), "{{instance}} commands refused"),
                panel("CPU", unit::SHARE, "CPUs that the daemon uses, all threads together.",
                    format!("rate({PROCESS_CPU_SECONDS}{{{SWITCH}}}[$__rate_interval])"), "{{instance}}"),
                panel("Open files", unit::COUNT, "File descriptors that the daemon has open.",
                    format!("{PROCESS_OPEN_FDS}{{{SWITCH}}}"), "{{instance}}"),
                panel("Scrapes", unit::SECONDS, "Duration of a scrape: mean in the daemon, and as seen by Prometheus.",
                    format!("rate({SCRAPE_SECONDS}_sum{{{SWITCH}}}[$__rate_interval]) / rate({SCRAPE_SECONDS}_count{{{SWITCH}}}[$__rate_interval])"), "{{instance}} daemon")
                    .and(format!("scrape_duration_seconds{{job=\"weir\",{SWITCH}}}"), "{{instance}} Prometheus"),
            ]),
        ],
    }
}
