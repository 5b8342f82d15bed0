//! Networks whose routes close credit loops, under plain PFC: all loops lock. `tools/sim/tests/topologies.rs` has more of
//! them in virtual time, and `ways_out.rs` releases all of them with real frames.

use std::collections::BTreeSet;

use weir_tests::{run_as_expected, scenario, LOSSLESS};

#[test]
fn the_papers_figure_2_locks() {
    locks_in_its_loops("figure2.toml", 1);
}

#[test]
fn two_loops_in_one_network_both_lock() {
    locks_in_its_loops("two-loops.toml", 2);
}

/// Checks that nothing moves any more, nothing is lost, and every link of every loop is suspected until the end.
fn locks_in_its_loops(file: &str, loop_count: usize) {
    let scenario = scenario(file, &["duration=6s"]);
    let loops = scenario.credit_loops();
    assert_eq!(loops.len(), loop_count);
    let result = run_as_expected(&scenario);
    assert!(result.deadlocked);
    assert_eq!(result.releases, 0, "the policy is off");
    assert!(result.drops.is_empty(), "{:?}", result.drops);
    for flow in &result.flows {
        assert_eq!(flow.bits_per_second_last_third, 0.0, "{flow:?}");
        assert_eq!(flow.sent, flow.received + flow.in_flight, "{flow:?}");
        assert!(
            flow.in_flight > 0,
            "every flow stands in the loop: {flow:?}"
        );
    }
    let mut suspected = BTreeSet::new();
    for event in &result.events {
        let (Some(port), Some(LOSSLESS)) = (&event.port, event.priority) else {
            continue;
        };
        let link = (event.switch.as_str(), port.as_str());
        match event.kind.as_str() {
            "suspected" => suspected.insert(link),
            "suspicion_ended" => suspected.remove(&link),
            _ => continue,
        };
    }
    for credit_loop in &loops {
        let names = credit_loop
            .switches
            .iter()
            .map(|switch| scenario.switches[*switch].as_str());
        let next = names.clone().cycle().skip(1);
        for link in names.zip(next) {
            assert!(suspected.contains(&link), "{link:?} of {suspected:?}");
        }
    }
}
