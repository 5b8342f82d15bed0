//! Command line of `weir-sim`.

use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use nix::sys::signal::{kill, Signal};
use nix::unistd::Pid;
use sha2::{Digest, Sha256};
use weir_api::run::RunResult;
use weir_config::scenario::Scenario;
use weir_sim::scenario::{digest, run, Options};

fn weir_sim(arguments: &[&str]) -> Output {
    let scenarios = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    Command::new(env!("CARGO_BIN_EXE_weir-sim"))
        .args(arguments)
        .current_dir(scenarios)
        .output()
        .expect("weir-sim runs")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("weir-sim-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&path).expect("a directory");
        Self(path)
    }

    fn file(&self, name: &str) -> String {
        self.0.join(name).display().to_string()
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// A closed pipe, and a full disk behind standard output.
#[test]
fn what_standard_output_does_not_take_costs_no_file() {
    let scratch = Scratch::new("closed");
    let run = |name: &str, stdout: std::process::Stdio| {
        let json = scratch.file(name);
        let output = Command::new(env!("CARGO_BIN_EXE_weir-sim"))
            .args([
                "run",
                "scenarios/ring4.toml",
                "--until",
                "1ms",
                "--json",
                &json,
            ])
            .current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("../.."))
            .stdout(stdout)
            .stderr(std::process::Stdio::piped())
            .spawn()
            .and_then(std::process::Child::wait_with_output)
            .expect("weir-sim runs");
        assert!(Path::new(&json).exists(), "{}", text(&output.stderr));
        output
    };
    let (reader, writer) = std::io::pipe().expect("a pipe");
    drop(reader);
    let closed = run("closed.json", writer.into());
    assert_eq!(text(&closed.stderr).matches("panicked").count(), 0);
    let full = std::fs::OpenOptions::new()
        .write(true)
        .open("/dev/full")
        .expect("/dev/full");
    let full = run("full.json", full.into());
    assert_eq!(full.status.code(), Some(3));
    let told = text(&full.stderr);
    assert!(told.contains("standard output: No space left"), "{told}");
}

#[test]
fn a_run_prints_its_expectations_and_writes_what_it_is_asked_for() {
    let scratch = Scratch::new("run");
    let (json, svg) = (scratch.file("ring4.json"), scratch.file("ring4.svg"));
    let output = weir_sim(&[
        "run",
        "scenarios/ring4.toml",
        "--until",
        "2s",
        "--seed",
        "9",
        "--json",
        &json,
        "--svg",
        &svg,
    ]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert!(text(&output.stdout).contains("held   deadlock = true"));
    let result = std::fs::read_to_string(json).expect("the JSON");
    let result: RunResult = serde_json::from_str(&result).expect("a result");
    assert_eq!((result.runner.as_str(), result.seed), ("sim", 9));
    assert!((result.duration_seconds - 2.0).abs() < 1e-9);
    let picture = std::fs::read_to_string(svg).expect("the picture");
    assert!(picture.contains("<polyline"));
}

#[test]
fn json_alone_goes_to_standard_output() {
    let output = weir_sim(&[
        "run",
        "scenarios/one-switch.toml",
        "--until",
        "1s",
        "--json",
        "-",
    ]);
    let result: RunResult = serde_json::from_slice(&output.stdout).expect("nothing but a result");
    assert!(!result.deadlocked);
}

#[test]
fn an_expectation_that_fails_is_status_1_with_the_command_that_replays_it() {
    let change = "expect.off.deadlock=false";
    let output = weir_sim(&[
        "run",
        "scenarios/ring4.toml",
        "--until",
        "2s",
        "--set",
        change,
    ]);
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stdout).contains("FAILED deadlock = false"));
    let told = text(&output.stderr);
    let replay = format!("weir-sim run scenarios/ring4.toml --seed 1 --set {change} --until 2s");
    assert!(told.contains(&replay), "{told}");
}

#[test]
fn without_a_terminal_watching_is_refused_with_an_alternative() {
    let output = weir_sim(&["run", "scenarios/ring4.toml", "--watch"]);
    assert_eq!(output.status.code(), Some(3));
    let said = "--watch draws on a terminal, and standard error is none; --html FILE writes a page";
    assert!(
        text(&output.stderr).contains(said),
        "{}",
        text(&output.stderr)
    );
}

#[test]
fn a_wrong_file_is_status_2_and_names_the_key() {
    let output = weir_sim(&["run", "scenarios/ring4.toml", "--set", "deadlock.polcy=off"]);
    assert_eq!(output.status.code(), Some(2));
    let told = text(&output.stderr);
    assert!(told.contains("polcy") && told.contains("policy"), "{told}");
}

