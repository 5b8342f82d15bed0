//! Strict classes, weights and rates with real frames: 4 s at overload, and 10 s in virtual time (tools/sim/tests/schedulers.rs).

use weir_api::run::RunResult;
use weir_tests::{run_as_expected, scenario};

/// Percentage of the three classes' total.
const TOLERANCE_PERCENT: f64 = 2.0;

/// Number of runs, one of which must agree: an endpoint from which the hypervisor takes the CPU for longer than its class's
/// buffer lasts leaves its share to the others. An error in every run is still found. Each run must lose nothing.
const ATTEMPTS: usize = 3;

/// Some 8,000 frames.
const DURATION: &str = "duration=4s";

/// Rate of the scenario's links, in bit/s.
const LINE: f64 = 25e6;

fn shares(result: &RunResult) -> [f64; 3] {
    let received = ["urgent", "bulk", "best"].map(|name| {
        let flow = result.flows.iter().find(|flow| flow.name == name).unwrap();
        flow.received as f64
    });
    let all: f64 = received.iter().sum();
    received.map(|received| 100.0 * received / all)
}

#[track_caller]
fn share(changes: &[&str], expected: [f64; 3]) {
    let scenario = scenario("schedulers.toml", &[changes, &[DURATION]].concat());
    let mut seen = Vec::new();
    for _ in 0..ATTEMPTS {
        // Nothing is lost: pauses overtake the strict class, which fills the link.
        let shares = shares(&run_as_expected(&scenario));
        let mut pairs = shares.iter().zip(expected);
        if pairs.all(|(share, expected)| (share - expected).abs() < TOLERANCE_PERCENT) {
            return;
        }
        seen.push(shares);
    }
    panic!("{changes:?}: {seen:?}, and {expected:?} is expected");
}

#[test]
fn a_strict_class_leaves_a_twentieth_to_the_others() {
    share(&[], [95.0, 3.75, 1.25]);
}

#[test]
fn classes_that_take_turns_share_by_weight() {
    share(&["class.urgent.scheduler=ets"], [20.0, 60.0, 20.0]);
}

/// No class gets more than its maximum rate, nor less than its minimum rate of the time in which the switch had its CPU,
/// which follows from the line's load. The rest is for the third class, as far as its sender gets a CPU.
#[test]
fn a_highest_rate_and_a_guaranteed_one_hold() {
    let changes = [
        "class.urgent.max-rate=10Mbit",
        "class.best.min-rate=6Mbit",
        DURATION,
    ];
    let scenario = scenario("schedulers.toml", &changes);
    let mut seen = Vec::new();
    for _ in 0..ATTEMPTS {
        let result = run_as_expected(&scenario);
        let [urgent, bulk, best] = ["urgent", "bulk", "best"].map(|name| {
            let flow = result.flows.iter().find(|flow| flow.name == name).unwrap();
            // Frames of 1500 B take 1524 B on the line.
            flow.bits_per_second * 1524.0 / 1500.0 / LINE
        });
        assert!(urgent < 0.40 * 1.02, "{urgent}");
        let carried = urgent + bulk + best;
        if urgent > 0.38 * carried && best > 0.24 * 0.98 * carried && bulk > 0.24 * carried {
            return;
        }
        seen.push([urgent, bulk, best]);
    }
    panic!("{changes:?}: {seen:?}");
}
