//! `weir-sim sweep` of a sweep file: the contents of its files, for any split of the work and any interruption.
// Waits for processes with the machine's clock.
#![allow(clippy::disallowed_methods, clippy::disallowed_types)]

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use nix::sys::signal::{kill, Signal};
use nix::unistd::Pid;
use parquet::file::reader::SerializedFileReader;
use parquet::record::{Field, Row};
use tempfile::TempDir;
use weir_config::scenario::Scenario;
use weir_sim::scenario::{run, Options};

/// Two of its runs have an xoff below xon, which is invalid in any scenario.
const SWEEP: &str = r#"
name = "small"
scenario = "ring4.toml"
set = ["duration=300ms", "expect="]
seeds = [3, 5]
tables = ["flows", "ports"]

[latin-hypercube]
samples = 3
seed = 4

[[parameter]]
name = "remedy"
choices = [
    { name = "none", set = [] },
    { name = "breaker", set = ["deadlock.policy=breaker", "deadlock.detect=5ms"] },
]

[[parameter]]
name = "xoff"
key = "class.lossless.xoff"
values = ["60KiB", "200KiB", "1KiB"]

[[parameter]]
name = "delay"
key = "link-defaults.delay"
from = "1us"
to = "50us"
"#;
const RUNS: usize = 3 * 2 * 3 * 2;

struct Bench(TempDir);

impl Bench {
    fn new(sweep: &str) -> Self {
        let directory = TempDir::new().expect("a directory");
        let ring = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios/ring4.toml");
        std::fs::copy(ring, directory.path().join("ring4.toml")).expect("a copy");
        std::fs::write(directory.path().join("sweep.toml"), sweep).expect("a sweep");
        Self(directory)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_weir-sim"));
        command.args(["sweep", "sweep.toml"]).args(arguments);
        command.current_dir(self.0.path());
        command
    }

    fn run(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().expect("weir-sim runs")
    }

    /// Returns the output of a run that must succeed.
    fn done(&self, arguments: &[&str]) -> String {
        let output = self.run(arguments);
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        text(&output.stdout)
    }

    fn files(&self, directory: &str) -> Vec<(String, Vec<u8>)> {
        let entries = std::fs::read_dir(self.path(directory)).expect("a directory");
        let mut files: Vec<_> = entries
            .map(|entry| entry.expect("an entry").path())
            .map(|path| {
                let name = path
                    .file_name()
                    .expect("a name")
                    .to_string_lossy()
                    .into_owned();
                (name, std::fs::read(&path).expect("a file"))
            })
            .collect();
        files.sort();
        files
    }

    fn rows(&self, file: &str) -> Vec<Row> {
        let file = File::open(self.path(file)).expect("a file");
        let reader = SerializedFileReader::new(file).expect("a Parquet file");
        reader.into_iter().map(|row| row.expect("a row")).collect()
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn field<'a>(row: &'a Row, name: &str) -> &'a Field {
    let found = row.get_column_iter().find(|(column, _)| *column == name);
    found.unwrap_or_else(|| panic!("no column {name}")).1
}

fn count(row: &Row, name: &str) -> u64 {
    match field(row, name) {
        Field::Long(count) => *count as u64,
        other => panic!("{name}: {other:?}"),
    }
}

fn number(row: &Row, name: &str) -> Option<f64> {
    match field(row, name) {
        Field::Double(number) => Some(*number),
        Field::Null => None,
        other => panic!("{name}: {other:?}"),
    }
}

fn string(row: &Row, name: &str) -> String {
    match field(row, name) {
        Field::Str(text) => text.clone(),
        Field::Null => String::new(),
        other => panic!("{name}: {other:?}"),
    }
}

