//! `switchctl restart`: its waits, output and exit status.

use crate::support::{lines, Answer, FakeDaemon};
use serde_json::{json, Value};

fn status(pid: u32, frames: Option<[u64; 2]>) -> Answer {
    let restart = frames.map(|[lost, missed]| {
        json!({"held_seconds": 0.231, "lost_frames": lost, "missed_frames": missed})
    });
    let status = json!({
        "name": "s1", "version": "0.2.0", "pid": pid, "state": "running", "uptime_seconds": 1.0,
        "deadlock_policy": "off", "port_count": 2, "suspected_count": 0, "held_frames": 0,
        "admitted_frames_total": 0, "transmitted_frames_total": 0, "drops_total": {}, "kernel_losses_total": 0,
        "umem_frames": 1, "umem_frames_free": 1, "restart": restart,
        "dataplane": {"rounds_total": 1, "busy_rounds_total": 0, "sleeps_total": 0,
                      "round_seconds_max": 0.0, "events_lost_total": 0},
        "clcm": {"sent_total": 0, "received_total": 0, "loops_found_total": 0, "releases_total": 0}
    });
    Answer::Http(200, status.to_string())
}

fn daemon(lost_frames: u64, missed_frames: u64) -> FakeDaemon {
    let begun = Answer::Http(200, json!({"pid": 7}).to_string());
    let answers = vec![
        // The ending daemon, then the next one before and after it forwards.
        status(7, None),
        status(8, None),
        status(8, Some([lost_frames, missed_frames])),
    ];
    FakeDaemon::new(&[("/v1/restart", vec![begun]), ("/v1/status", answers)])
}

#[test]
fn it_waits_for_the_new_daemon_and_prints_the_time_taken() {
    let run = daemon(0, 0).run(&["restart"]);
    assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""));
    let expected = lines(
        "|restarted: pid 7 -> 8, version 0.2.0
         |neighbours were paused for 231 ms; no frames lost",
    );
    assert_eq!(run.stdout, expected);
}

#[test]
fn lost_frames_are_reported_with_status_1() {
    let run = daemon(3, 0).run(&["--json", "restart"]);
    let printed: Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!((run.code, &printed["lost_frames"]), (Some(1), &json!(3)));
    assert_eq!(
        (&printed["pid_before"], &printed["pid"]),
        (&json!(7), &json!(8))
    );
}

/// Such frames belong to lossy classes, or to a neighbour that does not obey pauses: they are reported, but the restart has
/// not failed.
#[test]
fn frames_that_came_while_no_switch_was_there_are_told() {
    let run = daemon(0, 2).run(&["restart"]);
    assert_eq!(run.code, Some(0));
    assert!(
        run.stdout
            .ends_with("lost: 2 frames that arrived while no switch was running\n"),
        "{}",
        run.stdout
    );
    assert!(!run.stdout.contains("no frames lost"));
    let run = daemon(1, 1).run(&["restart"]);
    assert_eq!(run.code, Some(1));
    let both = "lost: 1 frame that a device had not yet sent, and 1 frame that arrived while no switch was running\n";
    assert!(run.stdout.ends_with(both), "{}", run.stdout);
}

#[test]
fn a_refusal_is_printed_unchanged() {
    let error = json!({"error": "runs without a keeper"}).to_string();
    let daemon = FakeDaemon::new(&[
        ("/v1/restart", vec![Answer::Http(409, error)]),
        ("/v1/status", vec![status(7, None)]),
    ]);
    let run = daemon.run(&["restart"]);
    assert_eq!(run.code, Some(1));
    assert!(run.stderr.contains("without a keeper"), "{}", run.stderr);
}
