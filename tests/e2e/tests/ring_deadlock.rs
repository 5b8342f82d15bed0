//! A ring under plain PFC: locks with the second host on one switch, never without it. These are the
//! controls of every deadlock experiment.

use weir_tests::{run_as_expected, scenario, PATIENT_DETECTION};

#[test]
fn a_ring_with_a_second_host_locks_and_stays_locked() {
    let scenario = scenario("ring4.toml", &["duration=6s"]);
    let result = run_as_expected(&scenario);
    assert!(result.deadlocked);
    assert_eq!(
        result.suspected_peak, 4,
        "every port of the ring is suspected"
    );
    for flow in &result.flows {
        assert_eq!(flow.bits_per_second_last_third, 0.0, "{flow:?}");
        assert_eq!(
            (flow.lost, flow.reordered, flow.corrupted, flow.duplicated),
            (0, 0, 0, 0)
        );
        assert_eq!(flow.sent, flow.received + flow.in_flight, "{flow:?}");
    }
    assert!(result.flows.iter().any(|flow| flow.in_flight > 0));
    assert_eq!(result.releases, 0, "the policy is off");
    assert!(result.drops.is_empty(), "{:?}", result.drops);
}

/// At 25 Mbit/s, which a busy machine can sustain: a switch that stalls for longer than its neighbours' buffers last breaks
/// the symmetry, and then plain PFC may lock as with a second host.
#[test]
fn a_symmetric_ring_does_not_lock() {
    let overrides = [
        "duration=6s",
        "link-defaults.rate=25Mbit",
        PATIENT_DETECTION,
    ];
    let scenario = scenario("ring4-symmetric.toml", &overrides);
    let result = run_as_expected(&scenario);
    assert!(!result.deadlocked);
    assert_eq!(result.suspected_peak, 0);
    for flow in &result.flows {
        assert_eq!(flow.sent, flow.received, "{flow:?}");
        assert!(flow.bits_per_second_last_third > 0.0, "{flow:?}");
    }
    assert!(result.drops.is_empty(), "{:?}", result.drops);
}
