//! `switchctl config check` and `config diff`.

use std::io::Write;
use std::process::Stdio;

use crate::support::{file, lines, run, switchctl, text_of, FakeDaemon, Run};
use serde_json::{json, Value};

const GOOD: &str = r#"
name = "s1"

[metrics]
listen = "off"

[[class]]
name = "lossless"
priorities = [3]
mode = "pfc"
xoff = "60KiB"
xon = "52KiB"
headroom = "3720KiB"

[[port]]
name = "left"
device = "eth1"
role = "fabric"
rate = "100Mbit"

[[port]]
name = "right"
device = "eth2"
role = "edge"
rate = "10Gbit"
"#;

#[test]
fn a_good_file_is_summed_up() {
    let (_guard, path) = file("s1.toml", GOOD);
    let run = run(&["config", "check", &text_of(&path)]);
    assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""));
    // The number of frames depends on the configuration.
    let (memory, rest): (Vec<&str>, Vec<&str>) = run.stdout.lines().partition(|line| {
        ["packet memory", "kernel tables"]
            .iter()
            .any(|begin| line.starts_with(begin))
    });
    assert!(
        memory.len() == 2
            && memory[0].contains(" MiB (")
            && memory[0].ends_with(" frames of 2KiB)")
            && memory[1].ends_with(" MiB"),
        "{memory:?}"
    );
    let expected = format!("|{}: valid\n", text_of(&path))
        + "
        |
        |switch         s1
        |run directory  /run/weir/s1
        |API            /run/weir/s1/api.sock
        |metrics        off
        |page           http://127.0.0.1:9465/
        |
        |port   device        role         rate
        |left   eth1 queue 0  fabric  100Mbit/s
        |right  eth2 queue 0  edge     10Gbit/s
        |
        |class     priorities  mode  buffers of each port
        |lossless  3           pfc   xoff 60.0 KiB, xon 52.0 KiB, headroom 3.6 MiB";
    assert_eq!(rest.join("\n") + "\n", lines(&expected));
}

#[test]
fn a_host_without_the_storm_watchdog_is_named() {
    for (text, ports) in [
        (GOOD.to_owned(), json!(null)),
        (
            format!("{GOOD}\n[pfcwd]\nenabled = false\n"),
            json!(["right"]),
        ),
        (
            format!("{GOOD}pfcwd = {{ enabled = false }}\n"),
            json!(["right"]),
        ),
    ] {
        let (_guard, path) = file("s1.toml", &text);
        let run = run(&["--json", "config", "check", &text_of(&path)]);
        let verdict: Value = serde_json::from_str(&run.stdout).unwrap();
        assert_eq!((run.code, &verdict["unwatched_ports"]), (Some(0), &ports));
        let shown = crate::support::run(&["config", "check", &text_of(&path)]).stdout;
        let note = "note: port right: the storm watchdog is off";
        assert_eq!(shown.contains(note), !ports.is_null(), "{shown}");
    }
}

/// Only where priorities have shares of their own.
#[test]
fn a_host_that_may_have_several_shares_is_named() {
    let with = |line: &str| {
        GOOD.replacen(
            "priorities = [3]\n",
            &format!("priorities = [3]\n{line}\n"),
            1,
        )
    };
    let limited = format!("{}priorities = [0, 3]\n", with("weight = 2"));
    for (text, ports) in [
        (GOOD.to_owned(), json!(null)),
        (with("weight = 2"), json!(["right"])),
        (with("scheduler = \"strict\""), json!(["right"])),
        (with("scheduler = \"ports\""), json!(null)),
        (limited, json!(null)),
    ] {
        let (_guard, path) = file("s1.toml", &text);
        let run = run(&["--json", "config", "check", &text_of(&path)]);
        let verdict: Value = serde_json::from_str(&run.stdout).unwrap();
        assert_eq!(
            (run.code, &verdict["unrestricted_ports"]),
            (Some(0), &ports),
            "{text}"
        );
        let shown = crate::support::run(&["config", "check", &text_of(&path)]).stdout;
        let note = "note: hosts choose any priority at right: classes that are strict";
        assert_eq!(shown.contains(note), !ports.is_null(), "{shown}");
    }
}

#[test]
fn everything_wrong_is_named_with_its_line() {
    let bad = GOOD
        .replace("xoff = \"60KiB\"", "xof = \"60KiB\"")
        .replace("10Gbit", "10");
    let (_guard, path) = file("s1.toml", &bad);
    let path = text_of(&path);
    let run = run(&["config", "check", &path]);
    assert_eq!((run.code, run.stdout.as_str()), (Some(1), ""));
    for place in [":11: class.lossless.xof: ", ":25: port.right.rate: "] {
        let wanted = format!("{path}{place}");
        assert!(
            run.stderr.lines().any(|line| line.starts_with(&wanted)),
            "{wanted} in {}",
            run.stderr
        );
    }
}