/// The slow model: sets each row's scenario by hand from the row's own parameters, and runs it separately.
#[test]
fn each_row_is_what_its_scenario_gives_by_itself() {
    let bench = Bench::new(SWEEP);
    let told = bench.done(&["--out", "out"]);
    assert!(
        told.starts_with("36 runs: 0 kept from before, 36 run now, 12 failed"),
        "{told}"
    );
    let runs = bench.rows("out/runs-00000-of-00001.parquet");
    let flows = bench.rows("out/flows-00000-of-00001.parquet");
    let ports = bench.rows("out/ports-00000-of-00001.parquet");
    assert_eq!(runs.len(), RUNS);
    for (index, row) in runs.iter().enumerate() {
        assert_eq!(count(row, "run"), index as u64);
        let (remedy, xoff) = (string(row, "remedy"), string(row, "xoff"));
        let delay = number(row, "delay_seconds").expect("a number") * 1e9;
        let mut set = vec![
            "duration=300ms".to_owned(),
            "expect=".to_owned(),
            format!("class.lossless.xoff={xoff}"),
            format!("link-defaults.delay={}ns", delay.round()),
            format!("seed={}", count(row, "seed")),
        ];
        if remedy == "breaker" {
            set.extend(["deadlock.policy=breaker", "deadlock.detect=5ms"].map(str::to_owned));
        }
        let set: Vec<_> = set
            .iter()
            .map(|one| one.parse().expect("an override"))
            .collect();
        let scenario = Scenario::load(&bench.path("ring4.toml"), &set);
        let mine = |rows: &[Row]| -> Vec<Row> {
            let of_run = rows.iter().filter(|row| count(row, "run") == index as u64);
            of_run.cloned().collect()
        };
        let (mine, my_ports) = (mine(&flows), mine(&ports));
        if xoff == "1KiB" {
            assert!(scenario.is_err());
            let error = string(row, "error");
            assert!(
                error.contains("class.lossless.xoff=1KiB, link-defaults.delay=")
                    && error.contains("class.lossless.xon: "),
                "{error}"
            );
            assert!(matches!(field(row, "frames_sent"), Field::Null));
            assert!(mine.is_empty() && my_ports.is_empty());
            continue;
        }
        let result = run(&scenario.expect("a scenario"), Options::default()).expect("a result");
        assert!(matches!(field(row, "error"), Field::Null));
        assert_eq!(field(row, "deadlocked"), &Field::Bool(result.deadlocked));
        assert_eq!(
            count(row, "frames_received"),
            result.flows.iter().map(|flow| flow.received).sum::<u64>()
        );
        assert_eq!(
            count(row, "frames_lost"),
            result.flows.iter().map(|flow| flow.lost).sum::<u64>()
        );
        assert_eq!(count(row, "releases"), result.releases);
        assert_eq!(number(row, "detect_seconds"), result.detect_seconds);
        let rates = result.flows.iter().map(|flow| flow.bits_per_second);
        assert_eq!(number(row, "bits_per_second"), Some(rates.sum()));
        let pauses = result.buffers.iter().map(|buffer| buffer.pause_nanos);
        assert_eq!(
            number(row, "pause_seconds"),
            Some(pauses.sum::<u64>() as f64 / 1e9)
        );
        assert_eq!(mine.len(), result.flows.len());
        for (row, flow) in mine.iter().zip(&result.flows) {
            assert_eq!(string(row, "flow"), flow.name);
            assert_eq!(count(row, "frames_sent"), flow.sent);
            assert_eq!(number(row, "bits_per_second"), Some(flow.bits_per_second));
        }
        assert_eq!(my_ports.len(), result.buffers.len());
        for (row, buffer) in my_ports.iter().zip(&result.buffers) {
            assert_eq!(
                (string(row, "switch"), string(row, "port")),
                (buffer.switch.clone(), buffer.port.clone())
            );
            assert_eq!(count(row, "ingress_bytes_max"), buffer.ingress_bytes_max);
        }
    }
    let verdicts = runs.iter().map(|row| field(row, "deadlocked"));
    let locked = verdicts
        .filter(|field| **field == Field::Bool(true))
        .count();
    assert!(locked > 0, "some lock");
}

#[test]
fn files_are_the_same_bytes_for_any_number_of_jobs_and_nothing_is_run_twice() {
    let bench = Bench::new(SWEEP);
    bench.done(&["--out", "one", "--jobs", "1"]);
    bench.done(&["--out", "two", "--jobs", "2"]);
    let files = bench.files("one");
    let names: Vec<&str> = files.iter().map(|(name, _)| name.as_str()).collect();
    let expected =
        ["flows", "ports", "runs"].map(|table| format!("{table}-00000-of-00001.parquet"));
    assert_eq!(names, expected);
    assert_eq!(files, bench.files("two"));
    let told = bench.done(&["--out", "one"]);
    assert!(told.starts_with("nothing to run"), "{told}");
    assert_eq!(files, bench.files("one"));
}

#[test]
fn shards_have_every_run_once() {
    let bench = Bench::new(SWEEP);
    bench.done(&["--out", "whole"]);
    let mut rows = Vec::new();
    for shard in ["1/4", "0/4", "3/4", "2/4"] {
        bench.done(&["--out", "parts", "--shard", shard]);
        let file = format!("parts/runs-0000{}-of-00004.parquet", &shard[..1]);
        rows.extend(bench.rows(&file));
    }
    rows.sort_by_key(|row| count(row, "run"));
    assert_eq!(rows, bench.rows("whole/runs-00000-of-00001.parquet"));
    let refused = bench.run(&["--out", "parts", "--shard", "0/3"]);
    assert_eq!(refused.status.code(), Some(3));
    assert!(
        text(&refused.stderr).contains("another number of parts; remove"),
        "{}",
        text(&refused.stderr)
    );
}