#[test]
fn a_sweep_has_a_line_for_each_run_and_does_not_depend_on_how_many_run_at_a_time() {
    let sweep = |jobs: &str| {
        let output = weir_sim(&[
            "sweep",
            "scenarios/ring4.toml",
            "--until",
            "1s",
            "--over",
            "deadlock.policy=off,breaker",
            "--seeds",
            "3",
            "--jobs",
            jobs,
        ]);
        text(&output.stdout)
    };
    let (one, three) = (sweep("1"), sweep("3"));
    assert_eq!(one, three);
    assert_eq!(
        one.lines()
            .filter(|line| line.contains("deadlocked"))
            .count(),
        3,
        "{one}"
    );
    assert_eq!(
        one.lines().filter(|line| line.contains("moves")).count(),
        3,
        "{one}"
    );
}

#[test]
fn two_results_are_laid_side_by_side() {
    let scratch = Scratch::new("compare");
    let [locked, again, moving] = ["locked", "again", "moving"].map(|name| scratch.file(name));
    for (file, policy) in [(&locked, "off"), (&again, "off"), (&moving, "breaker")] {
        let policy = format!("deadlock.policy={policy}");
        weir_sim(&[
            "run",
            "scenarios/ring4.toml",
            "--until",
            "2s",
            "--set",
            &policy,
            "--json",
            file,
        ]);
    }
    assert_eq!(
        weir_sim(&["compare", &locked, &again]).status.code(),
        Some(0)
    );
    let output = weir_sim(&["compare", &locked, &moving]);
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stdout).contains("DIFFERS"));
}

#[test]
fn a_search_says_how_many_networks_kept_their_promise() {
    let output = weir_sim(&["search", "--networks", "6", "--json", "-"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let told = text(&output.stdout);
    assert!(
        told.contains("6 random networks from seed 0 under Levels"),
        "{told}"
    );
    assert!(told.contains("0 failures"), "{told}");
}

#[test]
fn a_run_on_threads_writes_the_same_bytes() {
    let scratch = Scratch::new("threads");
    let written = ["1", "3"].map(|threads| {
        let files = ["json", "svg"].map(|kind| scratch.file(&format!("{threads}.{kind}")));
        let output = weir_sim(&[
            "run",
            "scenarios/fat-tree.toml",
            "--until",
            "100us",
            "--threads",
            threads,
            "--json",
            &files[0],
            "--svg",
            &files[1],
        ]);
        let files = files.map(|file| std::fs::read_to_string(file).expect("a file"));
        (output.status.code(), output.stdout, files)
    });
    assert!(
        written[0] == written[1],
        "three threads write something else"
    );
    let none = weir_sim(&["run", "scenarios/ring4.toml", "--threads", "0"]);
    assert_eq!(none.status.code(), Some(2), "{}", text(&none.stderr));
}

#[test]
fn the_digest_is_that_of_the_file() {
    let scratch = Scratch::new("digest");
    let file = scratch.file("run.json");
    let arguments = ["run", "scenarios/ring4.toml", "--until", "100ms"];
    let output = weir_sim(&[&arguments[..], &["--json", &file]].concat());
    assert!(output.status.code().is_some(), "{}", text(&output.stderr));
    let scenarios = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios");
    let change = "duration=100ms".parse().expect("a change");
    let scenario = Scenario::load(&scenarios.join("ring4.toml"), &[change]).expect("the ring");
    let result = run(&scenario, Options::default()).expect("a run");
    let bytes = std::fs::read_to_string(file).expect("the file");
    let hash = Sha256::digest(bytes);
    let hash: String = hash.iter().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!(digest(&result), hash);
}

#[test]
fn an_interrupt_ends_all_threads_and_nothing_is_written() {
    let scratch = Scratch::new("interrupt");
    let json = scratch.file("never.json");
    let scenarios = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut child = Command::new(env!("CARGO_BIN_EXE_weir-sim"))
        .args(["run", "scenarios/fat-tree.toml", "--set", "duration=100s"])
        .args(["--quiet", "--threads", "3", "--json", &json])
        .current_dir(scenarios)
        .spawn()
        .expect("weir-sim runs");
    let tasks = format!("/proc/{}/task", child.id());
    while std::fs::read_dir(&tasks).map_or(0, Iterator::count) < 3 {
        assert_eq!(child.try_wait().expect("its state"), None, "it ends early");
        std::thread::yield_now();
    }
    kill(Pid::from_raw(child.id() as i32), Signal::SIGINT).expect("SIGINT");
    let status = child.wait().expect("it ends");
    assert_eq!(status.signal(), Some(Signal::SIGINT as i32));
    assert!(!Path::new(&json).exists());
}
