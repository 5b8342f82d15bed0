//! The package in Python: its library is the one that this build has made, copied beside the package's files.

mod package;

use std::path::Path;

use package::{packages, Package};
use weir_config::scenario::Scenario;
use weir_config::Override;
use weir_sim::scenario::{digest, run, Options};

/// The system's, which lasts as long as the system.
const PYTHON: &str = "/usr/bin/python3";

/// Shipped scenarios, short, with their settings.
const SCENARIOS: [(&str, &[&str]); 6] = [
    ("scenarios/ring4.toml", &["duration=150ms"]),
    (
        "scenarios/ring4.toml",
        &["duration=150ms", "deadlock.policy=breaker", "seed=7"],
    ),
    ("scenarios/fat-tree.toml", &["duration=100us"]),
    (
        "scenarios/transports/incast.toml",
        &["traffic.0.transport=swift"],
    ),
    (
        "scenarios/transports/web-search.toml",
        &["traffic.0.transport=dcqcn", "duration=100us"],
    ),
    ("scenarios/sweeps/../ring4.toml", &["duration=20ms"]),
];

#[test]
fn a_run_is_that_of_the_program() {
    let expected: Vec<_> = SCENARIOS
        .iter()
        .map(|(file, settings)| {
            let overrides = settings.iter().map(|text| text.parse());
            let overrides: Vec<Override> = overrides.collect::<Result<_, _>>().unwrap();
            let path = package::repository().join(file);
            let scenario = Scenario::load(&path, &overrides).unwrap();
            let result = run(&scenario, Options::default()).unwrap();
            serde_json::json!([file, settings, digest(&result), result])
        })
        .collect();
    let expected = serde_json::to_string(&expected).unwrap();
    Package::new().run(Path::new(PYTHON), "same_runs.py", &expected);
}

#[test]
fn a_result_has_what_the_json_has() {
    Package::new().run(Path::new(PYTHON), "results.py", "");
}

#[test]
fn errors_are_exceptions_with_the_programs_text() {
    Package::new().run(Path::new(PYTHON), "errors.py", "");
}

#[test]
fn an_interrupt_ends_a_run_and_other_threads_go_on_meanwhile() {
    Package::new().run(Path::new(PYTHON), "interrupts.py", "");
}

#[test]
fn congestion_control_in_python() {
    Package::new().run(Path::new(PYTHON), "controls.py", "");
}

#[test]
fn flows_of_a_program() {
    Package::new().run(Path::new(PYTHON), "workloads.py", "");
}

#[test]
fn sweeps_are_those_of_the_program() {
    Package::new().run(Path::new(PYTHON), "sweeps.py", "");
}

#[test]
fn polars_reads_the_tables() {
    if let Some(python) = packages("Polars") {
        Package::new().run(&python, "arrow.py", "");
    }
}

/// The notebook, and the Python on its page of the book.
#[test]
fn the_notebook_and_its_page_run() {
    if let Some(python) = packages("Polars") {
        Package::new().run(&python, "book.py", "");
    }
}

/// Type checkers read the stub, which must have every name of the library.
#[test]
fn the_stub_has_all_names() {
    Package::new().run(Path::new(PYTHON), "stubs.py", "");
}
