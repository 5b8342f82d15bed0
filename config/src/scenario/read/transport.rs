//! `[control]`, `[dcqcn]` and `[window]`.

use weir_core::{Bytes, Duration};

use super::flow::above_zero;
use super::keys;
use crate::reader::{within, Table};
use crate::scenario::{ControlConfig, DcqcnConfig, WindowConfig};
use crate::Fraction;

pub(super) fn control(root: &Table<'_>) -> ControlConfig {
    let table = root.table("control", keys("control"));
    let default = ControlConfig::default();
    table.map_or(default, |table| ControlConfig {
        latency: table.get_or("latency", default.latency),
        feedback_refresh: above_zero(&table, "feedback-refresh", table.get("feedback-refresh"))
            .unwrap_or(default.feedback_refresh),
    })
}

pub(super) fn dcqcn(root: &Table<'_>) -> DcqcnConfig {
    let default = DcqcnConfig::default();
    let Some(table) = root.table("dcqcn", keys("dcqcn")) else {
        return default;
    };
    let timer =
        |key: &str, default: Duration| above_zero(&table, key, table.get(key)).unwrap_or(default);
    let config = DcqcnConfig {
        g: table.get_or("g", default.g),
        notification_gap: timer("notification-gap", default.notification_gap),
        alpha_timer: timer("alpha-timer", default.alpha_timer),
        rate_timer: timer("rate-timer", default.rate_timer),
        byte_counter: table.get_or("byte-counter", default.byte_counter),
        additive: table.get_or("additive", default.additive),
        hyper: table.get_or("hyper", default.hyper),
        initial_alpha: table.get_or("initial-alpha", default.initial_alpha),
        clamp_target: table.get_or("clamp-target", default.clamp_target),
        rate_min: table.get_or("rate-min", default.rate_min),
    };
    if config.g == Fraction::ZERO {
        table.complain("g", "must be above zero");
    }
    if config.byte_counter == Bytes::ZERO {
        table.complain("byte-counter", "must be above zero");
    }
    config
}

pub(super) fn window(root: &Table<'_>) -> WindowConfig {
    /// Frames. More never fit a window.
    const FRAMES_MAX: u64 = 1_000_000_000;
    let default = WindowConfig::default();
    let Some(table) = root.table("window", keys("window")) else {
        return default;
    };
    let frames =
        |key: &str, least: u64| within(&table, key, least, FRAMES_MAX).map(|count| count as u32);
    let config = WindowConfig {
        initial: frames("initial", 1).unwrap_or(default.initial),
        ssthresh: frames("ssthresh", 2).or(default.ssthresh),
        timeout_min: above_zero(&table, "timeout-min", table.get("timeout-min"))
            .unwrap_or(default.timeout_min),
        duplicate_acks: frames("duplicate-acks", 1).unwrap_or(default.duplicate_acks),
        alpha: frames("alpha", 0).unwrap_or(default.alpha),
        beta: frames("beta", 0).unwrap_or(default.beta),
        gamma: frames("gamma", 0).unwrap_or(default.gamma),
    };
    if config.beta < config.alpha {
        table.complain(
            "beta",
            format!("must not be below alpha ({})", config.alpha),
        );
    }
    config
}
