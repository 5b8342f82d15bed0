//! Every remedy for a deadlock with real frames: flows that move, loops that are released, several loops at once.

use std::collections::BTreeSet;

use weir_api::run::{RunEvent, RunResult};
use weir_tests::{run_as_expected, scenario, PATIENT_DETECTION};

/// Long enough to lock, to recover, and to lock again if that did not last.
const DURATION: &str = "duration=5s";
/// By then a broken loop has emptied.
const AFTERWARDS_SECONDS: f64 = 1.5;

#[test]
fn the_loop_breaker_moves_flows_in_a_ring_with_two_ways_round() {
    broken_for_good("ring4-ecmp.toml");
}

#[test]
fn the_loop_breaker_moves_the_flows_on_the_loops_pair_alone() {
    let result = broken_for_good("ring4-hub.toml");
    let rerouted: Vec<&RunEvent> = events(&result, "rerouted").collect();
    for event in &rerouted {
        assert_eq!(event.details["selection"], "from", "{event:?}");
    }
    let ingress = &rerouted.first().unwrap().details["ingress"];
    for event in events(&result, "flow_moved") {
        assert_eq!(&event.details["ingress"], ingress, "{event:?}");
        assert_eq!(event.details["to"], "s5");
    }
}

#[test]
fn the_loop_breaker_resolves_figure_1() {
    broken_for_good("figure1.toml");
}

#[test]
fn the_loop_breaker_resolves_figure_2() {
    broken_for_good("figure2.toml");
}

#[test]
fn auto_moves_flows_and_forces_nothing() {
    let result = run("ring4-ecmp.toml", "auto");
    assert!(result.flows_moved > 0);
    assert!(events(&result, "traffic_release_ordered").next().is_none());
}

#[test]
fn the_deadlock_breaker_releases_figures_1_and_2() {
    for file in ["figure1.toml", "figure2.toml"] {
        released(file);
    }
}

#[test]
fn two_loops_at_once_are_released_without_loss() {
    released("two-loops.toml");
}

#[test]
fn two_loops_that_share_a_link_are_released_without_loss() {
    released("shared-link.toml");
}

fn run(file: &str, policy: &str) -> RunResult {
    run_with(file, policy, &[])
}

fn run_with(file: &str, policy: &str, more: &[&str]) -> RunResult {
    let policy = format!("deadlock.policy={policy}");
    run_as_expected(&scenario(file, &[&[&policy, DURATION], more].concat()))
}

fn events<'a>(result: &'a RunResult, kind: &'a str) -> impl Iterator<Item = &'a RunEvent> {
    result.events.iter().filter(move |event| event.kind == kind)
}

fn released(file: &str) {
    let result = run(file, "breaker");
    assert!(result.releases > 0, "{file}");
    assert!(result.drops.is_empty(), "{file}: {:?}", result.drops);
}

/// Checks that one switch moves flows off its blocked port, all others do nothing, and the loop does not return.
fn broken_for_good(file: &str) -> RunResult {
    // A process that stalls for a shorter time does not cause another suspicion.
    let result = run_with(file, "loop-breaker", &[PATIENT_DETECTION]);
    assert_eq!(result.releases, 0, "{file}: nobody has a Deadlock Breaker");
    let acted: BTreeSet<(&str, Option<&str>)> = events(&result, "flow_moved")
        .map(|event| (event.switch.as_str(), event.port.as_deref()))
        .collect();
    assert_eq!(acted.len(), 1, "{file}: {acted:?}");
    let (master, blocked) = acted.first().unwrap();
    assert!(result.masters.iter().any(|name| name == master), "{file}");
    let suspected =
        |event: &RunEvent| (event.switch.as_str(), event.port.as_deref()) == (*master, *blocked);
    assert!(
        events(&result, "suspected").any(suspected),
        "{file}: moved off no blocked port"
    );

    let moved_at = events(&result, "flow_moved").next().unwrap().seconds;
    let later: Vec<&RunEvent> = events(&result, "suspected")
        .filter(|event| event.seconds > moved_at + AFTERWARDS_SECONDS)
        .collect();
    assert!(later.is_empty(), "{file}: it came back: {later:#?}");
    let reordered: u64 = result.flows.iter().map(|flow| flow.reordered).sum();
    let moved = result
        .flows
        .iter()
        .filter(|flow| flow.reordered > 0)
        .count() as u64;
    assert!(
        moved <= result.flows_moved,
        "{file}: {reordered} reordered in {moved} flows"
    );
    result
}
