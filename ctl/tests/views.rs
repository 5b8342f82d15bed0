//! Requests to the daemon: tables for people, JSON for programs.

use crate::support::{self, FakeDaemon, Run};
use serde_json::{json, Value};

/// Returns the program's output for `body`.
fn shown(arguments: &[&str], path: &str, body: &Value) -> String {
    let daemon = FakeDaemon::good(path, &body.to_string());
    let run = daemon.run(arguments);
    assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""));
    run.stdout
}

/// Asserts that `--json` prints the complete, formatted answer of the API.
fn assert_json(arguments: &[&str], path: &str, body: &Value) {
    let mut with_json = vec!["--json"];
    with_json.extend(arguments);
    let stdout = shown(&with_json, path, body);
    let printed = serde_json::from_str(&stdout).unwrap();
    assert!(has_all(&printed, body), "{stdout}");
    assert!(stdout.lines().count() > 1, "pretty: {stdout}");
}

/// Returns true when `whole` has every value of `part`; objects may have more fields.
fn has_all(whole: &Value, part: &Value) -> bool {
    match (whole, part) {
        (Value::Object(whole), Value::Object(part)) => part
            .iter()
            .all(|(key, value)| whole.get(key).is_some_and(|whole| has_all(whole, value))),
        (Value::Array(whole), Value::Array(part)) => {
            whole.len() == part.len() && whole.iter().zip(part).all(|(a, b)| has_all(a, b))
        }
        _ => whole == part,
    }
}

fn status() -> Value {
    json!({
        "name": "s1", "version": "0.1.0", "pid": 4711, "state": "running", "uptime_seconds": 3723.5,
        "deadlock_policy": "breaker", "port_count": 3, "suspected_count": 1, "held_frames": 90,
        "admitted_frames_total": 1000, "transmitted_frames_total": 910,
        "drops_total": {"no_route": 12, "bad_length": 3}, "kernel_losses_total": 2,
        "umem_frames": 8192, "umem_frames_free": 8000,
        "dataplane": {"rounds_total": 200, "busy_rounds_total": 50, "sleeps_total": 7,
                      "round_seconds_max": 0.000042, "events_lost_total": 0},
        "clcm": {"sent_total": 9, "received_total": 8, "loops_found_total": 1, "releases_total": 2}
    })
}

#[test]
fn status_is_a_list_of_facts() {
    assert_eq!(
        shown(&["status"], "/v1/status", &status()),
        support::lines(
            "
|switch              s1
|state               running, version 0.1.0, pid 4711, up 1 h 02 min
|ports               3
|frames              1000 admitted, 910 sent, 90 inside
|dropped             3 bad_length, 12 no_route
|lost by the kernel  2 frames
|deadlocks           policy breaker; suspected queues: 1
|CLCM                9 sent, 8 received, 1 loop found, 2 releases
|packet memory       8000 of 8192 frames free
|dataplane           200 rounds, 25.0 % with work, 7 sleeps, longest round 42.0 µs, 0 events lost"
        )
    );
    assert_json(&["status"], "/v1/status", &status());
}

/// A container's liveness and readiness differ from health.
#[test]
fn probes_ask_whether_the_switch_lives_and_forwards() {
    let with = |state: &str, verdict: &str, reasons: Value| {
        let mut status = status();
        status["state"] = json!(state);
        status["health"] = json!({"verdict": verdict, "reasons": reasons});
        status
    };
    let reason =
        |kind: &str| json!([{"kind": kind, "verdict": "failing", "count": 1, "text": "x"}]);
    for (body, plain, live, ready) in [
        (with("running", "ok", json!([])), 0, 0, 0),
        (with("running", "degraded", reason("drops")), 5, 0, 0),
        (with("running", "failing", reason("deadlock")), 6, 0, 0),
        (
            with("running", "failing", reason("dataplane_silent")),
            6,
            6,
            6,
        ),
        (with("draining", "ok", json!([])), 0, 0, 5),
    ] {
        for (arguments, code) in [
            (&["status"][..], plain),
            (&["status", "--probe", "live"], live),
            (&["status", "--probe", "ready"], ready),
        ] {
            let daemon = FakeDaemon::good("/v1/status", &body.to_string());
            let run = daemon.run(arguments);
            assert_eq!(run.code, Some(code), "{arguments:?} of {body}");
        }
    }
}

