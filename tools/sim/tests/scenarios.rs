//! Scenario files in virtual time: their expectations are met, and runs are reproducible.

use std::path::{Path, PathBuf};

use weir_api::run::RunResult;
use weir_config::scenario::Scenario;
use weir_config::Override;
use weir_results::table;
use weir_sim::scenario::{run, Options};

fn scenario_files() -> Vec<PathBuf> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios");
    let entries = std::fs::read_dir(directory).expect("the scenarios");
    let mut files: Vec<PathBuf> = entries
        .map(|entry| entry.expect("a directory entry").path())
        .filter(|path| {
            path.extension()
                .is_some_and(|extension| extension == "toml")
        })
        .collect();
    files.sort();
    files
}

fn load(file: &Path, changes: &[&str]) -> Scenario {
    let changes: Vec<Override> = changes
        .iter()
        .map(|change| change.parse().expect("a change"))
        .collect();
    Scenario::load(file, &changes).unwrap_or_else(|error| panic!("{error}"))
}

fn simulate(scenario: &Scenario) -> RunResult {
    run(scenario, Options::default()).unwrap_or_else(|error| panic!("{}: {error}", scenario.name))
}

fn assert_as_expected(scenario: &Scenario) {
    let result = simulate(scenario);
    let held = result.expectations.iter().all(|expected| expected.held);
    assert!(held, "{}", table::run(&result));
}

#[test]
fn every_file_does_what_it_expects() {
    let files = scenario_files();
    assert!(files.len() >= 15);
    for file in files {
        assert_as_expected(&load(&file, &[]));
    }
}

#[test]
fn rings_and_fat_trees_do_what_they_expect_of_each_way_out() {
    for name in [
        "ring3",
        "ring4",
        "ring4-ecmp",
        "ring6",
        "figure1",
        "figure2",
        "two-loops",
        "shared-link",
    ] {
        let file =
            Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../scenarios/{name}.toml"));
        for change in [
            "deadlock.policy=breaker",
            "deadlock.policy=auto",
            "class.lossless.mode=level",
        ] {
            assert_as_expected(&load(&file, &[change]));
        }
    }
}

/// The end-to-end tests run the first of these seeds with real frames.
#[test]
fn a_ring_of_four_keeps_moving_whatever_the_seed() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios/ring4.toml");
    for change in ["deadlock.policy=breaker", "class.lossless.mode=level"] {
        for seed in 1..=40 {
            let seed = format!("seed={seed}");
            let scenario = load(&file, &[change, &seed, "duration=2s"]);
            let result = simulate(&scenario);
            let what = format!("{change} {seed}: {}", table::run(&result));
            assert!(!result.deadlocked, "{what}");
            assert!(result.drops.is_empty(), "{what}");
            for flow in &result.flows {
                assert!(flow.bits_per_second_last_third > 0.0, "{what}");
                assert_eq!(
                    (flow.sent, flow.lost, flow.reordered),
                    (flow.received, 0, 0),
                    "{what}"
                );
            }
        }
    }
}

#[test]
fn a_run_is_the_same_whenever_it_is_made() {
    for (name, change) in [
        ("ring4", "deadlock.policy=auto"),
        ("ring4", "class.lossless.mode=level"),
        ("figure2", "deadlock.policy=loop-breaker"),
    ] {
        let file =
            Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../scenarios/{name}.toml"));
        let scenario = load(&file, &[change, "duration=2s"]);
        let [one, other] =
            [0; 2].map(|_| serde_json::to_string(&simulate(&scenario)).expect("JSON"));
        assert!(one == other, "{name} {change}: two runs differ");
        let another = load(&file, &[change, "duration=2s", "seed=2"]);
        let another = serde_json::to_string(&simulate(&another)).expect("JSON");
        assert!(one != another, "{name} {change}: the seed changes nothing");
    }
}
