//! Selection of a daemon, behaviour without an answer, and following events.

use std::io::{BufRead, BufReader, Read};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixListener;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, Stdio};
use std::time::Instant;

use crate::support::{run, switchctl, text_of, Answer, FakeDaemon, Run, LIMIT};
use nix::sys::signal::{kill, Signal};
use nix::unistd::Pid;
use serde_json::{json, Value};

fn event(sequence: u64, kind: &str) -> Value {
    json!({"sequence": sequence, "monotonic_nanos": sequence, "time": "2026-01-02T03:04:05Z",
           "kind": kind, "port": "s2", "priority": 3, "details": {"queued": "61440 B"}})
}

fn page(events: &[Value], next: u64, missed: u64) -> Answer {
    let body = json!({"events": events, "next": next, "missed": missed});
    Answer::Http(200, body.to_string())
}

#[test]
fn a_missing_socket_is_named_with_a_remedy() {
    let directory = tempfile::tempdir().unwrap();
    let socket = text_of(&directory.path().join("api.sock"));
    let Run {
        code,
        stdout,
        stderr,
    } = run(&["--socket", &socket, "status"]);
    assert_eq!((code, stdout.as_str()), (Some(3), ""));
    assert_eq!(
        stderr,
        format!(
            "switchctl: no daemon answers at {socket}: No such file or directory (os error 2); \
             is weir-switchd running?\n"
        )
    );
}

#[test]
fn a_stale_socket_is_called_stale() {
    let directory = tempfile::tempdir().unwrap();
    let socket = directory.path().join("api.sock");
    drop(UnixListener::bind(&socket).unwrap());
    let Run { code, stderr, .. } = run(&["--socket", &text_of(&socket), "ports"]);
    assert_eq!(code, Some(3));
    assert!(
        stderr.contains(&text_of(&socket)) && stderr.contains("stale"),
        "{stderr}"
    );
}

#[test]
fn a_directory_is_no_socket() {
    let daemon = FakeDaemon::good("/v1/pfc", "[]");
    let directory = daemon.socket().parent().map(text_of).unwrap();
    let Run { code, stderr, .. } = run(&["--socket", &directory, "pfc"]);
    assert_eq!(code, Some(3));
    assert_eq!(
        stderr,
        format!("switchctl: {directory} is a directory, not a socket; did you mean --socket {directory}/api.sock?\n")
    );
}

#[test]
#[ignore = "needs root"]
fn users_without_access_are_shown_the_group() {
    let daemon = FakeDaemon::good("/v1/pfc", "[]");
    let socket = daemon.socket();
    let directory = socket.parent().unwrap();
    std::fs::set_permissions(directory, PermissionsExt::from_mode(0o755)).unwrap();
    std::fs::set_permissions(&socket, PermissionsExt::from_mode(0o660)).unwrap();
    let of_nobody = || -> Run {
        let mut command = daemon.command(&["pfc"]);
        let nobody = 65534;
        command.uid(nobody).gid(nobody).output().unwrap().into()
    };
    let socket = text_of(&socket);
    let denied = format!("switchctl: permission denied: {socket}; use sudo");
    let told = of_nobody();
    let remedy = "or give a group access by `api.group`";
    assert_eq!(told.code, Some(3));
    assert_eq!(told.stderr, format!("{denied}, {remedy}\n"));
    // The group `daemon`, the first one on every Debian.
    std::os::unix::fs::chown(&socket, None, Some(1)).unwrap();
    let group = "or join the group `daemon`";
    assert_eq!(of_nobody().stderr, format!("{denied}, {group}\n"));
}

#[test]
fn the_environment_names_a_socket_and_the_command_line_overrules_it() {
    let daemon = FakeDaemon::good("/v1/pfc", "[]");
    let of = |arguments: &[&str]| -> Run {
        switchctl()
            .env("WEIR_SOCKET", daemon.socket())
            .args(arguments)
            .output()
            .unwrap()
            .into()
    };
    assert_eq!(of(&["pfc"]).stdout, "no class is lossless\n");
    let named = of(&["--name", "no-such-switch", "pfc"]);
    assert_eq!(named.code, Some(3));
    assert!(
        named.stderr.contains("/run/weir/no-such-switch/api.sock"),
        "{}",
        named.stderr
    );
}