#[test]
fn a_device_that_is_gone_is_named() {
    let mut status = status();
    status["ports_without_device"] = json!(["p1", "p2"]);
    let text = shown(&["status"], "/v1/status", &status);
    let line = "ports               3; without a device: p1, p2";
    assert!(text.contains(line), "{text}");
}

#[test]
fn ports_align() {
    let port = |name: &str, up: bool, drops: Value| {
        json!({
            "name": name, "device": format!("{name}-eth"), "role": "fabric",
            "address": "02:00:00:00:00:01", "rate_bits_per_second": 100_000_000, "link_up": up,
            "xdp_mode": "native", "zero_copy": false, "rx_frames_total": 12, "rx_bytes_total": 18_000, "rx_priorities": [0, 3],
            "tx_frames_total": 123_456, "tx_bytes_total": 900, "drops_total": drops,
            "kernel_losses": {"rx_dropped_total": 1, "rx_ring_full_total": 4,
                "rx_fill_ring_empty_total": 3, "rx_invalid_descs_total": 0, "tx_invalid_descs_total": 0},
            "device_losses": {"rx_missed_total": 6},
            "xdp_frames_total": {"data": 12}, "clcm_sent_total": 0, "clcm_received_total": 0,
            "xdp_verdicts_total": {"redirected": 12, "dropped": 0, "no_meta": 3, "cut": 2}
        })
    };
    let body = json!([
        port("s2", true, json!({})),
        port("uplink", false, json!({"no_route": 5}))
    ]);
    assert_eq!(
        shown(&["ports"], "/v1/ports", &body),
        support::lines(
            "
|port    device      role    link       rate  XDP           priorities in  frames in  frames out  bytes in  bytes out  dropped     XDP dropped       kernel lost  NIC lost
|s2      s2-eth      fabric  up    100Mbit/s  native, copy  0,3                   12      123456  17.6 KiB      900 B  –           2 cut, 3 no_meta            7         6
|uplink  uplink-eth  fabric  DOWN  100Mbit/s  native, copy  0,3                   12      123456  17.6 KiB      900 B  5 no_route  2 cut, 3 no_meta            7         6"
        )
    );
    assert_json(&["ports"], "/v1/ports", &body);

    let one = shown(&["ports", "uplink"], "/v1/ports", &body);
    assert_eq!(one.lines().count(), 2, "{one}");
    assert!(one.lines().nth(1).unwrap().starts_with("uplink "), "{one}");
    let daemon = FakeDaemon::good("/v1/ports", &body.to_string());
    let unknown = daemon.run(&["ports", "s7"]);
    assert_eq!((unknown.code, unknown.stdout.as_str()), (Some(1), ""));
    assert!(
        unknown.stderr.contains("no port `s7`"),
        "{}",
        unknown.stderr
    );
}

fn queue(port: &str, most: u64) -> Value {
    let [rx, tx] = if most > 0 { [40, 41] } else { [0, 0] };
    json!({
        "port": port, "priority": 3, "class": "lossless", "mode": "pfc", "ingress_bytes": 256,
        "ingress_bytes_max": most, "egress_bytes": 0, "egress_bytes_max": most, "egress_frames": 0,
        "rx_frames_total": rx, "tx_frames_total": tx, "rx_bytes_total": 0, "tx_bytes_total": 0
    })
}

#[test]
fn idle_queues_are_shown_when_asked_for() {
    let body = json!([queue("s2", 61_440), queue("s3", 0)]);
    let busy = "
|port  priority  class     mode  ingress      peak  egress      peak  frames waiting  frames in  frames out
|s2           3  lossless  pfc     256 B  60.0 KiB     0 B  60.0 KiB               0         40          41";
    assert_eq!(
        shown(&["queues"], "/v1/queues", &body),
        support::lines(busy)
    );
    let all = shown(&["queues", "--all"], "/v1/queues", &body);
    assert_eq!(all.lines().count(), 3, "{all}");
    assert_json(&["queues", "--all"], "/v1/queues", &body);
    let idle = json!([queue("s3", 0)]);
    assert_eq!(
        shown(&["queues"], "/v1/queues", &idle),
        "no queue has had a frame yet; --all shows all queues\n"
    );
}

