//! The Deadlock Breaker in rings that lock without it: traffic flows to the end, and nothing is lost.

use weir_tests::{run_as_expected, scenario};

/// With real frames; `tools/sim/tests/scenarios.rs` has many seeds, and the time to the release, in virtual time.
#[test]
fn a_ring_of_four_is_released() {
    check("ring4.toml", &["duration=3s"]);
}

#[test]
fn a_ring_of_three_is_released() {
    check("ring3.toml", &["duration=3s"]);
}

#[test]
fn a_ring_of_five_is_released() {
    check("ring5.toml", &["duration=3s"]);
}

#[test]
fn a_ring_of_six_is_released() {
    check("ring6.toml", &["duration=3s"]);
}

fn check(file: &str, overrides: &[&str]) {
    let mut overrides = overrides.to_vec();
    overrides.push("deadlock.policy=breaker");
    let scenario = scenario(file, &overrides);
    let result = run_as_expected(&scenario);
    let told = format!("{file} {overrides:?}");
    assert!(!result.deadlocked, "{told}");
    assert!(
        result.suspected_peak >= scenario.switches.len(),
        "{told}: the ring never locked, so there was nothing to release"
    );
    assert!(result.releases > 0, "{told}");
    for flow in &result.flows {
        assert!(flow.bits_per_second_last_third > 0.0, "{told}: {flow:?}");
        assert_eq!(
            (flow.lost, flow.reordered, flow.corrupted, flow.duplicated),
            (0, 0, 0, 0),
            "{told}: {flow:?}"
        );
        assert_eq!(
            flow.sent, flow.received,
            "{told}: all has drained: {flow:?}"
        );
    }
    assert!(result.drops.is_empty(), "{told}: {:?}", result.drops);
}
