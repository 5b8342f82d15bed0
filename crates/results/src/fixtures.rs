//! Common fixtures of the tests of several modules.

use weir_api::run::{BufferResult, RunEvent, RunResult, Series, RUN_FORMAT};
use weir_config::scenario::Scenario;

pub fn empty_result() -> RunResult {
    RunResult {
        format: RUN_FORMAT,
        scenario: "empty".into(),
        runner: "lab".into(),
        policy: "off".into(),
        mode: "pfc".into(),
        seed: 1,
        duration_seconds: 1.0,
        deadlocked: false,
        suspected_peak: 0,
        detect_seconds: None,
        first_release_seconds: None,
        recover_seconds: None,
        releases: 0,
        masters: Vec::new(),
        flows_moved: 0,
        control_frames: 0,
        simulated: None,
        flows: Vec::new(),
        slowdown: Vec::new(),
        applications: Vec::new(),
        buffers: Vec::new(),
        drops: Default::default(),
        events: Vec::new(),
        series: Series::default(),
        expectations: Vec::new(),
    }
}

/// An event of priority 3 at port `p`.
pub fn event(seconds: f64, switch: &str, kind: &str) -> RunEvent {
    RunEvent {
        seconds,
        switch: switch.into(),
        kind: kind.into(),
        port: Some("p".into()),
        priority: Some(3),
        details: Default::default(),
    }
}

/// Priority 3 at port `p`, whose ingress buffer held `bytes` once.
pub fn buffer(switch: &str, bytes: u64) -> BufferResult {
    BufferResult {
        switch: switch.into(),
        port: "p".into(),
        priority: 3,
        ingress_bytes_max: bytes,
        ..BufferResult::default()
    }
}

/// `scenarios/ring4.toml`.
pub fn ring4() -> Scenario {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios/ring4.toml");
    Scenario::load(&path, &[]).unwrap()
}
