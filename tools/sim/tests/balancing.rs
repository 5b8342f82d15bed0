//! Spreading of traffic over equal paths: the same hash everywhere, a seed for each switch, frames and flowlets.

use std::path::{Path, PathBuf};

use weir_api::run::RunResult;
use weir_config::scenario::Scenario;
use weir_config::Override;
use weir_sim::scenario::{run, Options};

fn file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../scenarios/{name}.toml"))
}

fn parse(changes: &[&str]) -> Result<Scenario, String> {
    let changes: Vec<Override> = changes.iter().map(|text| text.parse().unwrap()).collect();
    Scenario::load(&file("balancing"), &changes).map_err(|error| error.to_string())
}

fn simulate(changes: &[&str]) -> RunResult {
    run(&parse(changes).unwrap(), Options::default()).unwrap()
}

/// Returns the number of lines from the second tier to the third, of 128, that ever carried a frame.
fn lines_used(result: &RunResult) -> usize {
    // A core switch only has ports to second-tier switches, one for each pod, and is the only kind of switch with this
    // property.
    let scenario = parse(&[]).unwrap();
    let is_core = |name: &str| {
        let switch = scenario.switches.iter().position(|switch| switch == name);
        let ports = scenario.ports(switch.unwrap());
        scenario
            .hosts
            .iter()
            .all(|host| Some(host.switch) != switch)
            && ports.len() == 8
            && ports.iter().all(|port| match port.peer {
                weir_config::scenario::PortPeer::Switch(peer) => {
                    scenario.hosts.iter().all(|host| host.switch != peer)
                }
                weir_config::scenario::PortPeer::Host(_) => false,
            })
    };
    let used = result
        .buffers
        .iter()
        .filter(|buffer| buffer.ingress_bytes_max > 0 && is_core(&buffer.switch));
    used.count()
}

/// Returns the rate of arrivals until traffic ended in bit/s.
fn delivered(result: &RunResult) -> f64 {
    result.flows.iter().map(|flow| flow.bits_per_second).sum()
}

fn reordered(result: &RunResult) -> u64 {
    result.flows.iter().map(|flow| flow.reordered).sum()
}

#[test]
fn one_hash_for_all_leaves_three_quarters_of_the_second_tier_unused() {
    let alike = simulate(&[]);
    let seeded = simulate(&["routing.hash=per-switch"]);
    // A second-tier switch only gets flows whose hash picked it, and picks by the same hash again.
    assert!(lines_used(&alike) <= 32, "{}", lines_used(&alike));
    assert!(lines_used(&seeded) >= 60, "{}", lines_used(&seeded));
    assert!(delivered(&seeded) > delivered(&alike) * 1.5);
    assert_eq!((reordered(&alike), reordered(&seeded)), (0, 0));
    let other = simulate(&["routing.hash=per-switch", "seed=4"]);
    assert_ne!(lines_used(&other), 0);
    assert_eq!(seeded, simulate(&["routing.hash=per-switch"]));
}

#[test]
fn frames_that_spread_use_every_line_and_arrive_in_another_order() {
    let flows = simulate(&["routing.hash=per-switch"]);
    let frames = simulate(&["routing.hash=per-switch", "routing.spread=frame"]);
    assert_eq!(lines_used(&frames), 128);
    assert!(reordered(&frames) > 0);
    assert!(delivered(&frames) > delivered(&flows) * 1.8);
    let lost: u64 = frames.flows.iter().map(|flow| flow.lost).sum();
    assert_eq!(lost, 0);
}

#[test]
fn flowlets_take_another_way_after_a_pause_and_stay_in_order() {
    // Eight frames, then a gap longer than any path takes.
    let bursts = ["duration=120us", "traffic.0.on=1us", "traffic.0.off=19us"];
    let with = |more: &[&str]| simulate(&[&bursts[..], more].concat());
    let flows = with(&["routing.hash=per-switch"]);
    let flowlets = with(&[
        "routing.hash=per-switch",
        "routing.spread=flowlet",
        "routing.flowlet-gap=15us",
    ]);
    assert!(
        lines_used(&flowlets) > lines_used(&flows) + 20,
        "{} {}",
        lines_used(&flowlets),
        lines_used(&flows)
    );
    assert_eq!(reordered(&flowlets), 0);
    // No gap is that long: all frames of a flow use one path.
    let long = with(&[
        "routing.hash=per-switch",
        "routing.spread=flowlet",
        "routing.flowlet-gap=25us",
    ]);
    assert!(lines_used(&long) < lines_used(&flowlets));
}

#[test]
fn what_contradicts_itself_is_refused_and_the_lab_says_that_it_cannot() {
    for (changes, said) in [
        (
            &["routing.spread=flowlet"][..],
            "routing.flowlet-gap: missing",
        ),
        (
            &["routing.flowlet-gap=1us"],
            "only spread = \"flowlet\" has a gap",
        ),
        (
            &["routing.spread=flowlet", "routing.flowlet-gap=0s"],
            "must be above zero",
        ),
        (&["routing.spread=packet"], "valid: flow, frame, flowlet"),
        (&["routing.hash=seeded"], "valid: alike, per-switch"),
    ] {
        let error = parse(changes).unwrap_err();
        assert!(error.contains(said), "{error}");
    }
    let gaps = parse(&["routing.hash=per-switch"]).unwrap().lab_gaps();
    assert!(
        gaps.join("\n")
            .contains("all switches of the lab use the same hash, by flow"),
        "{gaps:?}"
    );
    assert!(parse(&[]).unwrap().lab_gaps().is_empty());
}

#[test]
fn a_flow_with_a_way_of_its_own_goes_it_whatever_the_seeds_are() {
    let file = file("ring4-ecmp");
    for seed in 1..5 {
        let changes = [
            "routing.hash=per-switch".parse().unwrap(),
            format!("seed={seed}").parse().unwrap(),
        ];
        let scenario = Scenario::load(&file, &changes).unwrap();
        let result = run(&scenario, Options::default()).unwrap();
        let held = result.expectations.iter().all(|expected| expected.held);
        assert!(held, "{:?}", result.expectations);
    }
    let changes = ["routing.spread=frame".parse().unwrap()];
    let error = Scenario::load(&file, &changes).unwrap_err().to_string();
    assert!(
        error.contains("has a `via`, which it would leave"),
        "{error}"
    );
}
