//! `switchctl deadlock show`: a record as text, as JSON, and as a picture.

use crate::support::{self, Answer, FakeDaemon, Run};
use serde_json::{json, Value};

const PATH: &str = "/v1/deadlocks/7";
const BEGAN: u64 = 5_000_000_000;

/// Returns a record: suspected for 40 ms after 100 ms without a frame, released after 20 ms, sampled every 20 ms.
fn record() -> Value {
    let samples: Vec<Value> = (-20i64..=52)
        .map(|step| {
            let held = (-5..2).contains(&step);
            let occupied = if step < -10 { 0 } else { 61_696 };
            json!({
                "monotonic_nanos": BEGAN as i64 + step * 20_000_000, "held_frames": 40,
                "ports": [
                    {"ingress_bytes": occupied, "egress_bytes": 0, "xoff_bytes": 61_440,
                     "xon_bytes": 53_248, "tx_bytes_total": 9, "forced_bytes_total": 0,
                     "pausing": held, "paused": false, "suspected": false},
                    {"ingress_bytes": 0, "egress_bytes": occupied, "xoff_bytes": 61_440,
                     "xon_bytes": 53_248, "tx_bytes_total": 9, "forced_bytes_total": 0,
                     "pausing": false, "paused": held, "suspected": (0..2).contains(&step),
                     "release_ingress": if step == 1 { json!("s4") } else { Value::Null }}
                ]
            })
        })
        .collect();
    let event = |sequence: u64, millis: u64, kind: &str, port: &str, details: Value| {
        json!({"sequence": sequence, "monotonic_nanos": BEGAN + millis * 1_000_000,
               "time": "2026-01-02T03:04:05.000000Z", "kind": kind, "port": port, "priority": 3,
               "details": details})
    };
    json!({
        "switch": "s1",
        "deadlock": {
            "id": 7, "port": "s2", "priority": 3, "reason": "paused",
            "began_monotonic_nanos": BEGAN, "idle_seconds": 0.1, "queued_bytes": 61_440,
            "spuid": "000000a1", "loops_found": 1, "releases": 1, "first_release_seconds": 0.02,
            "lasted_seconds": 0.04, "master": {"who": "other", "spuid": "00000017"}, "reroutes": 1,
            "flows_moved": 2, "released_bytes": 3_072, "forced_bytes": 1_536, "recorded": true
        },
        "began_time": "2026-01-02T03:04:05.000000Z", "complete": true,
        "interval_before_seconds": 0.03125, "interval_seconds": 0.02, "samples_left_out": 4,
        "events_left_out": 0,
        "ports": [
            {"name": "s4", "role": "fabric", "rate_bits_per_second": 100_000_000},
            {"name": "s2", "role": "fabric", "rate_bits_per_second": 100_000_000}
        ],
        "samples": samples,
        "events": [
            event(1, 0, "suspected", "s2", json!({"reason": "paused"})),
            event(2, 0, "clcm_sent", "s2", json!({"spuid": "000000a1"})),
            event(3, 10, "clcm_received", "s4", json!({"origin": "00000017", "note": "a<b & \"c\""})),
            event(4, 20, "release_started", "s2", json!({"ingress": "s4"})),
            event(5, 30, "flow_moved", "s2",
                  json!({"ingress": "s4", "to": "s3", "destination": "02:00:00:00:00:09"})),
            event(6, 40, "suspicion_ended", "s2", json!({"lasted": "0.040000 s"}))
        ]
    })
}

fn shown(arguments: &[&str], body: &Value) -> String {
    let run = FakeDaemon::good(PATH, &body.to_string()).run(arguments);
    assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""));
    run.stdout
}

#[test]
fn the_text_is_complete() {
    let text = shown(&["deadlock", "show", "7"], &record());
    let facts: String = text
        .lines()
        .take(9)
        .map(|line| line.to_owned() + "\n")
        .collect();
    assert_eq!(
        facts,
        support::lines(
            "
|suspicion    7 of switch s1: port s2, priority 3
|began        2026-01-02T03:04:05.000000Z
|why          paused: the neighbour pauses us; 60.0 KiB had waited for 100.0 ms and nothing was sent
|lasted       40.0 ms
|CLCM         SPUID 000000a1; 1 sent, 1 seen, 0 forwarded, 0 ignored; 1 loop found
|master       another switch, SPUID 00000017
|releases     1 ordered, first after 20.0 ms, 3.0 KiB sent during them, 1.5 KiB forced out although paused
|flows moved  2: to 02:00:00:00:00:09 from s4 s2 → s3; and 1 more
|recorded     from 400.0 ms before to 1.0 s after it began: 73 samples, 6 events; 4 samples in between omitted"
        )
    );
    for row in [
        "ingress s4",
        "backlog s2",
        "paused by s2",
        "we pause s4",
        "release at s2",
        "suspected s2",
    ] {
        assert!(
            text.lines().any(|line| line.starts_with(row)),
            "{row}: {text}"
        );
    }
    let line = text
        .lines()
        .find(|line| line.starts_with("ingress s4"))
        .unwrap();
    let curve: Vec<char> = line.split('|').nth(1).unwrap().chars().collect();
    assert_eq!((curve.len(), curve[0], curve[63]), (64, ' ', '█'), "{line}");
    assert!(line.ends_with("peak 60.2 KiB, xoff 60.0 KiB"), "{line}");
    let events: Vec<&str> = text.lines().rev().take(6).collect();
    assert_eq!(
        events[0],
        "  +0.040000 s  suspicion_ended  port s2  lasted=0.040000 s"
    );
    assert_eq!(
        events[5],
        "  +0.000000 s  suspected        port s2  reason=paused"
    );
}

