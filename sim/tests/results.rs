//! What results count.

use std::path::Path;

use weir_config::scenario::Scenario;
use weir_sim::scenario::{run, Options};

/// Two flows to one host, with buffers in front of it that hold more when traffic ends than it takes in a third
/// of the run.
#[test]
fn what_the_drain_brings_is_no_throughput_of_the_run() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../scenarios/ring4.toml");
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