#[test]
fn a_wrong_command_line_exits_with_2() {
    for arguments in [
        &["nonsense"][..],
        &["--socket", "/x", "--name", "s1", "status"],
        &["--socket", "/x", "status", "--name", "s1"],
        &["--name", "../etc", "status"],
        &["xdp", "detach", "--all", "s2"],
        &["xdp", "status", "--run-dir", "/x", "--bpf-dir", "/y"],
        &["--name", "s1", "xdp", "status", "--run-dir", "/x"],
        &["--name", "s1", "xdp", "detach", "--all", "--bpf-dir", "/x"],
        &["events", "--after", "yesterday"],
        &[
            "--socket",
            "/x/api.sock",
            "xdp",
            "status",
            "--run-dir",
            "/x",
        ],
        &["config", "check"],
        &["config", "diff"],
        &["config", "diff", "a"],
        &["config", "diff", "a", "b", "c"],
        &["config", "diff", "-", "-"],
        &["config", "diff", "--running", "a", "b"],
    ] {
        let Run { code, stdout, .. } = run(arguments);
        assert_eq!((code, stdout.as_str()), (Some(2), ""), "{arguments:?}");
    }
}

#[test]
fn a_refusal_is_passed_on() {
    let daemon = FakeDaemon::new(&[(
        "/v1/status",
        vec![Answer::Http(
            503,
            "{\"error\": \"the dataplane does not answer\"}".into(),
        )],
    )]);
    let run = daemon.run(&["status"]);
    assert_eq!(run.code, Some(1));
    assert_eq!(run.stderr, "switchctl: the dataplane does not answer\n");
}

#[test]
fn an_older_daemon_says_what_it_does_not_have() {
    let daemon = FakeDaemon::new(&[]);
    let run = daemon.run(&["levels"]);
    assert_eq!((run.code, run.stdout.as_str()), (Some(1), ""));
    assert_eq!(
        run.stderr,
        "switchctl: the running weir-switchd does not support `levels`: it is older than this switchctl; restart it\n"
    );
}

#[test]
fn an_answer_of_another_version_is_no_lack_of_a_daemon() {
    let daemon = FakeDaemon::good("/v1/status", "{\"name\": 7}");
    let run = daemon.run(&["status"]);
    assert_eq!(run.code, Some(1));
    assert!(
        run.stderr.contains("have the same version?"),
        "{}",
        run.stderr
    );
}

#[test]
fn events_are_printed_once() {
    let daemon = FakeDaemon::new(&[
        (
            "/v1/events?after=0",
            vec![page(&[event(5, "suspected")], 5, 4)],
        ),
        ("/v1/events?after=5", vec![page(&[], 5, 0)]),
    ]);
    let run = daemon.run(&["events"]);
    assert_eq!(run.code, Some(0));
    assert_eq!(
        run.stdout,
        "     5  2026-01-02T03:04:05Z  suspected          port s2 priority 3  queued=61440 B\n"
    );
    assert_eq!(
        run.stderr,
        "switchctl: 4 older events are no longer available\n"
    );
    assert_eq!(daemon.run(&["events", "--after", "5"]).stdout, "");

    let json = daemon.run(&["--json", "events"]);
    assert_eq!(
        serde_json::from_str::<Value>(&json.stdout).unwrap(),
        json!({"events": [event(5, "suspected")], "next": 5, "missed": 4})
    );
}

/// A running program, killed when the test fails.
struct Following(Child);

