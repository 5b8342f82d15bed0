//! Completions, manual pages, `--watch` and `top` without a terminal, and a forwarded socket.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use crate::support::{run, switchctl, Answer, FakeDaemon, Run, LIMIT};
use serde_json::{json, Value};

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

/// Forwards a Unix socket like `ssh -L LOCAL:REMOTE`, without ssh.
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

fn port(name: &str) -> Value {
    json!({"name": name, "device": "eth1", "role": "fabric", "address": "02:00:00:00:00:01",
        "rate_bits_per_second": 1, "link_up": true, "xdp_mode": "native", "zero_copy": false,
        "rx_frames_total": 0, "rx_bytes_total": 0, "tx_frames_total": 0, "tx_bytes_total": 0, "drops_total": {},
        "kernel_losses": {"rx_dropped_total": 0, "rx_ring_full_total": 0, "rx_fill_ring_empty_total": 0,
            "rx_invalid_descs_total": 0, "tx_invalid_descs_total": 0},
        "xdp_frames_total": {}, "clcm_sent_total": 0, "clcm_received_total": 0})
}

fn daemon() -> FakeDaemon {
    let ports = json!([port("s2"), port("s4"), port("h1")]).to_string();
    let routes = json!({"routes": [{"destination": "02:00:00:00:00:07", "members": [], "buckets": 0, "pins": 0}],
        "routes_left_out": 0, "pins": [], "pins_left_out": 0});
    FakeDaemon::new(&[
        ("/v1/ports", vec![Answer::Http(200, ports)]),
        ("/v1/routes", vec![Answer::Http(200, routes.to_string())]),
    ])
}

/// Returns the completions of `shell` for the last of the words.
fn asked(shell: &str, words: &[&str]) -> Run {
    let index = (words.len()).to_string();
    let mut command = switchctl();
    command
        .env("SWITCHCTL_COMPLETE", shell)
        .env("_CLAP_COMPLETE_INDEX", index)
        .env("_CLAP_IFS", "\n")
        .args(["--", "switchctl"])
        .args(words);
    command.output().unwrap().into()
}

fn candidates(shell: &str, words: &[&str]) -> Vec<String> {
    let told = asked(shell, words);
    assert_eq!((told.code, told.stderr.as_str()), (Some(0), ""));
    // Some shells show the meaning behind the word.
    let word = |line: &str| {
        line.split(['\t', ':'])
            .next()
            .unwrap_or_default()
            .to_owned()
    };
    told.stdout.lines().map(word).collect()
}

#[test]
fn ports_of_the_switch_that_is_named_are_completed_for_every_shell() {
    let daemon = daemon();
    let socket = daemon.socket().display().to_string();
    for shell in ["bash", "zsh", "fish"] {
        let of = |words: &[&str]| candidates(shell, &[&["--socket", &socket], words].concat());
        assert_eq!(of(&["port", "remove", ""]), ["s2", "s4", "h1"], "{shell}");
        assert_eq!(of(&["port", "remove", "s"]), ["s2", "s4"], "{shell}");
        assert_eq!(
            of(&["capture", "s2", ""]),
            ["s2", "s4", "h1", "all"],
            "{shell}"
        );
        assert_eq!(of(&["flows", "--egress", "h"]), ["h1"], "{shell}");
        assert_eq!(
            of(&["route", "set", "02:00:00:00:00:07", "s2,h"]),
            ["s2,h1"],
            "{shell}"
        );
    }
    let of = |words: &[&str]| candidates("bash", &[&["--socket", &socket], words].concat());
    assert!(of(&["route", "list", ""])[0].starts_with("02"));
    // A candidate's help describes the port.
    let told = asked("fish", &["--socket", &socket, "port", "add", "h"]);
    assert_eq!(told.stdout, "h1\tfabric, up, device eth1\n");
}

#[test]
fn commands_and_options_are_completed() {
    let all = candidates("bash", &[""]);
    for command in ["status", "deadlock", "config", "top"] {
        assert!(all.iter().any(|word| word == command), "{command}: {all:?}");
    }
    for hidden in ["man", "neighbours", "--json"] {
        assert!(!all.iter().any(|word| word == hidden), "{hidden}: {all:?}");
    }
    assert_eq!(candidates("bash", &["config", "di"]), ["diff"]);
    assert_eq!(
        candidates("bash", &["config", "diff", "--ru"]),
        ["--running"]
    );
    let options = candidates("bash", &["status", "--"]);
    for option in ["--name", "--socket", "--json", "--watch", "--help"] {
        assert!(
            options.iter().any(|word| word == option),
            "{option}: {options:?}"
        );
    }
}

#[test]
fn files_are_completed() {
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("s1.toml"), "").unwrap();
    let begin = format!("{}/s", directory.path().display());
    let found = candidates("bash", &["config", "check", &begin]);
    assert_eq!(found, [format!("{begin}1.toml")]);
}

#[test]
fn without_an_answer_there_are_no_names_and_no_message() {
    let words = ["--socket", "/nowhere/api.sock", "port", "remove", ""];
    let none = |words: &[&str]| {
        let found = candidates("bash", words);
        assert!(found.iter().all(|word| word.starts_with('-')), "{found:?}");
    };
    none(&words);
    let daemon = FakeDaemon::new(&[("/v1/ports", vec![Answer::HangUp])]);
    let socket = daemon.socket().display().to_string();
    none(&["--socket", &socket, "port", "remove", ""]);
    // A server that accepts the connection and sends nothing leads to a timeout.
    let directory = tempfile::tempdir().unwrap();
    let silent = directory.path().join("api.sock");
    let _listening = std::os::unix::net::UnixListener::bind(&silent).unwrap();
    none(&["--socket", silent.to_str().unwrap(), "port", "remove", ""]);
}

#[test]
fn the_scripts_are_legal_and_bash_completes_by_its_own() {
    for (shell, word) in [
        ("bash", "complete -o nospace"),
        ("zsh", "#compdef switchctl"),
        ("fish", "complete --keep-order"),
        ("elvish", "edit:completion"),
        ("powershell", "Register-ArgumentCompleter"),
    ] {
        let made = run(&["completions", shell]);
        assert_eq!(made.code, Some(0), "{}", made.stderr);
        assert!(made.stdout.contains(word), "{}", made.stdout);
    }
    let daemon = daemon();
    let line = format!(
        "switchctl --socket {} port remove s",
        daemon.socket().display()
    );
    let script = r#"
        source <(switchctl completions bash)
        read -ra COMP_WORDS <<< "$LINE"
        COMP_CWORD=$((${#COMP_WORDS[@]} - 1)) COMP_TYPE=9
        _clap_complete_switchctl switchctl "${COMP_WORDS[COMP_CWORD]}" remove
        printf '%s\n' "${COMPREPLY[@]}"
    "#;
    let program = Path::new(env!("CARGO_BIN_EXE_switchctl"));
    let directory = program.parent().unwrap().display();
    let path = format!("{directory}:{}", std::env::var("PATH").unwrap());
    let told = Command::new("bash")
        .args(["-c", script])
        .env("PATH", path)
        .env("LINE", line)
        .output()
        .unwrap();
    let errors = String::from_utf8_lossy(&told.stderr);
    assert_eq!(
        String::from_utf8_lossy(&told.stdout),
        "s2\ns4\n",
        "{errors}"
    );
}
