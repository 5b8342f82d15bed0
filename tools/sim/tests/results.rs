//! Counting in results.

use std::path::Path;

use weir_config::scenario::Scenario;
use weir_sim::scenario::{run, Options};

/// Two flows to one host whose buffers still hold, when traffic ends, more than it receives in a third of the run.
#[test]
fn what_the_drain_brings_is_no_throughput_of_the_run() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios/ring4.toml");
    let overrides = ["duration=30ms", "flow.a=", "flow.b=", "flow.c=", "expect="];
    let overrides = overrides.map(|text| text.parse().unwrap());
    let scenario = Scenario::load(&file, &overrides).unwrap();
    let result = run(&scenario, Options::default()).unwrap();
    assert_eq!(
        result.flows.iter().map(|flow| flow.in_flight).sum::<u64>(),
        0
    );
    let rates = result
        .flows
        .iter()
        .map(|flow| flow.bits_per_second_last_third);
    let to_one_host: f64 = rates.sum();
    assert!(
        (97e6..100e6).contains(&to_one_host),
        "{to_one_host} of 100 Mbit/s"
    );
}

/// 31 hosts send 1 MB each to one: the last byte arrives when the receiver's line has carried everything, and every flow is
/// complete. In a run that ends before a host can have sent all, none is.
#[test]
fn a_flow_is_complete_when_its_last_byte_has_arrived() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios/incast.toml");
    let result = |overrides: &[&str]| {
        let overrides: Vec<_> = overrides.iter().map(|text| text.parse().unwrap()).collect();
        run(
            &Scenario::load(&file, &overrides).unwrap(),
            Options::default(),
        )
        .unwrap()
    };
    let open = "traffic.0.transport=open";
    let whole = result(&["traffic.0.size=1MB", open]);
    let times: Vec<f64> = whole
        .flows
        .iter()
        .map(|flow| flow.completion_seconds.expect("it is complete"))
        .collect();
    assert_eq!(times.len(), 31);
    assert!(whole
        .flows
        .iter()
        .all(|flow| flow.size_bytes == Some(1_000_000)));
    // 1 MB in frames of 1500 B at 100 Gbit/s, each with 24 B of preamble, FCS and gap.
    let alone = 1e6 / 1500.0 * 1524.0 * 8.0 / 100e9;
    let last = times.iter().copied().fold(0.0, f64::max);
    assert!((last / (31.0 * alone) - 1.0).abs() < 0.02, "{last} {alone}");
    assert!(times.iter().all(|time| *time > alone), "{times:?}");
    let paused = whole.buffers.iter().map(|buffer| buffer.pause_nanos);
    let paused = paused.max().unwrap_or(0) as f64 / 1e9;
    assert!(paused > alone && paused < last, "{paused}");
    let cut = result(&["traffic.0.size=1MB", open, "duration=50us"]);
    assert!(cut
        .flows
        .iter()
        .all(|flow| flow.completion_seconds.is_none()));
}