impl Following {
    fn wait(&mut self) -> std::process::ExitStatus {
        let begin = Instant::now();
        loop {
            if let Some(status) = self.0.try_wait().unwrap() {
                return status;
            }
            assert!(begin.elapsed() < LIMIT, "switchctl does not end");
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
    }

    fn stderr(&mut self) -> String {
        let mut text = String::new();
        let mut stderr = self.0.stderr.take().unwrap();
        stderr.read_to_string(&mut text).unwrap();
        text
    }
}

impl Drop for Following {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn follow(daemon: &FakeDaemon, arguments: &[&str]) -> Following {
    let command = daemon.command(arguments);
    Following(
        // A shell's background jobs and their children ignore Ctrl-C.
        Command::new("env")
            .arg("--default-signal=INT")
            .arg(command.get_program())
            .args(command.get_args())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap(),
    )
}

fn busy_daemon() -> FakeDaemon {
    FakeDaemon::new(&[
        (
            "/v1/events?after=0",
            vec![page(&[event(1, "started")], 1, 0)],
        ),
        (
            "/v1/events?after=1&wait_seconds=30",
            vec![page(&[], 1, 0), page(&[event(2, "suspected")], 2, 0)],
        ),
        (
            "/v1/events?after=2&wait_seconds=30",
            vec![page(&[event(2, "again")], 2, 0)],
        ),
    ])
}

#[test]
fn following_goes_on_after_an_empty_page_until_interrupted() {
    let daemon = busy_daemon();
    let mut following = follow(&daemon, &["--json", "events", "--follow"]);
    let mut reader = BufReader::new(following.0.stdout.take().unwrap());
    for kind in ["started", "suspected", "again"] {
        let mut line = String::new();
        reader.read_line(&mut line).unwrap();
        let event: Value = serde_json::from_str(&line).expect("one object a line");
        assert_eq!(event["kind"], kind);
    }
    kill(Pid::from_raw(following.0.id() as i32), Signal::SIGINT).unwrap();
    let status = following.wait();
    assert_eq!(status.signal(), Some(Signal::SIGINT as i32), "{status}");
    assert_eq!(following.stderr(), "", "Ctrl-C is no failure to speak of");
    assert_eq!(
        daemon.asked()[..3],
        [
            "/v1/events?after=0",
            "/v1/events?after=1&wait_seconds=30",
            "/v1/events?after=1&wait_seconds=30"
        ]
    );
}

#[test]
fn a_reader_that_goes_is_no_failure() {
    let daemon = busy_daemon();
    let mut following = follow(&daemon, &["events", "--follow"]);
    let mut line = String::new();
    BufReader::new(following.0.stdout.take().unwrap())
        .read_line(&mut line)
        .unwrap();
    // The pipe is closed now.
    assert_eq!(following.wait().code(), Some(0));
    assert_eq!(following.stderr(), "");
}

#[test]
fn following_reports_the_end_of_the_daemon() {
    let daemon = FakeDaemon::new(&[
        (
            "/v1/events?after=0",
            vec![page(&[event(1, "draining")], 1, 0)],
        ),
        ("/v1/events?after=1&wait_seconds=30", vec![Answer::End]),
    ]);
    let run = daemon.run(&["events", "--follow"]);
    assert_eq!(run.code, Some(3));
    assert!(run.stdout.contains("draining"), "{}", run.stdout);
    assert_eq!(
        run.stderr,
        format!(
            "switchctl: the daemon at {} stopped; start weir-switchd again\n",
            text_of(&daemon.socket())
        )
    );
}

#[test]
fn a_cut_answer_of_a_daemon_that_lives_is_a_bad_answer() {
    let daemon = FakeDaemon::new(&[("/v1/status", vec![Answer::HangUp])]);
    let run = daemon.run(&["status"]);
    assert_eq!(run.code, Some(1), "somebody listens still: {}", run.stderr);
}

/// Runs the program as a user who may use `api-read.sock` but not `api.sock`. Needs root.
fn as_reader(arguments: &[&str], socket: &std::path::Path) -> Run {
    let directory = socket.parent().unwrap();
    // Other users may not access the build directory.
    let program = directory.join("switchctl");
    std::fs::copy(env!("CARGO_BIN_EXE_switchctl"), &program).unwrap();
    for (path, mode) in [(directory, 0o755), (&program, 0o755), (socket, 0o600)] {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    }
    let mut command = std::process::Command::new("setpriv");
    command
        .args(["--reuid", "65534", "--regid", "65534", "--clear-groups"])
        .arg(program)
        .arg("--socket")
        .arg(socket)
        .args(arguments);
    command.output().unwrap().into()
}

#[test]
#[ignore = "needs root"]
fn unprivileged_users_use_the_read_only_socket() {
    let refusal = json!({"error": "this socket is read-only"}).to_string();
    let reading = FakeDaemon::new(&[
        (
            "/v1/flows",
            vec![Answer::Http(
                200,
                r#"{"flows": [], "left_out": 0, "evictions_total": 0}"#.into(),
            )],
        ),
        (
            "/v1/reload?dry_run=false",
            vec![Answer::Http(403, refusal.clone())],
        ),
        ("/v1/reload", vec![Answer::Http(403, refusal)]),
    ]);
    let directory = tempfile::tempdir().unwrap();
    let full = directory.path().join("api.sock");
    let _full = UnixListener::bind(&full).unwrap();
    let told = as_reader(&["--json", "flows"], &full);
    assert_eq!(told.code, Some(3), "{told:?}");
    assert!(
        told.stderr
            .contains("use sudo, or give a group access by `api.group`"),
        "{told:?}"
    );

    // The fake daemon listens at another path.
    let socket = directory.path().join("api-read.sock");
    std::os::unix::fs::symlink(reading.socket(), &socket).unwrap();
    let there = reading.socket();
    for (path, mode) in [(there.parent().unwrap(), 0o755), (&*there, 0o666)] {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    }
    let told = as_reader(&["--json", "flows"], &full);
    assert_eq!(reading.asked(), ["/v1/flows"], "{told:?}");
    let told = as_reader(&["reload"], &full);
    assert_ne!(told.code, Some(0), "{told:?}");
    assert!(told.stderr.contains("this socket is read-only"), "{told:?}");
    assert!(!told.stderr.contains("HTTP"), "{told:?}");
}
