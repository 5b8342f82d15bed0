//! `switchctl plan` against weir-sim on scenario files: what the plan says beforehand and what a run in virtual time counts.

mod support;

use std::path::{Path, PathBuf};

use serde_json::Value;
use support::{run, text_of};
use weir_config::scenario::Scenario;
use weir_config::Override;
use weir_sim::scenario::{run as simulate, Options};

/// A scenario file, what is put over it, and by how much at most the prediction may be wrong, as parts of what is counted.
struct Case {
    file: &'static str,
    overrides: &'static [&'static str],
    peak: f64,
    pauses: f64,
    queue: f64,
}

const BURST: &str = "burst.toml";
const INCAST: &str = "incast.toml";
const OPEN: &str = "traffic.0.transport=open";

fn path(file: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../scenarios")
        .join(file)
}

/// The comparison of one run with its plan.
fn compared(case: &Case) -> Value {
    let overrides: Vec<Override> = case
        .overrides
        .iter()
        .map(|text| text.parse().unwrap())
        .collect();
    let scenario = Scenario::load(&path(case.file), &overrides).unwrap();
    let result = simulate(&scenario, Options::default()).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let json = folder.path().join("run.json");
    std::fs::write(&json, serde_json::to_vec(&result).unwrap()).unwrap();
    let (json, file) = (text_of(&json), text_of(&path(case.file)));
    let mut words = vec!["--json", "plan", "compare", &json, &file];
    for set in case.overrides {
        words.extend(["--set", set]);
    }
    let run = run(&words);
    assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""));
    serde_json::from_str(&run.stdout).unwrap()
}

/// The greatest error of a kind among rows, without its sign; `None` where nothing was counted.
fn worst(rows: &Value, error: &str) -> Option<f64> {
    let rows = rows.as_array().unwrap().iter();
    rows.filter_map(|row| row[error].as_f64())
        .map(f64::abs)
        .reduce(f64::max)
}

fn check(case: &Case) {
    let compared = compared(case);
    let counted = &compared["counted"];
    let sum = |key: &str| -> u64 {
        let rows = counted["buffers"].as_array().unwrap().iter();
        rows.map(|row| row[key].as_u64().unwrap_or(0)).sum()
    };
    let peak = worst(&counted["buffers"], "peak_error").unwrap();
    let pauses = worst(&counted["buffers"], "pauses_error");
    let queue = worst(&counted["queues"], "peak_error").unwrap();
    let text = format!(
        "{} {:?}: buffers {peak:.4}, pauses {pauses:?} ({} for {}), queue {queue:.4}",
        case.file,
        case.overrides,
        sum("predicted_pauses"),
        sum("pauses"),
    );
    println!("{text}");
    assert!(peak <= case.peak, "{text}\n{counted:#}");
    assert!(pauses.unwrap_or(0.0) <= case.pauses, "{text}\n{counted:#}");
    assert!(queue <= case.queue, "{text}\n{counted:#}");
}

#[test]
fn show() {
    for (file, overrides) in [
        (BURST, &[][..]),
        (
            BURST,
            &[
                "link-defaults.rate=10Gbit",
                "link-defaults.delay=1us",
                "duration=12ms",
                "flow.a.start=1ms",
                "flow.a.stop=9ms",
                "flow.b.start=1ms",
                "flow.b.stop=10ms",
                "flow.c.start=2ms",
                "flow.c.stop=8ms",
            ],
        ),
        (
            BURST,
            &[
                "flow.a.frame=600B",
                "flow.b.frame=600B",
                "flow.c.frame=600B",
            ],
        ),
        (BURST, &["flow.a.frame=300B"]),
        (BURST, &["flow.b.rate=10Mbit"]),
        (BURST, &["flow.b.rate=5Mbit"]),
        (BURST, &["flow.c.on=100ms", "flow.c.off=300ms"]),
        (BURST, &["flow.c.size=1MB"]),
        (
            BURST,
            &["class.lossless.xoff=64KiB", "class.lossless.xon=60KiB"],
        ),
        ("one-switch.toml", &[]),
        (INCAST, &[OPEN]),
        (INCAST, &[OPEN, "class.lossless.xon=500kB", "duration=20ms"]),
        (INCAST, &[OPEN, "traffic.0.size=500kB"]),
        (INCAST, &[OPEN, "topology.hosts=4", "traffic.0.to=h4"]),
        (
            INCAST,
            &[
                OPEN,
                "topology.hosts=9",
                "traffic.0.to=h4",
                "link-defaults.delay=10us",
                "class.lossless.headroom=300kB",
                "duration=30ms",
            ],
        ),
        (
            INCAST,
            &[
                OPEN,
                "class.lossless.mode=lossy",
                "class.lossless.buffer=400MB",
                "class.lossless.xoff=",
                "class.lossless.xon=",
                "class.lossless.headroom=",
            ],
        ),
    ] {
        check(&Case {
            file,
            overrides,
            peak: 9.0,
            pauses: 9.0,
            queue: 9.0,
        });
    }
}
