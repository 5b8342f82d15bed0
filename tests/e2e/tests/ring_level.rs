//! Protocol P in rings that lock under PFC: nothing stops, nothing is lost, and throughput is not lower.

use weir_api::run::RunResult;
use weir_results::verdict::{rate_before, rate_until, standstill};
use weir_tests::{run_as_expected, scenario, PATIENT_DETECTION};

/// With real frames; `tools/sim/tests/scenarios.rs` has many seeds in virtual time.
#[test]
fn a_ring_of_four_never_stands_still() {
    check("ring4.toml", &["duration=2s"]);
}

#[test]
fn a_ring_of_three_never_stands_still() {
    check("ring3.toml", &["duration=2s"]);
}

#[test]
fn a_ring_of_five_never_stands_still() {
    check("ring5.toml", &["duration=2s"]);
}

#[test]
fn a_ring_of_six_never_stands_still() {
    check("ring6.toml", &["duration=2s"]);
}

/// One Feedback for each link in PAUSE frames, and Feedback as permission for a number of frames.
#[test]
fn the_other_codings_do_not_stand_still_either() {
    for coding in ["pause", "grants"] {
        let feedback = format!("link-defaults.feedback={coding}");
        check("ring4.toml", &["duration=2s", &feedback]);
    }
}

/// Links of 25 Mbit/s, which a few busy cores can fill: at 100 Mbit/s this would compare CPU time. In 20 pairs of runs at 25
/// Mbit/s PFC had 36.1 to 39.1 Mbit/s and Levels 45.8 to 48.7 in the whole run, 43.9 to 47.4 in the time that PFC took to
/// lock.
#[test]
fn a_ring_with_levels_delivers_at_least_what_pfc_did_before_it_locked() {
    const PAIRS: usize = 3;
    let overrides = ["duration=1s", "link-defaults.rate=25Mbit"];
    let (mut level_rates, mut level_starts, mut pfc_rates) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..PAIRS {
        let pfc = run_as_expected(&scenario("ring4.toml", &overrides));
        let locked_after = standstill(&pfc).expect("plain PFC locks");
        pfc_rates.push(rate_before(&pfc));
        let level = check("ring4.toml", &overrides);
        level_rates.push(rate_before(&level));
        level_starts.push(rate_until(&level, locked_after));
    }
    let told =
        format!("level {level_rates:.0?}, its start {level_starts:.0?}, PFC {pfc_rates:.0?}");
    let pfc = median(pfc_rates);
    assert!(median(level_rates) >= pfc, "of the whole run: {told}");
    assert!(median(level_starts) >= pfc, "of the same time: {told}");
}

fn check(file: &str, overrides: &[&str]) -> RunResult {
    let mut overrides = overrides.to_vec();
    overrides.extend(["class.lossless.mode=level", PATIENT_DETECTION]);
    let result = run_as_expected(&scenario(file, &overrides));
    let told = format!("{file} {overrides:?}");
    assert!(!result.deadlocked, "{told}");
    assert_eq!(result.suspected_peak, 0, "{told}");
    assert_eq!(result.releases, 0, "{told}");
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
    let strange = ["suspected", "route_too_long", "headroom_exceeded"];
    let event = result
        .events
        .iter()
        .find(|event| strange.contains(&event.kind.as_str()));
    assert_eq!(event, None, "{told}");
    result
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}