/// Waits until the journal has `lines` lines, or the process has ended.
fn wait_for_lines(bench: &Bench, child: &mut Child, lines: usize) -> usize {
    let journal = bench.path("out/unfinished-00000-of-00001.jsonl");
    let deadline = Instant::now() + Duration::from_secs(120);
    loop {
        let text = std::fs::read(&journal).unwrap_or_default();
        let count = text.iter().filter(|byte| **byte == b'\n').count();
        if count >= lines {
            return count;
        }
        let ended = child.try_wait().expect("a status");
        assert!(ended.is_none(), "it ended after {count} runs");
        assert!(Instant::now() < deadline, "no {lines} runs in two minutes");
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// A sweep of many more runs than are finished before the signal.
fn long() -> String {
    SWEEP.replace("samples = 3", "samples = 60")
}

fn start(bench: &Bench) -> Child {
    let mut command = bench.command(&["--out", "out", "--jobs", "2"]);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    command.spawn().expect("weir-sim starts")
}

#[test]
fn a_killed_part_goes_on_where_it_was_and_gives_the_same_bytes() {
    let bench = Bench::new(&long());
    for round in 1..=2 {
        let mut child = start(&bench);
        wait_for_lines(&bench, &mut child, 40 * round);
        child.kill().expect("SIGKILL");
        child.wait().expect("an end");
        let left: Vec<String> = bench
            .files("out")
            .into_iter()
            .map(|(name, _)| name)
            .collect();
        assert_eq!(left, ["unfinished-00000-of-00001.jsonl"], "no half table");
        // The line during which the process was killed, at any length.
        let mut journal = File::options()
            .append(true)
            .open(bench.path("out").join(&left[0]))
            .expect("the journal");
        journal
            .write_all(br#"{"key":"00","outcome":[{"Cou"#)
            .expect("half a line");
    }
    let told = bench.done(&["--out", "out"]);
    let kept: usize = told
        .split(" kept from before")
        .next()
        .and_then(|text| text.rsplit(' ').next())
        .and_then(|count| count.parse().ok())
        .expect("a count");
    assert!((80..720).contains(&kept), "{told}");
    assert!(told.contains(&format!("{} run now", 720 - kept)), "{told}");
    bench.done(&["--out", "undisturbed"]);
    assert_eq!(bench.files("out"), bench.files("undisturbed"));
}

#[test]
fn ctrl_c_keeps_what_is_done() {
    let bench = Bench::new(&long());
    let mut child = start(&bench);
    let kept = wait_for_lines(&bench, &mut child, 10);
    kill(Pid::from_raw(child.id() as i32), Signal::SIGINT).expect("SIGINT");
    let output = child.wait_with_output().expect("an end");
    assert_eq!(output.status.code(), Some(130));
    let told = text(&output.stderr);
    assert!(
        told.contains("of 720 runs are finished and kept; the same command continues"),
        "{told}"
    );
    let journal =
        std::fs::read(bench.path("out/unfinished-00000-of-00001.jsonl")).expect("the journal");
    assert!(
        journal.ends_with(b"\n") && journal.iter().filter(|byte| **byte == b'\n').count() >= kept
    );
}

#[test]
fn one_part_is_run_by_one_process_at_a_time() {
    let bench = Bench::new(&long());
    let mut child = start(&bench);
    wait_for_lines(&bench, &mut child, 1);
    let other = bench.run(&["--out", "out"]);
    child.kill().expect("SIGKILL");
    child.wait().expect("an end");
    assert_eq!(other.status.code(), Some(3));
    let told = text(&other.stderr);
    assert!(
        told.contains("is in use: part 0/1 is being run by another process"),
        "{told}"
    );
}

/// An added value keeps the runs of the others, under new numbers.
#[test]
fn what_was_kept_is_taken_for_a_changed_sweep_if_it_is_the_same_run() {
    let bench = Bench::new(&long());
    let mut child = start(&bench);
    wait_for_lines(&bench, &mut child, 30);
    child.kill().expect("SIGKILL");
    child.wait().expect("an end");
    let changed = long().replace("seeds = [3, 5]", "seeds = [5]");
    std::fs::write(bench.path("sweep.toml"), changed).expect("a sweep");
    let told = bench.done(&["--out", "out"]);
    assert!(!told.contains(": 0 kept from before"), "{told}");
    bench.done(&["--out", "undisturbed"]);
    assert_eq!(bench.files("out"), bench.files("undisturbed"));
    std::fs::write(bench.path("sweep.toml"), long()).expect("a sweep");
    let refused = bench.run(&["--out", "out"]);
    assert!(
        text(&refused.stderr).contains("is of another sweep, scenario or version"),
        "{}",
        text(&refused.stderr)
    );
}

#[test]
fn a_journal_of_something_else_is_refused_and_kept() {
    let bench = Bench::new(&long());
    let mut child = start(&bench);
    wait_for_lines(&bench, &mut child, 2);
    child.kill().expect("SIGKILL");
    child.wait().expect("an end");
    let journal = bench.path("out").join("unfinished-00000-of-00001.jsonl");
    let before = std::fs::read(&journal).expect("a journal");
    let parts = bench.run(&["--out", "out", "--shard", "0/2"]);
    let told = text(&parts.stderr);
    assert!(told.contains("in another number of parts"), "{told}");
    std::fs::write(
        bench.path("sweep.toml"),
        long().replace("seeds = [3, 5]", "seeds = [7]"),
    )
    .expect("a sweep");
    let other = bench.run(&["--out", "out"]);
    let told = text(&other.stderr);
    assert!(
        told.contains("is of another sweep, scenario or version"),
        "{told}"
    );
    let kept = std::fs::read(&journal).expect("a journal");
    assert!(kept.starts_with(&before[..before.len() / 2]));
}

#[test]
fn a_list_shows_the_runs_and_runs_none() {
    let bench = Bench::new(SWEEP);
    for option in ["--list", "--dry-run"] {
        let told = bench.done(&[option]);
        assert_eq!(told.lines().count(), RUNS + 2, "{told}");
        assert!(
            told.lines()
                .nth(2)
                .is_some_and(|line| line.contains("none") && line.contains("60KiB")),
            "{told}"
        );
    }
    let told = bench.done(&["--list", "--shard", "1/36"]);
    assert_eq!(told.lines().count(), 3, "{told}");
    assert!(!bench.path("sweep-small").exists());
    let checked = bench.run(&["--check"]);
    assert_eq!(checked.status.code(), Some(2));
    assert!(text(&checked.stdout).contains("12 of 36 runs have invalid scenarios"));
    assert!(
        text(&checked.stderr).contains("sweep.toml: ring4.toml with class.lossless.xoff=1KiB"),
        "{}",
        text(&checked.stderr)
    );
}

#[test]
fn what_is_meant_for_the_other_kind_of_file_is_refused() {
    let bench = Bench::new(SWEEP);
    for (arguments, told) in [
        (
            &["--set", "duration=1s"][..],
            "--set: sweep.toml is a sweep file; write set =",
        ),
        (&["--seeds", "3"], "write seeds ="),
        (&["--json", "x.json"], "use --out DIRECTORY"),
        (
            &["--shard", "4/4"],
            "parts are counted from 0, the last of 4 is 3",
        ),
        (&["--shard", "4"], "write I/N"),
    ] {
        let output = bench.run(arguments);
        assert_ne!(output.status.code(), Some(0));
        assert!(
            text(&output.stderr).contains(told),
            "{}",
            text(&output.stderr)
        );
    }
    let mut command = Command::new(env!("CARGO_BIN_EXE_weir-sim"));
    let output = command
        .args(["sweep", "ring4.toml", "--shard", "0/2"])
        .current_dir(bench.0.path());
    let output = output.output().expect("weir-sim runs");
    assert!(
        text(&output.stderr).contains("is no sweep file; write one"),
        "{}",
        text(&output.stderr)
    );
}

#[test]
fn a_sweep_none_of_whose_runs_can_be_is_refused() {
    for (from, to, told) in [
        (
            "class.lossless.xoff",
            "class.lossless.xof",
            "sweep.toml:19: parameter.xoff: ring4.toml with class.lossless.xof=60KiB:",
        ),
        (
            "name = \"delay\"",
            "name = \"error\"",
            "the results have a column `error` already; give it another `name`",
        ),
        (
            "duration=300ms",
            "duration=300",
            "sweep.toml:4: set: ring4.toml with duration=300: ",
        ),
        (
            "scenario = \"ring4.toml\"",
            "scenario = \"ring5.toml\"",
            "cannot read ring5.toml",
        ),
    ] {
        let bench = Bench::new(&SWEEP.replace(from, to));
        let output = bench.run(&["--out", "out"]);
        assert_ne!(output.status.code(), Some(0));
        assert!(
            text(&output.stderr).contains(told),
            "{}",
            text(&output.stderr)
        );
        assert!(!bench.path("out").exists());
    }
}
