//! `[control]`, and the reaction of flows to congestion: `[dcqcn]`, `[window]`, `[dctcp]`, `[timely]`, `[swift]`,
//! `[hpcc]` and `[recovery]`.

use weir_core::{BitRate, Bytes, Duration};

use super::flow::above_zero;
use super::keys;
use crate::document::{Item, Value};
use crate::reader::{within, FromItem, Table};
use crate::scenario::{
    ControlConfig, DcqcnConfig, DctcpConfig, Flow, HpccConfig, Reaction, Recovery, RecoveryConfig,
    SwiftConfig, TimelyConfig, Transport, TransportConfig, WindowConfig, WindowLimit,
    WINDOW_FRAMES_MAX,
};
use crate::units::format_duration;
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
        reaction: table
            .choice("reaction", &Reaction::NAMED)
            .unwrap_or(default.reaction),
        fast_recovery: within(&table, "fast-recovery", 1, 1_000_000)
            .map_or(default.fast_recovery, |count| count as u32),
        cut_interval: timer("cut-interval", default.cut_interval),
    };
    not_zero(&table, "g", config.g);
    if config.byte_counter == Bytes::ZERO {
        table.complain("byte-counter", "must be above zero");
    }
    let (key, other) = match config.reaction {
        Reaction::Paper => ("cut-interval", "nic"),
        Reaction::Nic => ("byte-counter", "paper"),
    };
    if table.has(key) {
        table.complain(
            key,
            format!("has no effect here; it applies only with `reaction` = \"{other}\""),
        );
    }
    config
}

/// Reports a zero share.
fn not_zero(table: &Table<'_>, key: &str, value: Fraction) {
    if value.is_zero() {
        table.complain(key, "must be above zero");
    }
}

/// `flows`: the flows whose transports the tables set.
pub(super) fn transports(root: &Table<'_>, flows: &[Flow]) -> TransportConfig {
    TransportConfig {
        dctcp: dctcp(root),
        timely: timely(root),
        swift: swift(root),
        hpcc: hpcc(root),
        recovery: recovery(root, flows),
    }
}

fn dctcp(root: &Table<'_>) -> DctcpConfig {
    let default = DctcpConfig::default();
    let Some(table) = root.table("dctcp", keys("dctcp")) else {
        return default;
    };
    let config = DctcpConfig {
        g: table.get_or("g", default.g),
        initial_alpha: table.get_or("initial-alpha", default.initial_alpha),
    };
    not_zero(&table, "g", config.g);
    config
}

fn timely(root: &Table<'_>) -> TimelyConfig {
    let default = TimelyConfig::default();
    let Some(table) = root.table("timely", keys("timely")) else {
        return default;
    };
    let time =
        |key: &str, default: Duration| above_zero(&table, key, table.get(key)).unwrap_or(default);
    let config = TimelyConfig {
        alpha: table.get_or("alpha", default.alpha),
        beta: table.get_or("beta", default.beta),
        low: table.get_or("low", default.low),
        high: time("high", default.high),
        rtt_min: time("rtt-min", default.rtt_min),
        additive: table.get_or("additive", default.additive),
        hyper_after: within(&table, "hyper-after", 1, 1_000_000)
            .map_or(default.hyper_after, |count| count as u32),
        segment: table.get_or("segment", default.segment),
        rate_min: table.get_or("rate-min", default.rate_min),
        initial_rate: table.get::<BitRate>("initial-rate"),
    };
    not_zero(&table, "alpha", config.alpha);
    if config.high < config.low {
        table.complain(
            "high",
            format!("must not be below low ({})", format_duration(config.low)),
        );
    }
    config
}

