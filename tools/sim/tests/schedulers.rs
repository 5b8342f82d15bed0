//! Strict classes, weights and rates in virtual time: shares of the classes of `scenarios/schedulers.toml` on the link that
//! all of them overload for 10 s.

use std::path::Path;

use weir_api::run::RunResult;
use weir_config::scenario::Scenario;
use weir_results::table;
use weir_sim::scenario::{run, Options};

/// Percentage of the three classes' total.
const TOLERANCE_PERCENT: f64 = 0.5;

fn shares(changes: &[&str]) -> [f64; 3] {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios/schedulers.toml");
    let changes: Vec<_> = changes
        .iter()
        .map(|change| change.parse().unwrap())
        .collect();
    let scenario = Scenario::load(&file, &changes).unwrap_or_else(|error| panic!("{error}"));
    let result: RunResult = run(&scenario, Options::default()).unwrap();
    let held = result.expectations.iter().all(|expected| expected.held);
    assert!(held, "{}", table::run(&result));
    let of = |name: &str| {
        let flow = result.flows.iter().find(|flow| flow.name == name).unwrap();
        flow.received as f64
    };
    // Control frames of the link are not delayed: the reverse path is as busy as one line can be.
    let back = of("back") + of("beside");
    let flows = ["urgent", "bulk", "best"].map(of);
    let all: f64 = flows.iter().sum();
    assert!((back / all - 1.0).abs() < 0.01, "{back} and {all} frames");
    flows.map(|received| 100.0 * received / all)
}

#[track_caller]
fn assert_shares(changes: &[&str], expected: [f64; 3]) {
    let shares = shares(changes);
    for (share, expected) in shares.iter().zip(expected) {
        let is_as_expected = (share - expected).abs() < TOLERANCE_PERCENT;
        assert!(
            is_as_expected,
            "{changes:?}: {shares:?}, and {expected} is expected"
        );
    }
}

#[test]
fn a_strict_class_leaves_a_twentieth_to_the_others_by_weight() {
    assert_shares(&[], [95.0, 3.75, 1.25]);
}

#[test]
fn without_strictness_weights_count() {
    assert_shares(&["class.urgent.scheduler=ets"], [20.0, 60.0, 20.0]);
}

#[test]
fn a_strict_class_with_a_highest_rate_leaves_the_rest() {
    // 10 of 25 Mbit/s.
    assert_shares(&["class.urgent.max-rate=10Mbit"], [40.0, 45.0, 15.0]);
}

#[test]
fn a_guaranteed_rate_holds_beside_a_strict_class() {
    // 5 of 25 Mbit/s for `best`, including its share of the rounds.
    assert_shares(&["class.best.min-rate=5Mbit"], [76.25, 3.75, 20.0]);
}

#[test]
fn rates_that_the_slowest_link_cannot_keep_are_refused_with_the_line() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios/schedulers.toml");
    let change = "class.best.min-rate=24Mbit".parse().unwrap();
    let error = Scenario::load(&file, &[change]).unwrap_err().to_string();
    assert!(
        error.contains("class.best.min-rate") && error.contains("23750kbit"),
        "{error}"
    );
}

#[test]
fn a_highest_rate_and_a_guaranteed_one_hold_together() {
    // 10 and 6 of 25 Mbit/s: `best` has more than its share of the rounds, at the cost of `bulk`.
    assert_shares(
        &["class.urgent.max-rate=10Mbit", "class.best.min-rate=6Mbit"],
        [40.0, 36.0, 24.0],
    );
}
