//! Files written by `switchctl plan`: advised configurations, and pictures.

use std::path::{Path, PathBuf};

use crate::support::{file, run, text_of};
use serde_json::Value;
use weir_config::daemon::DaemonConfig;

fn scenario(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../scenarios")
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
    // The status is that of the existing file, which loses frames.
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
    // Existing files are not overwritten.
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
    // A configuration also has a picture: each port in its worst case.
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

/// For each threshold of a class in a pool, the advice results in a valid file.
#[test]
fn advice_for_a_class_with_a_pool_is_legal() {
    let config = |pool: &str, class: &str| {
        let port = |number: usize| {
            format!("[[port]]\ndevice = \"eth{number}\"\nrole = \"edge\"\nrate = \"10Gbit\"\n")
        };
        let ports: String = (1..=3).map(port).collect();
        format!(
            "name = \"leaf1\"\n[[pool]]\nname = \"shared\"\nsize = \"64KiB\"\n{pool}\n[[class]]\nname = \"lossless\"\npriority = 3\nmode = \"pfc\"\npool = \"shared\"\nheadroom = \"20KiB\"\necn-kmin = \"20KiB\"\necn-kmax = \"60KiB\"\n{class}\n{ports}"
        )
    };
    for (pool, class, keys) in [
        (
            "",
            "static-threshold = \"16KiB\"",
            &["static-threshold"][..],
        ),
        ("", "static-threshold = \"64KiB\"", &["shared.size"]),
        ("", "alpha = \"1/8\"", &["alpha"]),
        ("", "alpha = \"8\"", &["shared.size"]),
        (
            "headroom = \"60KiB\"",
            "alpha = \"1/8\"",
            &["alpha", "headroom", "shared.headroom"],
        ),
        (
            "headroom = \"30KiB\"\nheadroom-oversubscription = 2",
            "alpha = \"1\"",
            &["shared.size", "headroom", "shared.headroom"],
        ),
    ] {
        let (guard, path) = file("leaf1.toml", &config(pool, class));
        let out = guard.path().join("applied.toml");
        let arguments = [&text_of(&path), "--round-trip", "300us", "--json"];
        let plan = run(&arguments);
        let json: Value = serde_json::from_str(&plan.stdout).unwrap();
        let advised = json["advice"].as_array().unwrap();
        let place = |one: &Value| {
            let key = one["key"].as_str().unwrap();
            match one["pool"].as_str() {
                Some(pool) => format!("{pool}.{key}"),
                None => key.to_owned(),
            }
        };
        let advised: Vec<String> = advised.iter().map(place).collect();
        for key in keys {
            assert!(
                advised.iter().any(|other| other == key),
                "{key} of {pool} {class}: {advised:?}"
            );
        }
        let applied = run(&[
            &text_of(&path),
            "--round-trip",
            "300us",
            "--apply",
            &text_of(&out),
        ]);
        assert!(
            applied.stderr.contains("has what was advised"),
            "{pool} {class}: {}",
            applied.stderr
        );
        let text = std::fs::read_to_string(&out).unwrap();
        DaemonConfig::parse(&text, &out).unwrap();
    }
}

/// All results of a plan are in the table and in the JSON.
#[test]
fn delays_first_pauses_and_ecn_are_printed_in_both_forms() {
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
    // xoff before the pause, K_max before both, and notification in time.
    let xoff = number(&buffer["xoff_at_us"]);
    assert!(xoff < number(&buffer["pauses"]["first_us"]));
    assert_eq!(number(&queue["ecn"]["xoff_at_us"]), xoff);
    assert!(number(&queue["ecn"]["told_at_us"]) < xoff);
    assert_eq!(queue["ecn"]["verdict"], "before");
    // A frame that arrives when 31 buffers are full waits for all of them: peak / C.
    let peak = number(&queue["peak_bytes"]) / 1536.0 * 1524.0 * 8.0 / 1e5;
    let delay = number(&queue["delay_us"]);
    assert!((delay / peak - 1.0).abs() < 1e-3, "{delay} µs for {peak}");

    // Flows whose rates fit have the closed form: one frame of each of two flows, at the port's rate.
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
