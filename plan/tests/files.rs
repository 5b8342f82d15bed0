//! What `switchctl plan` writes: files with what was advised, and pictures.

mod support;

use std::path::{Path, PathBuf};

use serde_json::Value;
use support::{file, run, text_of};

fn scenario(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../scenarios")
        .join(name)
}

#[test]
fn a_scenario_is_written_with_what_is_advised_and_all_else_as_it_was() {
    let text = std::fs::read_to_string(scenario("incast.toml")).unwrap();
    let narrow = text.replace(r#"headroom = "32kB""#, r#"headroom = "16kB" # not enough"#);
    let (guard, path) = file("incast.toml", &narrow);
    let out = text_of(&guard.path().join("applied.toml"));
    let path = text_of(&path);
    let applied = run(&[path.as_str(), "--apply", &out]);
    // Of the file that is there: it loses frames.
    assert_eq!(applied.code, Some(1), "{}", applied.stderr);
    assert!(applied.stderr.contains("has what was advised"));
    let written = std::fs::read_to_string(&out).unwrap();
    let lines = narrow.lines().zip(written.lines());
    let changed: Vec<(&str, &str)> = lines.filter(|(old, new)| old != new).collect();
    assert_eq!(
        changed,
        [(
            r#"headroom = "16kB" # not enough"#,
            r#"headroom = "29KiB" # not enough"#
        )]
    );
    assert_eq!(narrow.lines().count(), written.lines().count());
    let again = run(&[&out]);
    assert_eq!(again.code, Some(0), "{}", again.stderr);
    assert!(again.stdout.contains("nothing to change"));
    // What is there is not overwritten.
    let refused = run(&[path.as_str(), "--apply", &out]);
    assert!(refused.stderr.contains("exists"), "{}", refused.stderr);
}

#[test]
fn a_picture_has_every_group_of_buffers_and_its_thresholds() {
    let folder = tempfile::tempdir().unwrap();
    let svg = folder.path().join("plan.svg");
    let drawn = run(&[&text_of(&scenario("burst.toml")), "--svg", &text_of(&svg)]);
    assert_eq!((drawn.code, drawn.stderr.as_str()), (Some(0), ""));
    let picture = std::fs::read_to_string(&svg).unwrap();
    for text in [
        "lossless of s1:h1",
        "lossless of s1:h2",
        "lossless of s1:h3",
        "xoff 256.0 KiB",
        "xon 224.0 KiB",
        "headroom 512.0 KiB",
        "neighbour paused",
    ] {
        assert!(picture.contains(text), "{text}");
    }
    // A configuration has a picture, too: each port at its worst.
    let config = r#"
name = "leaf1"
[[class]]
name = "lossless"
priority = 3
mode = "pfc"
xoff = "60KiB"
xon = "52KiB"
headroom = "80KiB"
[[port]]
name = "a"
device = "eth1"
role = "edge"
rate = "10Gbit"
[[port]]
name = "b"
device = "eth2"
role = "edge"
rate = "10Gbit"
[[port]]
name = "c"
device = "eth3"
role = "edge"
rate = "10Gbit"
"#;
    let (_guard, path) = file("leaf1.toml", config);
    let (path, svg_text) = (text_of(&path), text_of(&svg));
    let drawn = run(&[path.as_str(), "--round-trip", "20us", "--svg", &svg_text]);
    assert_eq!((drawn.code, drawn.stderr.as_str()), (Some(0), ""));
    let picture = std::fs::read_to_string(&svg).unwrap();
    assert!(picture.contains("lossless of leaf1:a and 2 alike"));
}

/// Everything that a plan is to say is in the table and in the JSON.
#[test]
fn delays_first_pauses_and_ecn_are_told_in_both_forms() {
    let file = text_of(&scenario("incast.toml"));
    let table = run(&[&file]).stdout;
    for heading in [
        "peak",
        "xoff after",
        "first",
        "needed",
        "waits",
        "known after",
        "ECN",
    ] {
        assert!(table.contains(heading), "{heading}\n{table}");
    }
    let json: Value = serde_json::from_str(&run(&["--json", &file]).stdout).unwrap();
    let buffer = &json["ingress"][0];
    let queue = &json["egress"][0];
    let number = |value: &Value| {
        value
            .as_f64()
            .unwrap_or_else(|| panic!("{value} of {json:#}"))
    };
    // xoff before the pause, K_max before both, and marks that are told in time.
    let xoff = number(&buffer["xoff_at_us"]);
    assert!(xoff < number(&buffer["pauses"]["first_us"]));
    assert_eq!(number(&queue["ecn"]["xoff_at_us"]), xoff);
    assert!(number(&queue["ecn"]["told_at_us"]) < xoff);
    assert_eq!(queue["ecn"]["verdict"], "before");
    // A frame that comes when 31 buffers are full waits for all of them: peak / C.
    let peak = number(&queue["peak_bytes"]) / 1536.0 * 1524.0 * 8.0 / 1e5;
    let delay = number(&queue["delay_us"]);
    assert!((delay / peak - 1.0).abs() < 1e-3, "{delay} µs for {peak}");

    // Flows with rates that fit have the closed form: one frame of each of two flows, at the port's rate.
    let overrides = ["flow.c=", "flow.a.rate=4Mbit", "flow.b.rate=4Mbit"];
    let mut words = vec!["--json".to_owned(), text_of(&scenario("burst.toml"))];
    words.extend(
        overrides
            .iter()
            .flat_map(|set| ["--set".into(), (*set).to_owned()]),
    );
    let json: Value = serde_json::from_str(&run(&words).stdout).unwrap();
    let delay = json["egress"][0]["delay_us"].as_f64().unwrap();
    let expected = 2.0 * 1524.0 * 8.0 / 10.0;
    assert!((delay - expected).abs() < 1e-6, "{delay} for {expected}");
}
