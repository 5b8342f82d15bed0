//! `switchctl watermark` and `switchctl pfc counters`.

use crate::support::{lines, Answer, FakeDaemon};
use serde_json::{json, Value};

fn reader(name: &str, until: Value, ingress: u64) -> Value {
    json!({
        "reader": name, "since": "2026-11-25T17:40:00.000001Z", "until": until, "held_frames_max": 12,
        "queues": [
            {"port": "h1", "priority": 0, "since": "2026-11-25T17:40:00.000001Z", "ingress_bytes_max": 0,
             "headroom_used_bytes_max": null, "egress_bytes_max": 0},
            {"port": "h1", "priority": 3, "since": "2026-11-25T17:41:00.000001Z", "ingress_bytes_max": ingress,
             "headroom_used_bytes_max": 1024, "egress_bytes_max": 0},
            {"port": "h2", "priority": 3, "since": "2026-11-25T17:40:00.000001Z", "ingress_bytes_max": 0,
             "headroom_used_bytes_max": 0, "egress_bytes_max": 61_440}
        ]
    })
}

fn all() -> Value {
    json!({
        "telemetry_interval_seconds": 120.0, "umem_frames": 8192,
        "readers": [
            reader("user", Value::Null, 62_464),
            reader("persistent", Value::Null, 1_048_576)
        ]
    })
}

fn shown(arguments: &[&str], path: &str, body: &Value) -> String {
    let run = FakeDaemon::good(path, &body.to_string()).run(arguments);
    assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""));
    run.stdout
}

#[test]
fn peaks_are_those_of_one_reader() {
    let expected = lines(
        "|port  priority    ingress  headroom    egress  frames  since
         |all          –          –         –         –      12  2026-11-25T17:40:00Z
         |h1           0        0 B         –       0 B       –  2026-11-25T17:40:00Z
         |h1           3   61.0 KiB   1.0 KiB       0 B       –  2026-11-25T17:41:00Z
         |h2           3        0 B       0 B  60.0 KiB       –  2026-11-25T17:40:00Z",
    );
    for words in [&["watermark"][..], &["watermark", "show"]] {
        let text = shown(words, "/v1/watermarks", &all());
        let squeezed = |text: &str| {
            text.split_whitespace()
                .map(str::to_owned)
                .collect::<Vec<_>>()
        };
        assert_eq!(squeezed(&text), squeezed(&expected), "{text}");
    }
    let words = ["watermark", "show", "--reader", "persistent", "h1"];
    let text = shown(&words, "/v1/watermarks", &all());
    assert!(
        text.contains("1.0 MiB") || text.contains("1024.0 KiB"),
        "{text}"
    );
    assert!(!text.contains("h2") && !text.contains("all"), "{text}");
    let without = ["watermark", "--reader", "persistent", "h1"];
    assert_eq!(shown(&without, "/v1/watermarks", &all()), text);
    let json = shown(&["--json", "watermark"], "/v1/watermarks", &all());
    let json: Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json, all()["readers"][0]);
}

#[test]
fn telemetry_has_an_end_or_nothing_yet() {
    let words = ["watermark", "show", "--reader", "telemetry"];
    let text = shown(&words, "/v1/watermarks", &all());
    assert_eq!(
        text,
        "no interval of telemetry is over yet; the first one lasts 120 s ([watermark] interval)\n"
    );
    let mut later = all();
    let until = json!("2026-11-25T17:42:00.5Z");
    later["readers"][0] = reader("telemetry", until, 3 * 1024);
    let text = shown(&words, "/v1/watermarks", &later);
    assert!(text.ends_with("until 2026-11-25T17:42:00Z\n"), "{text}");
    assert!(text.contains("3.0 KiB"), "{text}");
}

