//! A scenario has the same result on any number of threads, byte for byte. `network::threads` compares the complete state of
//! more networks.

use std::path::Path;

use weir_config::scenario::Scenario;
use weir_config::Override;
use weir_sim::network::Network;
use weir_sim::scenario::{run, Options, Recorder};

const THREADS: [usize; 3] = [2, 3, 7];

fn result(scenario: &Scenario, threads: usize) -> String {
    let options = Options {
        threads,
        ..Options::default()
    };
    let result = run(scenario, options)
        .unwrap_or_else(|error| panic!("{} on {threads} threads: {error}", scenario.name));
    serde_json::to_string(&result).expect("a result is JSON")
}

fn assert_same(scenario: &Scenario) {
    let one = result(scenario, 1);
    for threads in THREADS {
        let several = result(scenario, threads);
        assert!(
            one == several,
            "{}: {threads} threads have another result than one",
            scenario.name
        );
    }
}

/// An observer of the run sees the same, and does not change it.
#[test]
fn an_observed_run_is_the_same() {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios");
    let change: Override = "duration=150ms".parse().expect("a change");
    let scenario = Scenario::load(&directory.join("ring4.toml"), &[change]).expect("the ring");
    let observed = |threads| {
        let mut recorder = Recorder::new(&scenario);
        let mut note = |network: &Network| recorder.note(network);
        let options = Options {
            threads,
            observe: Some(&mut note),
            ..Options::default()
        };
        let result = run(&scenario, options).expect("a result");
        assert!(result.suspected_peak > 0, "it locks");
        let result = serde_json::to_string(&result).expect("a result is JSON");
        (result, recorder.into_history())
    };
    let one = observed(1);
    assert!(one.0 == result(&scenario, 1), "looking changes the result");
    assert_eq!(one.1.seconds.len(), 200);
    for threads in THREADS {
        assert!(one == observed(threads), "{threads} threads");
    }
}

/// Collectives, flows by size, a fabric, a deadlock.
#[test]
fn scenario_files_have_the_same_result() {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios");
    for (name, duration) in [
        ("all-reduce", "300us"),
        ("workload", "300us"),
        ("fat-tree", "200us"),
        ("ring4", "150ms"),
    ] {
        let change: Override = format!("duration={duration}").parse().expect("a change");
        let scenario = Scenario::load(&directory.join(format!("{name}.toml")), &[change]);
        assert_same(&scenario.unwrap_or_else(|error| panic!("{error}")));
    }
}