#[test]
fn json_has_the_same_content() {
    let (_guard, path) = file("s1.toml", GOOD);
    let run_good = run(&["--json", "config", "check", &text_of(&path)]);
    let good: Value = serde_json::from_str(&run_good.stdout).unwrap();
    assert_eq!((run_good.code, &good["good"]), (Some(0), &true.into()));
    let frames = good["umem_frames"].as_u64().unwrap();
    assert_eq!(good["umem_bytes"], frames * 2048);

    let (_guard, path) = file("s1.toml", "nonsense = 1\n");
    let run_bad = run(&["--json", "config", "check", &text_of(&path)]);
    let bad: Value = serde_json::from_str(&run_bad.stdout).unwrap();
    assert_eq!((run_bad.code, &bad["good"]), (Some(1), &false.into()));
    assert_eq!(bad["problems"][0]["line"], 1);
    assert_eq!(bad["problems"][0]["key"], "nonsense");
}

#[test]
fn a_missing_file_is_named() {
    let run = run(&["config", "check", "/no/such/file.toml"]);
    assert_eq!(run.code, Some(1));
    assert!(
        run.stderr.starts_with("/no/such/file.toml: "),
        "{}",
        run.stderr
    );
}

/// Runs the program with `text` on standard input.
fn run_with(text: &str, arguments: &[&str]) -> Run {
    let mut child = switchctl()
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    input.write_all(text.as_bytes()).unwrap();
    drop(input);
    child.wait_with_output().unwrap().into()
}

#[test]
fn standard_input_is_checked_as_a_file_is() {
    let good = run_with(GOOD, &["config", "check", "-"]);
    assert_eq!((good.code, good.stderr.as_str()), (Some(0), ""));
    assert!(
        good.stdout.starts_with("standard input: valid\n"),
        "{}",
        good.stdout
    );
    let bad = run_with(
        &GOOD.replace("\"pfc\"", "\"PFC\""),
        &["config", "check", "-"],
    );
    assert_eq!((bad.code, bad.stdout.as_str()), (Some(1), ""));
    assert!(
        bad.stderr.starts_with(
            "standard input:10: class.lossless.mode: unknown value `PFC`; did you mean `pfc`?"
        ),
        "{}",
        bad.stderr
    );
}

/// Returns the good file with one change that a reload applies, and one that needs a restart.
fn changed() -> String {
    GOOD.replace("xoff = \"60KiB\"", "xoff = \"56KiB\"")
        .replace("eth2", "eth7")
}

#[test]
fn differences_are_grouped_by_what_they_require() {
    let (_guard, old) = file("old.toml", GOOD);
    let (_other_guard, new) = file("new.toml", &changed());
    let (old, new) = (text_of(&old), text_of(&new));
    let differ = run(&["config", "diff", &old, &new]);
    assert_eq!((differ.code, differ.stderr.as_str()), (Some(1), ""));
    let expected = format!("|--- {old}\n|+++ {new}\n")
        + "|
        |by `switchctl reload`, at once and without loss:
        |setting              old      new
        |class.lossless.xoff  \"60KiB\"  \"56KiB\"
        |
        |by `switchctl restart`:
        |setting            old     new
        |port.right.device  \"eth2\"  \"eth7\"";
    assert_eq!(differ.stdout, lines(&expected));

    // Explicit defaults and comments are no difference, also from standard input.
    let same = format!("# the same\n{GOOD}\n[deadlock]\npolicy = \"off\"\n");
    let same = run_with(&same, &["config", "diff", &old, "-"]);
    assert_eq!((same.code, same.stderr.as_str()), (Some(0), ""));
    assert_eq!(
        same.stdout,
        format!("no difference between {old} and standard input\n")
    );

    let trouble = run(&["config", "diff", &old, "/no/such/file.toml"]);
    assert_eq!((trouble.code, trouble.stdout.as_str()), (Some(2), ""));
    assert!(
        trouble.stderr.contains("/no/such/file.toml: No such file"),
        "{}",
        trouble.stderr
    );
}

#[test]
fn the_running_switch_is_compared_with_a_file_and_its_memory_counts() {
    let in_force = |chunks: usize| json!({"file": "/etc/weir/s1.toml", "text": GOOD, "buffer_chunks": chunks, "log_level_fixed": true});
    let more = GOOD.replace("60KiB", "160KiB") + "[log]\nlevel = \"debug\"\n";
    let (_guard, path) = file("new.toml", &more);
    let diff = |chunks: usize| -> Value {
        let daemon = FakeDaemon::good("/v1/config", &in_force(chunks).to_string());
        let told = daemon.run(&["--json", "config", "diff", "--running", &text_of(&path)]);
        assert_eq!((told.code, told.stderr.as_str()), (Some(1), ""));
        serde_json::from_str(&told.stdout).unwrap()
    };
    let roomy = diff(1 << 20);
    assert_eq!(roomy["before"], "running switch s1");
    assert_eq!(
        roomy["changes"],
        json!([
            {"key": "class.lossless.xoff", "from": "\"60KiB\"", "to": "\"160KiB\"", "takes": "reload"},
            {"key": "log.level", "from": "\"info\"", "to": "\"debug\"", "takes": "restart",
             "why": "overridden by --log-level on the command line"},
        ])
    );
    let tight = diff(1);
    assert_eq!(tight["changes"][0]["takes"], "restart");
    let why = tight["changes"][0]["why"].as_str().unwrap();
    assert!(why.contains("more packet memory than available"), "{why}");
    // A missing daemon also counts as trouble.
    let gone = run(&[
        "--socket",
        "/nowhere/api.sock",
        "config",
        "diff",
        "--running",
        &text_of(&path),
    ]);
    assert_eq!(gone.code, Some(2));
}