#[test]
fn a_clear_sends_the_reader_and_the_ports() {
    for (words, body) in [
        (&["clear"][..], json!({"reader": "user", "ports": []})),
        (
            &["clear", "--reader", "persistent", "h1", "h2"],
            json!({"reader": "persistent", "ports": ["h1", "h2"]}),
        ),
    ] {
        let daemon = FakeDaemon::good("/v1/watermarks/clear", &all().to_string());
        let arguments: Vec<&str> = ["watermark"].iter().chain(words).copied().collect();
        let run = daemon.run(&arguments);
        assert_eq!(run.code, Some(0), "{}", run.stderr);
        let (method, sent) = daemon.sent().remove(0);
        assert_eq!(method, "POST");
        assert_eq!(serde_json::from_str::<Value>(&sent).unwrap(), body);
    }
    let error = json!({"error": "the peaks for telemetry begin again at every interval"});
    let answer = Answer::Http(400, error.to_string());
    let daemon = FakeDaemon::new(&[("/v1/watermarks/clear", vec![answer])]);
    let run = daemon.run(&["watermark", "clear", "--reader", "telemetry"]);
    assert_eq!(run.code, Some(1));
    assert!(run.stderr.contains("at every interval"), "{}", run.stderr);
    let run = daemon.run(&["watermark", "clear", "--reader", "all"]);
    assert_eq!(run.code, Some(2), "{}", run.stderr);
    // Clearing changes the switch.
    let run = daemon.run(&["--watch", "watermark", "clear"]);
    assert_eq!(run.code, Some(2), "{}", run.stderr);
}

fn pauses(xoff: u64, xon: u64, begun: u64) -> Value {
    let began = (begun > 0).then_some("2026-11-25T17:40:00.000001Z");
    json!({
        "xoff_frames_total": xoff, "xon_frames_total": xon, "transitions_total": begun,
        "paused": false, "last_began": began, "last_began_monotonic_nanos": began.map(|_| 5),
        "last_ended": null, "last_ended_monotonic_nanos": null,
        "paused_seconds_total": 1.25, "longest_seconds": 0.5
    })
}

#[test]
fn pauses_are_frames_by_priority_or_spans_by_direction() {
    let body = json!([
        {"port": "h1", "priority": 3, "sent": pauses(40, 39, 39), "received": pauses(0, 0, 0)},
        {"port": "h1", "priority": 4, "sent": pauses(0, 0, 0), "received": pauses(2, 1, 1)},
        {"port": "h2", "priority": 3, "sent": pauses(0, 0, 0), "received": pauses(0, 0, 0)}
    ]);
    let path = "/v1/pfc/counters";
    assert_eq!(
        shown(&["pfc", "counters"], path, &body),
        lines(
            "|port rx  PFC0  PFC1  PFC2  PFC3  PFC4  PFC5  PFC6  PFC7
             |h1          0     0     0     0     3     0     0     0
             |h2          0     0     0     0     0     0     0     0
             |
             |port tx  PFC0  PFC1  PFC2  PFC3  PFC4  PFC5  PFC6  PFC7
             |h1          0     0     0    79     0     0     0     0
             |h2          0     0     0     0     0     0     0     0"
        )
    );
    assert_eq!(
        shown(&["pfc", "counters", "--history"], path, &body),
        lines(
            "|port  priority  direction  XOFF  XON  pauses  paused    for   longest  last began                   last ended
             |h1           3  tx           40   39      39  –       1.2 s  500.0 ms  2026-11-25T17:40:00.000001Z  –
             |h1           4  rx            2    1       1  –       1.2 s  500.0 ms  2026-11-25T17:40:00.000001Z  –"
        )
    );
    let text = shown(&["pfc", "counters", "h2", "--history"], path, &body);
    assert_eq!(text, "no pause has been sent or received\n");
    let json = shown(&["--json", "pfc", "counters"], path, &body);
    assert_eq!(serde_json::from_str::<Value>(&json).unwrap(), body);
    let run = FakeDaemon::good(path, &body.to_string()).run(&["pfc", "counters", "h9"]);
    assert!(run.stderr.contains("no port `h9`"), "{}", run.stderr);
}
