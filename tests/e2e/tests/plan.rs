//! Compares `switchctl plan` with counts of a real switch: the peak occupancy of its buffers, and the number of pauses of
//! each host. The prediction uses no data from a run.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;
use weir_api::run::RunResult;
use weir_config::scenario::Scenario;
use weir_lab::lab::process::program;
use weir_lab::lab::run::{run, Options};
use weir_results::table;
use weir_tests::scenario;

/// Relative tolerance. A host kept off its core by another process reacts late: it overshoots xoff, and its pauses become
/// longer and fewer.
const TOLERANCE: f64 = 0.15;
/// Minimum number of pauses of a host in each run: with fewer, the host stalled.
const PAUSES_MIN: u64 = 10;
/// Minimum load of the slow line, relative to its rate, while all three hosts send: with less, processes did not get the
/// cores that they needed.
const CARRIED: f64 = 0.97;
/// All three send and all buffers are at their thresholds.
const BUSY_SECONDS: [f64; 2] = [1.0, 3.4];
/// The median counts, so that a host kept off its core for a while does not matter.
const RUNS: usize = 3;
/// Maximum number of runs on a shared machine until one is undisturbed.
const RUNS_MAX: usize = 8;

fn file() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios/burst.toml")
}

/// Returns the output of `switchctl --json plan …`.
fn plan(words: &[&Path]) -> Value {
    let output = Command::new(program("switchctl").unwrap())
        .args(["--json", "plan"])
        .args(words)
        .output()
        .expect("switchctl starts");
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    serde_json::from_slice(&output.stdout).expect("JSON")
}

fn rows<'a>(of: &'a Value, key: &str) -> &'a [Value] {
    of[key].as_array().map_or(&[], Vec::as_slice)
}

/// Returns the machine's disturbance of a run, if any: the plan assumes lines that carry their rate and lose nothing. A lost
/// XON, for example, holds its host for the full time of the last pause. Planned values are not considered.
fn disturbance(scenario: &Scenario, result: &RunResult) -> Option<String> {
    if !result.drops.is_empty() {
        return Some(format!("frames were dropped: {:?}", result.drops));
    }
    let lost: u64 = result.buffers.iter().map(|buffer| buffer.pauses_lost).sum();
    if lost > 0 {
        return Some(format!("hosts missed {lost} of what the switch told them"));
    }
    let bin = |seconds: f64| (seconds / result.series.interval_seconds).round() as usize;
    let [from, to] = BUSY_SECONDS.map(bin);
    let rates = result.series.throughput.values();
    let sum: f64 = rates.flat_map(|flow| &flow[from..to]).sum();
    let frame = scenario.flows[0].frame.get() as f64;
    let line = scenario.link_defaults.rate.get() as f64 * frame / (frame + 24.0);
    let part = sum / (to - from) as f64 / line;
    (part < CARRIED).then(|| format!("the line carried {:.1} % of its rate", part * 100.0))
}

fn undisturbed_run(scenario: &Scenario) -> RunResult {
    let options = Options {
        quiet: true,
        ..Options::default()
    };
    for _ in 0..RUNS_MAX {
        let result = run(scenario, options).unwrap_or_else(|error| panic!("{error:#}"));
        match disturbance(scenario, &result) {
            Some(why) => println!("a run does not count: {why}"),
            None => {
                let held = result.expectations.iter().all(|expected| expected.held);
                assert!(held, "{}", table::run(&result));
                return result;
            }
        }
    }
    panic!(
        "none of {RUNS_MAX} runs was undisturbed: this machine is too busy for lines of 10 Mbit/s"
    );
}

#[test]
fn peaks_and_pauses_of_a_burst_are_as_planned() {
    let planned = plan(&[&file()]);
    let scenario = scenario("burst.toml", &[]);
    let folder = tempfile::tempdir().unwrap();
    let counted: Vec<Value> = (0..RUNS)
        .map(|index| {
            let result = undisturbed_run(&scenario);
            let run = folder.path().join(format!("{index}.json"));
            std::fs::write(&run, serde_json::to_vec(&result).unwrap()).unwrap();
            let mut compared = plan(&[Path::new("compare"), &run, &file()]);
            compared["counted"].take()
        })
        .collect();
    println!("{counted:#?}");
    for run in &counted {
        let buffers = rows(run, "buffers");
        assert_eq!(buffers.len(), 3, "one for each sender");
        assert_eq!(rows(run, "queues").len(), 1);
        for (row, before) in buffers.iter().zip(rows(&planned, "ingress")) {
            let name = &row["buffer"];
            // The prediction next to the count is the one from before the run.
            assert_eq!(row["predicted_peak_bytes"], before["peak_bytes"], "{name}");
            assert_eq!(row["predicted_pauses"], before["pauses"]["count"], "{name}");
            assert!(row["pauses"].as_u64().unwrap() >= PAUSES_MIN, "{row}");
        }
    }
    let errors = [
        ("buffers", "peak_error"),
        ("buffers", "pauses_error"),
        ("queues", "peak_error"),
    ];
    for (kind, error) in errors {
        for index in 0..rows(&counted[0], kind).len() {
            let part = median(counted.iter().map(|run| {
                let part = rows(run, kind)[index][error].as_f64();
                part.expect("something was counted")
            }));
            assert!(part.abs() <= TOLERANCE, "{kind} {index}: {error} {part}");
        }
    }
}

fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}
