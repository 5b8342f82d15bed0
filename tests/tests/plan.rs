//! What `switchctl plan` says beforehand against what a real switch counts: the most that its buffers held, and how often it
//! paused each host. Nothing in the prediction is taken from a run.

mod support;

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;
use support::{run_as_expected, scenario};
use weir_lab::lab::process::program;

/// Of what was counted. A host that another process keeps from its core answers late: it overshoots xoff, and its pauses become
/// longer and fewer.
const TOLERANCE: f64 = 0.15;
/// Pauses of a host, so that one more or less is no great part.
const PAUSES_MIN: u64 = 20;

fn file() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../scenarios/burst.toml")
}

/// What `switchctl --json plan …` prints.
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

#[test]
fn peaks_and_pauses_of_a_burst_are_as_planned() {
    let planned = plan(&[&file()]);
    let result = run_as_expected(&scenario("burst.toml", &[]));
    let folder = tempfile::tempdir().unwrap();
    let run = folder.path().join("burst.json");
    std::fs::write(&run, serde_json::to_vec(&result).unwrap()).unwrap();

    let compared = plan(&[Path::new("compare"), &run, &file()]);
    let counted = &compared["counted"];
    println!("{counted:#}");
    let buffers = rows(counted, "buffers");
    assert_eq!(buffers.len(), 3, "one for each sender");
    for (row, before) in buffers.iter().zip(rows(&planned, "ingress")) {
        let name = &row["buffer"];
        // What stands beside the count is what was said before the run.
        assert_eq!(row["predicted_peak_bytes"], before["peak_bytes"], "{name}");
        assert_eq!(row["predicted_pauses"], before["pauses"]["count"], "{name}");
        assert!(row["pauses"].as_u64().unwrap() >= PAUSES_MIN, "{row}");
        for error in ["peak_error", "pauses_error"] {
            let part = row[error].as_f64().expect("something was counted");
            assert!(
                part.abs() <= TOLERANCE,
                "{name}: {error} {part}\n{counted:#}"
            );
        }
    }
    let queues = rows(counted, "queues");
    assert_eq!(queues.len(), 1);
    let part = queues[0]["peak_error"].as_f64().unwrap();
    assert!(part.abs() <= TOLERANCE, "{counted:#}");
}
