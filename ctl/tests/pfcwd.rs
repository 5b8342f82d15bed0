//! `switchctl pfcwd`: its requests and output.

use crate::support::{lines, Answer, FakeDaemon};
use serde_json::{json, Value};

fn pfcwd() -> Value {
    json!({
        "ports": [
            {"port": "s2", "watchdog": null},
            {"port": "h1", "watchdog": {"action": "drop", "detection_milliseconds": 200,
                                        "restoration_milliseconds": 400}},
        ],
        "queues": [
            {"port": "s2", "priority": 3, "status": "operational", "action": null,
             "storms_detected_total": 0, "storms_restored_total": 0,
             "forwarded_frames_total": 0, "dropped_frames_total": 0},
            {"port": "h1", "priority": 3, "status": "stormed", "action": "drop",
             "storms_detected_total": 2, "storms_restored_total": 1,
             "forwarded_frames_total": 0, "dropped_frames_total": 4711, "received_frames_total": 9,
             "last_forwarded_frames": 0, "last_dropped_frames": 711, "last_received_frames": 4},
        ],
    })
}

fn daemon() -> FakeDaemon {
    FakeDaemon::good("/v1/pfcwd", &pfcwd().to_string())
}

#[test]
fn the_configuration_is_a_line_for_each_port() {
    let run = daemon().run(&["pfcwd", "show", "config"]);
    assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""));
    let expected = lines(
        "|port  action  detection time  restoration time
         |s2    off                  –                 –
         |h1    drop            200 ms            400 ms",
    );
    assert_eq!(run.stdout, expected);
    let run = daemon().run(&["pfcwd", "show", "config", "h1"]);
    assert!(!run.stdout.contains("s2"), "{}", run.stdout);
}

#[test]
fn stats_show_what_has_seen_a_storm() {
    let run = daemon().run(&["pfcwd", "show", "stats"]);
    let expected = lines(
        "|queue  status          storm detected/restored  tx ok/drop  rx ok  tx last ok/drop  rx last ok
         |h1:3   stormed (drop)                      2/1      0/4711      9            0/711           4",
    );
    assert_eq!(run.stdout, expected);
    let short = daemon().run(&["pfcwd", "stats"]);
    assert_eq!(short.stdout, expected);
    let run = daemon().run(&["pfcwd", "show", "stats", "--empty"]);
    assert!(run.stdout.contains("s2:3   operational"), "{}", run.stdout);
    let run = daemon().run(&["--json", "pfcwd", "show", "stats"]);
    let queues: Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!(queues, json!([pfcwd()["queues"][1]]));
    let run = daemon().run(&["pfcwd", "show", "stats", "s2"]);
    assert_eq!(run.stdout, "no queue has had a storm (--empty shows all)\n");
}

#[test]
fn an_unknown_port_is_named() {
    let run = daemon().run(&["pfcwd", "show", "config", "h9"]);
    assert_eq!(run.code, Some(1));
    assert!(run.stderr.contains("no port `h9`"), "{}", run.stderr);
}

#[test]
fn start_and_stop_send_what_sonic_would_set() {
    let settings = |action: &str, detection: u64, restoration: u64| {
        json!({"action": action, "detection_milliseconds": detection,
               "restoration_milliseconds": restoration})
    };
    for (words, ports, watchdog) in [
        (
            &[
                "start",
                "--action",
                "drop",
                "all",
                "400",
                "--restoration-time",
                "500",
            ][..],
            json!([]),
            settings("drop", 400, 500),
        ),
        // Without a restoration time, twice the detection time is used.
        (
            &["start", "-a", "forward", "s2", "h1", "400"],
            json!(["s2", "h1"]),
            settings("forward", 400, 800),
        ),
        (&["start_default"], json!([]), settings("drop", 200, 200)),
        (&["stop"], json!([]), Value::Null),
        (&["stop", "h1"], json!(["h1"]), Value::Null),
    ] {
        let daemon = daemon();
        let arguments: Vec<&str> = ["pfcwd"].iter().chain(words).copied().collect();
        let run = daemon.run(&arguments);
        assert_eq!(run.code, Some(0), "{words:?}: {}", run.stderr);
        assert!(run.stdout.starts_with("port  action"), "{}", run.stdout);
        let mut requests = daemon.sent();
        assert_eq!(requests.len(), 1);
        let (method, body) = requests.remove(0);
        assert_eq!(method, "PUT");
        let sent: Value = serde_json::from_str(&body).unwrap();
        assert_eq!(
            sent,
            json!({"ports": ports, "watchdog": watchdog}),
            "{words:?}"
        );
        assert_eq!(daemon.asked(), ["/v1/pfcwd"]);
    }
}

#[test]
fn times_beyond_sonics_ranges_are_no_command_line() {
    for words in [
        &["start", "all", "99"][..],
        &["start", "all", "5001"],
        &["start", "all", "200", "--restoration-time", "60001"],
        &["start", "200"],
        &["start", "--action", "shut", "all", "200"],
    ] {
        let daemon = daemon();
        let arguments: Vec<&str> = ["pfcwd"].iter().chain(words).copied().collect();
        assert_eq!(daemon.run(&arguments).code, Some(2), "{words:?}");
        assert!(daemon.asked().is_empty());
    }
}

#[test]
fn a_refusal_is_printed() {
    let answer = Answer::Http(400, json!({"error": "no such port: `x`"}).to_string());
    let daemon = FakeDaemon::new(&[("/v1/pfcwd", vec![answer])]);
    let run = daemon.run(&["pfcwd", "stop", "x"]);
    assert_eq!(run.code, Some(1));
    assert!(run.stderr.contains("no such port: `x`"), "{}", run.stderr);
}
