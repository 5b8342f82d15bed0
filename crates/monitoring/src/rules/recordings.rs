//! The recording rules.

use super::Recording;
use crate::definitions::*;

/// Labels kept by a sum over a switch.
const SWITCH: &str = "job, instance";
/// Labels kept by a sum over a port.
const PORT: &str = "job, instance, port";
/// Labels kept by a sum over a queue.
const QUEUE: &str = "job, instance, port, priority";

/// All recording rules; none depends on another.
pub fn recordings() -> Vec<Recording> {
    let recording = |name, expression: String| Recording { name, expression };
    let increase = |metric: Definition, keep: &str, window: &str| {
        format!("sum by ({keep}) (increase({metric}[{window}]))")
    };
    vec![
        recording("weir:up:min", "min by (job, instance) (up{job=\"weir\"})".to_owned()),
        recording("weir:snapshot_age_seconds:max", format!("max by ({SWITCH}) ({SNAPSHOT_AGE})")),
        recording("weir:restarts:resets15m", format!("resets({UPTIME}[15m])")),
        recording("weir:link_up:min", format!("min by ({PORT}) ({LINK_UP})")),
        recording(
            "weir:drops_headroom:increase5m",
            format!("sum by ({PORT}) (increase({DROPS}{{reason=\"headroom_exceeded\"}}[5m]))"),
        ),
        recording(
            "weir:headroom_use:ratio",
            format!("{HEADROOM_USED_MAX_BYTES}{{reader=\"telemetry\"}} / ignoring (reader) ({HEADROOM_BYTES} > 0)"),
        ),
        recording(
            "weir:kernel_losses:increase5m",
            increase(KERNEL_LOSSES, "job, instance, port, kind", "5m"),
        ),
        recording(
            "weir:device_losses:increase5m",
            increase(DEVICE_LOSSES, "job, instance, port, kind", "5m"),
        ),
        recording(
            "weir:xdp_losses:increase5m",
            format!("sum by ({PORT}, verdict) (increase({XDP_VERDICTS}{{verdict=~\"dropped|no_meta|cut|no_slot\"}}[5m]))"),
        ),
        recording(
            "weir:stack_losses:increase5m",
            format!("sum by ({PORT}, reason) (increase({STACK_DROPS}{{reason=\"cpu_backlog\"}}[5m]))"),
        ),
        recording("weir:learning_table_full:increase5m", increase(ADDRESSES_CROWDED, PORT, "5m")),
        recording("weir:dataplane_stalls:increase5m", increase(STALLS, SWITCH, "5m")),
        recording("weir:transmitter_stuck:max", format!("max by ({PORT}) ({TRANSMITTER_STUCK})")),
        recording("weir:umem_free:ratio", format!("{UMEM_FRAMES_FREE} / {UMEM_FRAMES}")),
        recording("weir:suspected:max", format!("max by ({QUEUE}) ({SUSPECTED})")),
        recording("weir:suspicions:increase10m", increase(SUSPICIONS, QUEUE, "10m")),
        recording("weir:clcm_unanswered:increase10m", increase(UNANSWERED, SWITCH, "10m")),
        recording("weir:storm:max", format!("max by ({QUEUE}) ({STORM})")),
        recording("weir:cable_exceeded:max", format!("max by ({PORT}) ({CABLE_EXCEEDED})")),
        recording("weir:lifetime_stalled:max", format!("max by ({QUEUE}) ({LIFETIME_STALLED})")),
        recording("weir:paused:ratio_rate5m", format!("rate({PAUSE_SECONDS}[5m])")),
        recording("weir:dataplane_busy:ratio_rate5m", format!("rate({BUSY_SECONDS}[5m])")),
        recording(
            "weir:dataplane_round_seconds:p99_rate5m",
            format!("histogram_quantile(0.99, sum by ({SWITCH}, le) (rate({ROUND_SECONDS}_bucket[5m])))"),
        ),
        recording(
            "weir:lldp_mismatch:max",
            format!("max by (job, instance, port, what) ({LLDP_MISMATCH})"),
        ),
        recording(
            "weir:control_losses:increase5m",
            format!(
                "increase({EVENTS_LOST}[5m]) + increase({COMMANDS_LOST}[5m]) + increase({CONTROL_PLANE_OVERFLOWS}[5m])"
            ),
        ),
        recording(
            "weir:level_feedback_expired:increase10m",
            increase(FEEDBACK_EXPIRED, QUEUE, "10m"),
        ),
        recording(
            "weir:level_round_trips_exceeded:increase10m",
            increase(ROUND_TRIPS_EXCEEDED, PORT, "10m"),
        ),
        recording(
            "weir:level_routes_too_long:increase10m",
            increase(ROUTES_TOO_LONG, QUEUE, "10m"),
        ),
    ]
}
