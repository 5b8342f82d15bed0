//! Networks whose routes close credit loops, under plain PFC: all loops lock for good. `tests/e2e/tests/topologies.rs` runs
//! two of them with real frames.

use std::collections::BTreeSet;
use std::path::Path;

use weir_api::run::RunResult;
use weir_config::scenario::Scenario;
use weir_sim::scenario::{run, Options};

/// Scenario files and the number of their credit loops.
const NETWORKS: [(&str, usize); 6] = [
    ("ring4-ecmp", 1),
    ("ring4-hub", 1),
    ("figure1", 1),
    ("figure2", 1),
    ("two-loops", 2),
    ("shared-link", 2),
];

/// Returns the links, as (switch, port), that are suspected at the end of the run.
fn suspected(result: &RunResult) -> BTreeSet<(&str, &str)> {
    let mut links = BTreeSet::new();
    for event in &result.events {
        let Some(port) = &event.port else { continue };
        let link = (event.switch.as_str(), port.as_str());
        match event.kind.as_str() {
            "suspected" => links.insert(link),
            "suspicion_ended" => links.remove(&link),
            _ => continue,
        };
    }
    links
}

#[test]
fn every_network_locks_in_all_of_its_credit_loops() {
    for (name, count) in NETWORKS {
        let file = format!("../../scenarios/{name}.toml");
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(file);
        let scenario = Scenario::load(&file, &["duration=3s".parse().unwrap()]);
        let scenario = scenario.unwrap_or_else(|error| panic!("{error}"));
        let loops = scenario.credit_loops();
        assert_eq!(loops.len(), count, "{name}");
        let result = run(&scenario, Options::default()).unwrap();
        assert!(result.deadlocked && result.drops.is_empty(), "{name}");
        assert_eq!(result.releases, 0, "{name}: the policy is off");
        for flow in &result.flows {
            assert_eq!(flow.bits_per_second_last_third, 0.0, "{name}: {flow:?}");
            assert_eq!(
                flow.sent,
                flow.received + flow.in_flight,
                "{name}: {flow:?}"
            );
            assert!(flow.in_flight > 0, "{name}: every flow stalls: {flow:?}");
        }
        let suspected = suspected(&result);
        for credit_loop in &loops {
            let switches = credit_loop.switches.iter();
            let names = switches.map(|switch| scenario.switches[*switch].as_str());
            for link in names.clone().zip(names.cycle().skip(1)) {
                assert!(
                    suspected.contains(&link),
                    "{name}: {link:?} of {suspected:?}"
                );
            }
        }
    }
}