#[test]
fn pfc_shows_who_pauses_whom() {
    let body = json!([{
        "port": "s2", "priority": 3, "ingress_bytes": 61_440, "xoff_bytes": 61_440,
        "xon_bytes": 53_248, "headroom_bytes": 65_536, "headroom_used_bytes_max": 1024,
        "pausing": true, "paused": false, "xoff_sent_total": 5, "xon_sent_total": 4,
        "pause_received_total": 3, "resume_received_total": 2, "paused_seconds_total": 1.25,
        "suspected": true, "release_ingress": "s4"
    }]);
    assert_eq!(
        shown(&["pfc"], "/v1/pfc", &body),
        support::lines(
            "
|port  priority   ingress      xoff       xon        headroom used  we pause  paused by it    for  XOFF sent  XON sent  pauses in  resumes in  suspected  release
|s2           3  60.0 KiB  60.0 KiB  52.0 KiB  1.0 KiB of 64.0 KiB  yes       –             1.2 s          5         4          3           2  yes        only from s4"
        )
    );
    assert_json(&["pfc"], "/v1/pfc", &body);
    assert_eq!(
        shown(&["pfc"], "/v1/pfc", &json!([])),
        "no class is lossless\n"
    );
}

#[test]
fn counters_have_their_meaning() {
    let body = json!([
        {"port": "s2", "counters": {"pfc_sent_total": 3, "from_the_future_total": 1, "clcm_sent_total": 0}},
        {"port": "s2", "priority": 3, "counters": {"pause_received_total": 7}},
        {"port": "s4", "counters": {"pfc_sent_total": 0}}
    ]);
    assert_eq!(
        shown(&["counters"], "/v1/counters", &body),
        support::lines(
            "
|port  priority  counter                count  meaning
|s2           –  from_the_future_total      1  –
|s2           –  pfc_sent_total             3  PFC frames sent.
|s2           3  pause_received_total       7  Pauses (time above zero) that the neighbour sent for this priority."
        )
    );
    assert_json(&["counters", "--all"], "/v1/counters", &body);
    let all = shown(&["counters", "--all"], "/v1/counters", &body);
    assert!(all.contains("s4           –  pfc_sent_total"), "{all}");
    assert_eq!(
        shown(&["counters"], "/v1/counters", &json!([])),
        "all counters are zero\n"
    );
}

fn level_link(port: &str, class: &str, priority: u8) -> Value {
    json!({
        "port": port, "priority": priority, "class": class, "depth": 3,
        "b_bytes": [61_440, 1_536, 1_536], "m_bytes": [1_024, 2_560, 4_096], "reserve_bytes": 4_096,
        "round_trip_nanos": 80_000, "round_trip_measured_nanos": null, "feedback_sent": 1,
        "feedback_received": 2, "paused": false, "eligible_frames": 1, "eligible_bytes": 60,
        "held_frames": 17, "held_bytes": 25_500
    })
}