#[test]
fn a_suspicion_without_any_action_is_described() {
    let mut body = record();
    body["deadlock"] = json!({
        "id": 7, "port": "s2", "priority": 3, "reason": "transmitter_stuck",
        "began_monotonic_nanos": BEGAN, "idle_seconds": 0.1, "queued_bytes": 60, "spuid": null,
        "loops_found": 0, "releases": 0, "first_release_seconds": null, "lasted_seconds": null
    });
    body["complete"] = json!(false);
    body["samples"] = json!([]);
    body["events"] = json!([]);
    let text = shown(&["deadlock", "show", "7"], &body);
    for line in [
        "lasted       ongoing: STILL SUSPECTED",
        "master       –",
        "releases     –",
        "flows moved  –",
    ] {
        assert!(text.contains(line), "{line}: {text}");
    }
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("empty.svg");
    shown(
        &["deadlock", "show", "7", "--svg", file.to_str().unwrap()],
        &body,
    );
    assert_well_formed(&std::fs::read_to_string(file).unwrap());
}

#[test]
fn json_is_what_the_daemon_said() {
    let text = shown(&["--json", "deadlock", "show", "7"], &record());
    let printed: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(printed["deadlock"], record()["deadlock"]);
    assert_eq!(printed["samples"].as_array().unwrap().len(), 73);
}

#[test]
fn the_picture_has_every_curve_span_and_mark() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("flight.svg");
    shown(
        &["deadlock", "show", "7", "--svg", file.to_str().unwrap()],
        &record(),
    );
    let picture = std::fs::read_to_string(&file).unwrap();
    assert_well_formed(&picture);
    let count = |what: &str| picture.matches(what).count();
    for label in [
        "ingress occupancy, KiB",
        "egress backlog, KiB",
        "s since suspected",
        "from s4",
        "to s2",
        "paused by s2",
        "we pause s4",
        "release at s2",
        "CLCM received × 1",
        "flow moved × 1",
        "prefers-color-scheme:dark",
        "a&lt;b &amp;",
    ] {
        assert!(count(label) > 0, "{label}");
    }
    assert_eq!(count("class=\"mark\""), 6, "one mark for each event");
    assert_eq!(
        count("<title>xoff</title>"),
        1,
        "thresholds that are the same are drawn once"
    );
    assert_eq!(count("class=\"paused\""), 1);
    assert!(!picture.contains("Feedback"), "no class has Levels");

    let mut levels = record();
    for sample in levels["samples"].as_array_mut().unwrap() {
        sample["ports"][1]["levels"] =
            json!({"feedback_sent": 0, "feedback_received": 2, "held_bytes": 30_000});
    }
    shown(
        &["deadlock", "show", "7", "--svg", file.to_str().unwrap()],
        &levels,
    );
    let picture = std::fs::read_to_string(&file).unwrap();
    assert_well_formed(&picture);
    assert!(picture.contains("Feedback, Level") && picture.contains("received from s2"));
    assert!(picture.contains("to s2, held by Feedback"));
}

#[test]
fn a_missing_record_and_an_unwritable_file_are_reported() {
    let refusal = "{\"error\": \"no such suspicion: 7; GET /v1/deadlocks lists the known ones\"}";
    let daemon = FakeDaemon::new(&[(PATH, vec![Answer::Http(404, refusal.to_owned())])]);
    let Run { code, stderr, .. } = daemon.run(&["deadlock", "show", "7"]);
    assert_eq!(code, Some(1));
    assert_eq!(
        stderr,
        "switchctl: no such suspicion: 7; `switchctl deadlock` lists the known ones\n"
    );
    let daemon = FakeDaemon::good(PATH, &record().to_string());
    let run = daemon.run(&["deadlock", "show", "7", "--svg", "/no/such/place.svg"]);
    assert_eq!(run.code, Some(1));
    assert!(
        run.stderr.contains("cannot write /no/such/place.svg"),
        "{}",
        run.stderr
    );
    assert_eq!(daemon.run(&["deadlock", "show", "first"]).code, Some(2));
}

/// Checks that tags are balanced, attributes are quoted, and special characters are escaped.
fn assert_well_formed(text: &str) {
    let mut open = Vec::new();
    let mut rest = text;
    while let Some(start) = rest.find('<') {
        let before = &rest[..start];
        assert!(
            !before.contains('>') || open.last() == Some(&"style"),
            "{before}"
        );
        for entity in before.split('&').skip(1) {
            let known = ["amp;", "lt;", "gt;"]
                .iter()
                .any(|name| entity.starts_with(name));
            assert!(known, "{before}");
        }
        let end = start + rest[start..].find('>').expect("a tag ends");
        let tag = &rest[start + 1..end];
        assert_eq!(tag.matches('"').count() % 2, 0, "{tag}");
        assert!(!tag.contains("NaN") && !tag.contains("inf"), "{tag}");
        if let Some(name) = tag.strip_prefix('/') {
            assert_eq!(open.pop(), Some(name), "{tag}");
        } else if !tag.ends_with('/') {
            open.push(tag.split_whitespace().next().unwrap());
        }
        rest = &rest[end + 1..];
    }
    assert_eq!((open.len(), rest.trim()), (0, ""));
}
