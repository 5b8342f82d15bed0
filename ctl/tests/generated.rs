//! Completions, manual pages, `--watch` and `top` without a terminal; and a socket that is forwarded.

mod support;

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use support::{run, switchctl, Answer, FakeDaemon, LIMIT};

#[test]
fn completions_are_legal_for_their_shell() {
    for (shell, check) in [("bash", Some("bash")), ("zsh", None), ("fish", None)] {
        let made = run(&["completions", shell]);
        assert_eq!(made.code, Some(0), "{}", made.stderr);
        for word in ["deadlock", "pfcwd", "--watch", "top"] {
            let word = word.trim_start_matches('-');
            assert!(made.stdout.contains(word), "{shell}: {word}");
        }
        assert!(
            !made.stdout.contains("switchctl__man"),
            "hidden commands stay hidden"
        );
        let Some(program) = check else { continue };
        let mut child = Command::new(program)
            .arg("-n")
            .stdin(Stdio::piped())
            .spawn()
            .unwrap_or_else(|error| panic!("{program}: {error}"));
        let mut input = child.stdin.take().unwrap();
        input.write_all(made.stdout.as_bytes()).unwrap();
        drop(input);
        assert!(child.wait().unwrap().success(), "{program} -n");
    }
}

#[test]
fn manual_pages_are_whole_and_legal() {
    let directory = tempfile::tempdir().unwrap();
    let made = run(&["man", directory.path().to_str().unwrap()]);
    assert_eq!(made.code, Some(0), "{}", made.stderr);
    let mut pages: Vec<_> = std::fs::read_dir(&directory)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    pages.sort();
    let has = |name: &str| pages.iter().any(|page| page.ends_with(name));
    for name in [
        "switchctl.1",
        "switchctl-pfc.1",
        "switchctl-deadlock-show.1",
    ] {
        assert!(has(name), "{name}: {pages:?}");
    }
    for page in &pages {
        lint(page);
    }
    let main = std::fs::read_to_string(directory.path().join("switchctl.1")).unwrap();
    assert!(main.contains("no daemon answers"), "exit statuses are told");
}

#[test]
fn the_openapi_document_needs_no_daemon() {
    let made = run(&["openapi"]);
    assert_eq!(made.code, Some(0), "{}", made.stderr);
    assert_eq!(made.stdout, weir_api::routes::openapi::json());
}

fn lint(page: &Path) {
    let lint = Command::new("mandoc")
        .args(["-T", "lint", "-W", "error"])
        .arg(page)
        .output()
        .unwrap_or_else(|error| panic!("mandoc: {error}; `cargo xtask setup` installs it"));
    let told = String::from_utf8_lossy(&lint.stdout);
    assert!(lint.status.success(), "{}: {told}", page.display());
}

#[test]
fn what_is_watched_is_shown_again() {
    let port = |bytes: u64| {
        Answer::Http(200, format!("[{{\"port\":\"s2\",\"priority\":3,\"class\":\"lossless\",\"mode\":\"pfc\",\
            \"ingress_bytes\":{bytes},\"ingress_bytes_max\":900,\"egress_bytes\":0,\"egress_bytes_max\":0,\"egress_frames\":0,\
            \"rx_frames_total\":0,\"tx_frames_total\":0,\"rx_bytes_total\":0,\"tx_bytes_total\":0}}]"))
    };
    let daemon = FakeDaemon::new(&[("/v1/queues", vec![port(100), port(200), port(300)])]);
    let mut child = daemon
        .command(&["--watch=0.1", "queues"])
        .env("CLICOLOR_FORCE", "1")
        .env_remove("NO_COLOR")
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let began = Instant::now();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut seen = Vec::new();
    for line in lines.map_while(Result::ok) {
        seen.push(line);
        if seen.iter().any(|line| line.contains("300")) {
            break;
        }
        assert!(began.elapsed() < LIMIT, "{seen:?}");
    }
    child.kill().unwrap();
    child.wait().unwrap();
    let marked = |bytes: u64| {
        seen.iter()
            .any(|line| line.contains(&format!("\x1b[1;33m{bytes}\x1b[0m")))
    };
    assert!(!marked(100) && marked(200) && marked(300), "{seen:?}");
}

#[test]
fn what_changes_a_switch_is_not_watched() {
    for arguments in [
        &["--watch", "route", "remove", "02:00:00:00:00:01"][..],
        &["--watch", "pfcwd", "stop"],
        &["--watch", "top"],
        &["--watch=0", "ports"],
    ] {
        assert_eq!(run(arguments).code, Some(2), "{arguments:?}");
    }
}

#[test]
fn top_needs_a_terminal() {
    let overview = include_str!("support/overview.json");
    let daemon = FakeDaemon::good("/v1/overview", overview);
    let refused = daemon.run(&["top"]);
    assert_eq!(refused.code, Some(1));
    assert!(refused.stderr.contains("--once"), "{}", refused.stderr);
    let once = daemon.run(&["top", "--once", "--interval", "0.1"]);
    assert_eq!(once.code, Some(0), "{}", once.stderr);
    assert!(
        once.stdout.contains("SUSPECTED") && once.stdout.contains(" 5 Events"),
        "{}",
        once.stdout
    );
    assert!(!once.stdout.contains('\x1b'));
    let json = daemon.run(&["--json", "top"]);
    let value: serde_json::Value = serde_json::from_str(&json.stdout).unwrap();
    assert_eq!(value["status"]["name"], "s1");
    assert_eq!(
        run(&["--socket", "/nowhere/api.sock", "top", "--once"]).code,
        Some(3)
    );
}

/// What `ssh -L LOCAL:REMOTE` does for a Unix socket, without ssh.
#[test]
fn a_forwarded_socket_is_as_good_as_the_daemons() {
    let daemon = FakeDaemon::good("/v1/pfc", "[]");
    let directory = tempfile::tempdir().unwrap();
    let local = directory.path().join("s1.sock");
    let mut forward = Command::new("socat")
        .arg(format!("UNIX-LISTEN:{},fork", local.display()))
        .arg(format!("UNIX-CONNECT:{}", daemon.socket().display()))
        .spawn()
        .unwrap_or_else(|error| panic!("socat: {error}; `cargo xtask setup` installs it"));
    let began = Instant::now();
    while !local.exists() {
        assert!(began.elapsed() < LIMIT, "socat listens");
        std::thread::yield_now();
    }
    let told = switchctl()
        .arg("--socket")
        .arg(&local)
        .arg("pfc")
        .output()
        .unwrap();
    forward.kill().unwrap();
    forward.wait().unwrap();
    assert_eq!(
        String::from_utf8_lossy(&told.stdout),
        "no class is lossless\n"
    );
}