fn swift(root: &Table<'_>) -> SwiftConfig {
    let default = SwiftConfig::default();
    let Some(table) = root.table("swift", keys("swift")) else {
        return default;
    };
    let count = |key: &str, least: u64, default: u32| {
        within(&table, key, least, u64::from(WINDOW_FRAMES_MAX))
            .map_or(default, |count| count as u32)
    };
    let config = SwiftConfig {
        base_target: above_zero(&table, "base-target", table.get("base-target"))
            .unwrap_or(default.base_target),
        hop_scale: table.get_or("hop-scale", default.hop_scale),
        flow_scale: table.get_or("flow-scale", default.flow_scale),
        flow_scale_window_min: table.get_or("flow-scale-window-min", default.flow_scale_window_min),
        flow_scale_window_max: count("flow-scale-window-max", 2, default.flow_scale_window_max),
        additive: table.get_or("additive", default.additive),
        beta: table.get_or("beta", default.beta),
        decrease_max: table.get_or("decrease-max", default.decrease_max),
        window_min: table.get_or("window-min", default.window_min),
        window_max: count("window-max", 1, default.window_max),
        initial: count("initial", 1, default.initial),
        timeouts_max: count("timeouts-max", 1, default.timeouts_max),
    };
    for (key, value) in [
        ("flow-scale-window-min", config.flow_scale_window_min),
        ("additive", config.additive),
        ("window-min", config.window_min),
    ] {
        not_zero(&table, key, value);
    }
    if config.decrease_max == Fraction::ONE {
        table.complain("decrease-max", "must be below 1: nothing would be left");
    }
    config
}

fn hpcc(root: &Table<'_>) -> HpccConfig {
    let default = HpccConfig::default();
    let Some(table) = root.table("hpcc", keys("hpcc")) else {
        return default;
    };
    let config = HpccConfig {
        eta: table.get_or("eta", default.eta),
        max_stage: within(&table, "max-stage", 0, 1_000_000)
            .map_or(default.max_stage, |count| count as u32),
        additive: table.get_or("additive", default.additive),
        base_rtt: above_zero(&table, "base-rtt", table.get("base-rtt")),
        rate_min: table.get_or("rate-min", default.rate_min),
    };
    not_zero(&table, "eta", config.eta);
    config
}

impl FromItem for WindowLimit {
    const EXAMPLE: &'static str = "\"bdp\", or a size such as \"150kB\"";
    fn from_item(item: &Item) -> Result<Self, String> {
        match &item.value {
            Value::Text(word) if word == "bdp" => Ok(Self::Bdp),
            Value::Text(_) => match Bytes::from_item(item) {
                Ok(Bytes::ZERO) => {
                    Err("must be above zero; without the key there is no limit".into())
                }
                Ok(limit) => Ok(Self::Bytes(limit)),
                Err(error) => Err(format!("{error}, or \"bdp\"")),
            },
            other => Err(format!(
                "expected {}, found {}",
                Self::EXAMPLE,
                other.kind()
            )),
        }
    }
}

fn recovery(root: &Table<'_>, flows: &[Flow]) -> RecoveryConfig {
    let default = RecoveryConfig::default();
    let Some(table) = root.table("recovery", keys("recovery")) else {
        return default;
    };
    let config = RecoveryConfig {
        mode: table.choice("mode", &Recovery::NAMED),
        timeout_min: above_zero(&table, "timeout-min", table.get("timeout-min"))
            .unwrap_or(default.timeout_min),
        window_limit: table.get("window-limit"),
    };
    let needs = flows.iter().find(|flow| flow.transport.needs_recovery());
    if let (Some(Recovery::None), Some(flow)) = (config.mode, needs) {
        let name = flow.transport.name();
        table.complain(
            "mode",
            format!(
                "`{name}` needs acknowledgements (flow `{}`): write \"go-back-n\" or \"selective\"",
                flow.name
            ),
        );
    }
    let is_unacknowledged = |flow: &&Flow| {
        flow.transport == Transport::Dcqcn && config.of(flow.transport) == Recovery::None
    };
    let unacknowledged = flows.iter().find(is_unacknowledged);
    if let (Some(_), Some(flow)) = (config.window_limit, unacknowledged) {
        table.complain(
            "window-limit",
            format!(
                "needs acknowledgements, and `dcqcn` (flow `{}`) has none: write `mode` = \"go-back-n\" or \"selective\"",
                flow.name
            ),
        );
    }
    config
}

pub(super) fn window(root: &Table<'_>) -> WindowConfig {
    /// In frames. More never fit a window.
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