#[test]
fn levels_of_links_and_destinations() {
    let destination = |number: u8, level: u8| {
        json!({"priority": 3, "class": "lossless", "destination": format!("02:00:00:00:01:{number:02x}"),
               "level": level, "buffered_bytes": 3_072})
    };
    let mut measured = level_link("s4", "lossless", 3);
    measured["round_trip_measured_nanos"] = json!(71_500);
    measured["paused"] = json!(true);
    let body = json!({
        "links": [level_link("s2", "storage", 2), level_link("s3", "lossless", 3), measured],
        "destinations": [destination(9, 0), destination(8, 2), destination(7, 2), destination(1, 3)],
        "left_out": 76
    });
    assert_eq!(
        shown(&["levels"], "/v1/levels", &body),
        support::lines(
            "
|class     priority  port  D  f sent  f received  paused by it         eligible                   held        T  measured       rT  m                          b
|lossless         3  s3    3       1           2  –             60 B in 1 frame  24.9 KiB in 17 frames  80.0 µs         –  4.0 KiB  1.0 KiB, 2.5 KiB, 4.0 KiB  60.0 KiB, 2 × 1.5 KiB
|lossless         3  s4    3       1           2  yes           60 B in 1 frame  24.9 KiB in 17 frames  80.0 µs   71.5 µs  4.0 KiB  1.0 KiB, 2.5 KiB, 4.0 KiB  60.0 KiB, 2 × 1.5 KiB
|storage          2  s2    3       1           2  –             60 B in 1 frame  24.9 KiB in 17 frames  80.0 µs         –  4.0 KiB  1.0 KiB, 2.5 KiB, 4.0 KiB  60.0 KiB, 2 × 1.5 KiB
|
|class     priority  destination        Level  buffered
|lossless         3  02:00:00:00:01:01      3   3.0 KiB
|lossless         3  02:00:00:00:01:07      2   3.0 KiB
|lossless         3  02:00:00:00:01:08      2   3.0 KiB
|lossless         3  02:00:00:00:01:09      0   3.0 KiB
|76 later destinations are not shown"
        )
    );
    assert_json(&["levels"], "/v1/levels", &body);
}

#[test]
fn missing_levels_are_reported() {
    let of = |links: Value| {
        let body = json!({"links": links, "destinations": [], "left_out": 0});
        shown(&["levels"], "/v1/levels", &body)
    };
    assert_eq!(of(json!([])), "no class of a fabric port has mode level\n");
    let idle = of(json!([level_link("s2", "lossless", 3)]));
    assert!(
        idle.ends_with("\n\nthe Level Table is empty: no frame of these classes is buffered\n"),
        "{idle}"
    );
}

#[test]
fn deadlocks_current_before_past() {
    let deadlock = |id: u64, lasted: Value| {
        json!({
            "id": id, "port": "s2", "priority": 3, "reason": "paused", "began_monotonic_nanos": 1,
            "idle_seconds": 0.02, "queued_bytes": 61_440, "spuid": "00a1", "loops_found": 1,
            "releases": 2, "first_release_seconds": 0.009, "lasted_seconds": lasted
        })
    };
    let body = json!({"current": [deadlock(2, Value::Null)], "past": [deadlock(1, json!(0.031))]});
    assert_eq!(
        shown(&["deadlock"], "/v1/deadlocks", &body),
        support::lines(
            "
|id  port  priority  state           reason    queued  SPUID  loops found  releases  to first release
| 2  s2           3  SUSPECTED NOW   paused  60.0 KiB  00a1             1         2            9.0 ms
| 1  s2           3  lasted 31.0 ms  paused  60.0 KiB  00a1             1         2            9.0 ms"
        )
    );
    assert_json(&["deadlock"], "/v1/deadlocks", &body);
    assert_eq!(
        shown(
            &["deadlock"],
            "/v1/deadlocks",
            &json!({"current": [], "past": []})
        ),
        "no deadlock has been suspected\n"
    );
}

#[test]
fn nothing_is_coloured_in_a_pipe() {
    for arguments in [&["status"][..], &["--help"], &["nonsense"]] {
        let daemon = FakeDaemon::good("/v1/status", &status().to_string());
        let Run { stdout, stderr, .. } = daemon.run(arguments);
        assert!(!stdout.contains('\u{1b}') && !stderr.contains('\u{1b}'));
    }
}

fn neighbor(port: &str, name: Value, pfc: Value, credits: Value, mismatches: Value) -> Value {
    json!({
        "port": port, "chassis_id": "02:00:00:00:00:07", "chassis_id_subtype": 4, "port_id": "up",
        "port_id_subtype": 5, "port_description": null, "system_name": name,
        "system_description": "Weir 0.1.0", "capabilities": ["bridge"], "known_seconds": 5.5,
        "ttl_seconds": 121, "ttl_left_seconds": 110.7, "kind": "enhanced", "pfc": pfc, "ets": null,
        "applications": [], "weir": null, "credits": credits, "mismatches": mismatches
    })
}

