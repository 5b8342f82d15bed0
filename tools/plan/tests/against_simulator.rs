//! Compares `switchctl plan` with weir-sim on scenario files: the plan, and the counts of a run in virtual time.

use std::path::{Path, PathBuf};

use crate::support::{run, text_of};
use serde_json::Value;
use weir_config::scenario::Scenario;
use weir_config::Override;
use weir_sim::scenario::{run as simulate, Options};

/// Tolerance of predictions in frames of 1536 B, independent of the relative one: frames are discrete, and the model is
/// fluid.
const FRAMES: f64 = 2.0 * 1536.0;
/// Tolerance of the number of pauses.
const PAUSES: f64 = 1.0;

const BURST: &str = "burst.toml";
const INCAST: &str = "incast.toml";
const OPEN: &str = "traffic.0.transport=open";

fn path(file: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../scenarios")
        .join(file)
}

/// Returns the comparison of the plan with a run of the scenario in virtual time.
fn counted(file: &str, changes: &[&str]) -> Value {
    let overrides: Vec<Override> = changes.iter().map(|text| text.parse().unwrap()).collect();
    let scenario = Scenario::load(&path(file), &overrides).unwrap();
    let result = simulate(&scenario, Options::default()).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let json = folder.path().join("run.json");
    std::fs::write(&json, serde_json::to_vec(&result).unwrap()).unwrap();
    let (json, file) = (text_of(&json), text_of(&path(file)));
    let mut words = vec!["--json", "compare", &json, &file];
    words.extend(changes.iter().flat_map(|change| ["--set", change]));
    let run = run(&words);
    assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""));
    let mut compared: Value = serde_json::from_str(&run.stdout).unwrap();
    compared["counted"].take()
}

/// Returns the greatest difference of a kind among rows, relative to the count, and true if all are within `part` or
/// `slack`.
fn worst(rows: &Value, [count, prediction]: [&str; 2], part: f64, slack: f64) -> (f64, bool) {
    let mut worst: f64 = 0.0;
    let mut fits = true;
    for row in rows.as_array().unwrap() {
        let counted = row[count].as_f64().unwrap();
        let predicted = row[prediction].as_f64().unwrap();
        let difference = (predicted - counted).abs();
        fits &= difference <= (part * counted).max(slack);
        if counted > 0.0 {
            worst = worst.max(difference / counted);
        }
    }
    (worst, fits)
}

struct Within {
    peak: f64,
    pauses: f64,
}

fn check(file: &str, changes: &[&str], within: Within) {
    let counted = counted(file, changes);
    let (buffers, queues) = (&counted["buffers"], &counted["queues"]);
    let peaks = ["peak_bytes", "predicted_peak_bytes"];
    let pauses = ["pauses", "predicted_pauses"];
    let all = buffers.as_array().unwrap();
    let sum = |key: &str| all.iter().filter_map(|row| row[key].as_u64()).sum::<u64>();
    let results = [
        ("buffers", worst(buffers, peaks, within.peak, FRAMES)),
        ("queue", worst(queues, peaks, within.peak, FRAMES)),
        ("pauses", worst(buffers, pauses, within.pauses, PAUSES)),
    ];
    let mut text = format!(
        "{file} {changes:?}: {} pauses, {} planned;",
        sum("pauses"),
        sum("predicted_pauses")
    );
    for (name, (worst, _)) in results {
        text += &format!(" {name} {:.1} %", worst * 100.0);
    }
    println!("{text}");
    assert!(!all.is_empty(), "{text}");
    let fits = results.iter().all(|(_, (_, fits))| *fits);
    assert!(fits, "{text}\n{counted:#}");
}

#[test]
fn bursts_at_10_mbit() {
    let within = || Within {
        peak: 0.01,
        pauses: 0.03,
    };
    check(BURST, &[], within());
    let shorter = ["a", "b", "c"].map(|flow| format!("flow.{flow}.frame=600B"));
    check(BURST, &shorter.each_ref().map(String::as_str), within());
    // Below its share of the port nothing waits, and the others get more of it.
    check(BURST, &["flow.b.rate=2Mbit"], within());
}

#[test]
fn bursts_at_10_gbit_with_a_delay() {
    let changes = [
        "link-defaults.rate=10Gbit",
        "link-defaults.delay=1us",
        "duration=12ms",
        "flow.a.start=1ms",
        "flow.a.stop=9ms",
        "flow.b.start=1ms",
        "flow.b.stop=10ms",
        "flow.c.start=2ms",
        "flow.c.stop=8ms",
    ];
    let within = Within {
        peak: 0.03,
        pauses: 0.05,
    };
    check(BURST, &changes, within);
}

#[test]
fn a_burst_of_a_size_and_one_with_silences() {
    let size = Within {
        peak: 0.03,
        pauses: 0.03,
    };
    check(BURST, &["flow.c.size=1MB"], size);
    // A frame that has begun is always sent completely.
    let silences = Within {
        peak: 0.06,
        pauses: 0.05,
    };
    check(BURST, &["flow.c.on=100ms", "flow.c.off=300ms"], silences);
}

#[test]
fn the_incast_of_the_case_study() {
    let within = || Within {
        peak: 0.005,
        pauses: 0.01,
    };
    check(INCAST, &[OPEN], within());
    let longer = [OPEN, "class.lossless.xon=500kB", "duration=20ms"];
    check(INCAST, &longer, within());
    // Over before any buffer reaches xoff.
    check(INCAST, &[OPEN, "traffic.0.size=500kB"], within());
    let few = [OPEN, "topology.hosts=4", "traffic.0.to=h4"];
    check(INCAST, &few, within());
    let far = [
        OPEN,
        "topology.hosts=9",
        "traffic.0.to=h4",
        "link-defaults.delay=10us",
        "class.lossless.headroom=300kB",
        "duration=30ms",
    ];
    check(INCAST, &far, within());
}

#[test]
fn without_pfc_all_waits() {
    let lossy = [
        OPEN,
        "class.lossless.mode=lossy",
        "class.lossless.buffer=400MB",
        "class.lossless.xoff=",
        "class.lossless.xon=",
        "class.lossless.headroom=",
    ];
    let counted = counted(INCAST, &lossy);
    let (worst, fits) = worst(
        &counted["queues"],
        ["peak_bytes", "predicted_peak_bytes"],
        0.001,
        FRAMES,
    );
    assert!(fits, "{worst}");
}

#[test]
fn where_ports_keep_up_nothing_waits() {
    let within = Within {
        peak: 0.0,
        pauses: 0.0,
    };
    check("one-switch.toml", &[], within);
}
