//! `switchctl reload`: its requests, output and exit status.

use crate::support::{lines, Answer, FakeDaemon};
use serde_json::{json, Value};

fn report(kept: Value) -> Value {
    json!({
        "file": "/etc/weir/s1.toml",
        "dry_run": false,
        "applied": [{"key": "class.lossless.xoff", "from": "\"60KiB\"", "to": "\"48KiB\""}],
        "kept": kept,
    })
}

#[test]
fn what_changed_is_a_table() {
    let daemon = FakeDaemon::good("/v1/reload", &report(json!([])).to_string());
    let run = daemon.run(&["reload"]);
    assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""));
    let expected = lines(
        "|applied:
         |setting              before   from now on
         |class.lossless.xoff  \"60KiB\"  \"48KiB\"",
    );
    assert_eq!(run.stdout, expected);
}

#[test]
fn what_stays_is_reported_with_its_reason_and_status_1() {
    let kept = json!([{"key": "port.p2.rate", "running": "\"100Mbit\"", "file": null,
                       "why": "needs a restart"}]);
    let body = report(kept.clone()).to_string();
    let daemon = FakeDaemon::good("/v1/reload?dry_run=true", &body);
    let run = daemon.run(&["reload", "--dry-run"]);
    assert_eq!(run.code, Some(1));
    let expected = lines(
        "|not applied:
         |setting       running    file  why
         |port.p2.rate  \"100Mbit\"  –     needs a restart",
    );
    assert!(run.stdout.ends_with(&expected), "{}", run.stdout);
    let daemon = FakeDaemon::good("/v1/reload", &body);
    let run = daemon.run(&["--json", "reload"]);
    let printed: Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!((run.code, &printed["kept"]), (Some(1), &kept));
}

#[test]
fn the_error_of_an_invalid_file_is_printed() {
    let error = json!({"error": "/etc/weir/s1.toml:7: class.lossless.xofff: unknown key"});
    let daemon = FakeDaemon::new(&[("/v1/reload", vec![Answer::Http(400, error.to_string())])]);
    let run = daemon.run(&["reload"]);
    assert_eq!(run.code, Some(1));
    assert!(
        run.stderr.contains("s1.toml:7: class.lossless.xofff"),
        "{}",
        run.stderr
    );
}

#[test]
fn a_pending_change_reports_its_deadline_and_how_to_keep_it() {
    let mut body = report(json!([]));
    body["confirm_seconds"] = json!(60.0);
    let daemon = FakeDaemon::good("/v1/reload?confirm_seconds=60", &body.to_string());
    let run = daemon.run(&["reload", "--confirm", "60s"]);
    assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""));
    let last = "\ngoes back in 60 s unless `switchctl confirm` keeps it\n";
    assert!(run.stdout.ends_with(last), "{}", run.stdout);
    for words in [
        &["reload", "--confirm=0"][..],
        &["reload", "--confirm=soon"],
        &["reload", "--confirm=60", "--dry-run"],
    ] {
        assert_eq!(daemon.run(words).code, Some(2), "{words:?}");
    }
}

#[test]
fn a_confirmation_prints_what_is_kept_or_that_nothing_waits() {
    let body = json!({"file": "/etc/weir/s1.toml", "seconds_left": 57.6});
    let daemon = FakeDaemon::good("/v1/reload/confirm", &body.to_string());
    let run = daemon.run(&["confirm"]);
    assert_eq!(run.code, Some(0));
    assert_eq!(
        run.stdout,
        "the settings of /etc/weir/s1.toml stay; 58 s were left\n"
    );
    let error = json!({"error": "nothing waits to be confirmed"});
    let refusal = vec![Answer::Http(409, error.to_string())];
    let daemon = FakeDaemon::new(&[("/v1/reload/confirm", refusal)]);
    let run = daemon.run(&["confirm"]);
    assert_eq!(run.code, Some(1));
    assert!(run.stderr.contains("nothing waits"), "{}", run.stderr);
}