#[test]
fn neighbors_report_what_does_not_fit() {
    let body = json!([
        neighbor(
            "left",
            json!("s2"),
            json!({"willing": false, "priorities": [3, 4]}),
            json!({
                "version": 1, "gives": true, "longest_frame_bytes": 1518,
                "classes": [{
                    "priority": 4, "limit": 300, "size_bytes": 2048, "overhead_bytes": -4,
                    "fallback": "closed"
                }]
            }),
            json!([])
        ),
        neighbor(
            "right",
            json!(null),
            json!(null),
            json!(null),
            json!(["one thing", "and another"])
        )
    ]);
    assert_eq!(
        shown(&["neighbors"], "/v1/neighbors", &body),
        support::lines(
            "
|port   neighbour  its port  chassis            TTL left  kind      PFC  credits  mismatch
|left   s2         up        02:00:00:00:00:07     110 s  enhanced  3,4  4        –
|right  –          up        02:00:00:00:00:07     110 s  enhanced  –    –        one thing; and another"
        )
    );
    assert_json(&["neighbors"], "/v1/neighbors", &body);
    let nobody = shown(&["neighbors"], "/v1/neighbors", &json!([]));
    assert_eq!(nobody, "no LLDP neighbours\n");
}

/// Returns one port whose accounts balance, except for the modifications by `change`.
fn books(change: impl FnOnce(&mut Value)) -> Value {
    let mut body = json!({
        "ports": [{
            "port": "s2", "received": 100, "admitted": 90, "admitted_by_core": 90, "read": 7,
            "refused": {"no_route": 3}, "delivered": 80, "given_up": {"aged": 2},
            "dropped_by_core": {"aged": 2, "no_route": 3}, "held": 8, "waiting": 5, "sent_data": 50,
            "sent_data_by_core": 50, "sent_control": 4, "completed": 51, "with_transmitter": 3,
            "not_sent": 0, "lent": 164, "lost_by_kernel": 1
        }],
        "memory": {"chunks": 100, "free": 27, "marked_free": 27, "held_by_core": 8, "control": 1, "receiving": 64}
    });
    change(&mut body);
    body
}

#[test]
fn an_audit_shows_where_every_frame_is() {
    let body = books(|_| ());
    assert_eq!(
        shown(&["audit"], "/v1/audit", &body),
        support::lines(
            "
|port  received  delivered  held  read  dropped on arrival  dropped later
|s2         100         80     8     7  3 no_route          2 aged
|
|port  waiting  data sent  control sent  completed  with transmitter  lent to the kernel  lost by the kernel
|s2          5         50             4         51                 3                  64                   1
|
|frames  100 received = 80 delivered + 8 held + 7 read + 5 dropped
|memory  100 chunks = 27 free + 64 lent to the kernel + 8 held + 0 more of long frames + 1 of control frames
|all is accounted for"
        )
    );
    assert_json(&["audit"], "/v1/audit", &body);
}

#[test]
fn what_does_not_add_up_is_named_and_has_a_status_of_its_own() {
    let body = books(|body| body["ports"][0]["held"] = json!(9)).to_string();
    for arguments in [&["audit"][..], &["--watch=0.1", "audit"]] {
        let run = FakeDaemon::good("/v1/audit", &body).run(arguments);
        assert_eq!(run.code, Some(4), "{}", run.stdout);
        let differences: Vec<&str> = run
            .stdout
            .lines()
            .filter(|line| line.starts_with("DIFFERENCE"))
            .collect();
        assert_eq!(
            differences,
            [
                "DIFFERENCE  port s2: admitted + copied = delivered + given up + held: 90 on the left, 91 on the right",
                "DIFFERENCE  the switch: held = held by the core: 9 on the left, 8 on the right"
            ]
        );
        assert!(!run.stdout.contains("all is accounted for"));
        assert!(
            run.stderr
                .starts_with("switchctl: 2 of the sums above differ"),
            "{}",
            run.stderr
        );
    }
    let run = FakeDaemon::good("/v1/audit", &body).run(&["--json", "audit"]);
    let printed: Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!(
        (run.code, printed["differences"][0]["right"].clone()),
        (Some(4), json!(91))
    );
}
