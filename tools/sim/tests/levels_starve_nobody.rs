//! Levels on links with a round-trip time: every flow whose host obeys proceeds (lemma 3 of Karol, Golestani and Lee with
//! rT > 0). With equation (22) as printed, lower Levels starved although nothing was lost and nothing was suspected.

use std::path::Path;

use weir_api::run::RunResult;
use weir_config::scenario::Scenario;
use weir_sim::scenario::{run, Options};

fn simulate(file: &str, changes: &[&str]) -> RunResult {
    let file = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .join(file);
    let changes: Vec<_> = changes
        .iter()
        .map(|change| change.parse().expect("a change"))
        .collect();
    let scenario = Scenario::load(&file, &changes).unwrap_or_else(|error| panic!("{error}"));
    run(&scenario, Options::default()).unwrap_or_else(|error| panic!("{error}"))
}

/// Returns the longest stall of any flow, and the total deliveries.
fn stall_and_rate(result: &RunResult) -> (f64, f64) {
    for flow in &result.flows {
        assert_eq!((flow.lost, flow.reordered), (0, 0), "{}", flow.name);
    }
    let stalls = result.flows.iter().map(|flow| flow.longest_stall_seconds);
    let rates = result.flows.iter().map(|flow| flow.bits_per_second);
    (stalls.fold(0.0, f64::max), rates.sum())
}

/// Checks that no flow stalls for more than 5 times as long as under PFC with the Deadlock Breaker, plus one refresh, and
/// that as much is delivered.
fn assert_no_worse_than_pfc(file: &str, changes: &[&str], round_trips: &[&str]) {
    let with = |more: &[&str]| stall_and_rate(&simulate(file, &[changes, more].concat()));
    let (pfc_stall, pfc_rate) = with(&["class.lossless.mode=pfc", "deadlock.policy=breaker"]);
    for round_trip in round_trips {
        let round_trip = format!("link-defaults.round-trip={round_trip}");
        let (stall, rate) = with(&["class.lossless.mode=level", &round_trip]);
        let what = format!("{file} {round_trip}: {stall} s against {pfc_stall} s");
        assert!(stall <= 5.0 * pfc_stall + REFRESH_SECONDS, "{what}");
        assert!(
            rate >= 0.95 * pfc_rate,
            "{what}: {rate} of {pfc_rate} bit/s"
        );
    }
}

/// Default of `feedback-refresh`.
const REFRESH_SECONDS: f64 = 10e-3;

#[test]
fn no_flow_of_a_torus_starves() {
    let changes = ["duration=60ms"];
    let round_trips = ["10us", "100us", "1ms"];
    assert_no_worse_than_pfc("scenarios/torus.toml", &changes, &round_trips);
}

/// No flow stalls for more than a hundredth of the run with any coding of Feedback. `tests/e2e/tests/torus_level.rs` runs
/// the first coding with real frames.
#[test]
fn no_flow_of_a_slow_torus_starves_in_any_coding() {
    for coding in ["pfc", "pause", "grants"] {
        let feedback = format!("link-defaults.feedback={coding}");
        let result = simulate("scenarios/torus3.toml", &[&feedback]);
        assert_eq!(result.flows.len(), 27);
        let (stall, _) = stall_and_rate(&result);
        assert!(
            stall < 0.01 * result.duration_seconds,
            "{coding}: {stall} s"
        );
    }
}

/// Frames of Level 0 from a host next to passing frames of Level 1, on a link whose Feedback alternates.
#[test]
fn a_local_host_beside_traffic_that_passes_through_goes_on() {
    let file = "tools/sim/tests/networks/local-host.toml";
    assert_no_worse_than_pfc(file, &["duration=2s"], &["300us", "10ms", "80ms"]);
}
