//! Fuzzing with cargo-fuzz: every target of `tests/fuzz/`, one process at a time, with limits on memory and time.

use std::fmt::Write as _;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{bail, Context, Result};

use crate::build::root;
use crate::tool::remedy;

const MEMORY_MEBIBYTES: u32 = 2048;
const EXECUTION_SECONDS: u32 = 20;
/// Page with the record of runs.
const PAGE: &str = "docs/src/experiments/robustness/fuzzing.md";
const RECORD_BEGIN: &str = "<!-- record -->";
const RECORD_END: &str = "<!-- end of record -->";
/// Maximum number of lines of a libFuzzer report that describe the finding.
const FINDINGS_SHOWN: usize = 12;

/// Returns the maximum input length of a target in bytes: slightly more than it reads.
fn input_length_max(target: &str) -> u32 {
    match target {
        "frame" | "mac_control" | "echo" | "reflection" => 128,
        "clcm" | "seal" => 640,
        "lldp" => 1514,
        _ => 4096,
    }
}

/// Limits of a target's run.
#[derive(Clone, Copy, Debug)]
pub struct Bound {
    /// Maximum number of executions.
    pub executions: Option<u64>,
    /// Maximum duration in seconds.
    pub seconds: Option<u64>,
}

#[derive(Debug)]
struct Outcome {
    target: String,
    executions: u64,
    seconds: u64,
    memory_mebibytes: u64,
    /// First lines of the finding.
    finding: Option<String>,
}

/// Runs `targets`, or all. With `keep`, minimises the corpora without losing coverage and commits them; with `record`,
/// records the run in the book.
///
/// # Errors
///
/// When a target has a finding, a tool is missing, or building or writing fails.
pub fn run(targets: &[String], bound: Bound, keep: bool, record: bool) -> Result<()> {
    require_tools()?;
    let all = all_targets()?;
    if let Some(unknown) = targets.iter().find(|target| !all.contains(target)) {
        bail!("no target `{unknown}`; targets: {}", all.join(", "));
    }
    let chosen = if targets.is_empty() { &all } else { targets };
    let commit = commit()?;
    let mut outcomes = Vec::new();
    for target in chosen {
        println!("== {target}");
        let outcome = fuzz(target, bound)?;
        println!(
            "{target}: {} executions in {} s, {} MiB, {}",
            outcome.executions,
            outcome.seconds,
            outcome.memory_mebibytes,
            outcome.finding.as_deref().unwrap_or("nothing found"),
        );
        if keep && outcome.finding.is_none() {
            minimise(target)?;
        }
        if record {
            write_record(&outcome, &commit)?;
            println!("recorded in {PAGE}");
        }
        outcomes.push(outcome);
    }
    let found: Vec<_> = outcomes
        .iter()
        .filter(|outcome| outcome.finding.is_some())
        .map(|outcome| outcome.target.as_str())
        .collect();
    if !found.is_empty() {
        bail!(
            "{} found a defect; replay the input in tests/fuzz/artifacts with `cargo +nightly fuzz run TARGET FILE`",
            found.join(", ")
        );
    }
    Ok(())
}

/// Returns rustup's cargo, which accepts `+nightly`; the cargo that runs xtask has a fixed toolchain.
fn cargo() -> Command {
    Command::new("cargo")
}

fn cargo_fuzz() -> Command {
    let mut command = cargo();
    command.arg("+nightly").arg("fuzz");
    command.current_dir(root().join("tests/fuzz"));
    command
}

fn require_tools() -> Result<()> {
    let remedies = [
        remedy(
            cargo().args(["+nightly", "--version"]),
            "rustup toolchain install nightly --profile minimal",
        ),
        remedy(
            cargo().args(["fuzz", "--version"]),
            "cargo install cargo-fuzz --locked",
        ),
        remedy(Command::new("c++").arg("--version"), "apt-get install g++"),
    ];
    let missing: Vec<_> = remedies.into_iter().flatten().collect();
    if missing.is_empty() {
        return Ok(());
    }
    bail!("fuzzing needs these too:\n  {}", missing.join("\n  "))
}

fn all_targets() -> Result<Vec<String>> {
    let directory = root().join("tests/fuzz/fuzz_targets");
    let mut targets: Vec<String> = std::fs::read_dir(&directory)
        .with_context(|| directory.display().to_string())?
        .filter_map(|entry| Some(entry.ok()?.path().file_stem()?.to_str()?.to_owned()))
        .collect();
    targets.sort();
    Ok(targets)
}

fn found_corpus(target: &str) -> PathBuf {
    root().join("target/fuzz/corpus").join(target)
}

/// Returns the path of the committed corpus, an archive.
fn archive(target: &str) -> PathBuf {
    root()
        .join("tests/fuzz/corpus")
        .join(format!("{target}.tar"))
}

/// Unpacks the committed corpus; returns the directory of its inputs.
fn unpack(target: &str) -> Result<PathBuf> {
    let directory = root().join("target/fuzz/committed").join(target);
    make_empty(&directory)?;
    tar(Command::new("tar")
        .args(["--extract", "--no-same-owner", "--file"])
        .arg(archive(target))
        .arg("--directory")
        .arg(&directory))?;
    Ok(directory)
}

/// Packs the inputs in `directory`; equal inputs result in equal bytes.
fn pack(directory: &Path, archive: &Path) -> Result<()> {
    tar(Command::new("tar")
        .args(["--create", "--format=ustar", "--sort=name", "--mtime=@0"])
        .args(["--owner=0", "--group=0", "--numeric-owner"])
        .args(["--mode=u=rwX,go=rX", "--file"])
        .arg(archive)
        .arg("--directory")
        .arg(directory)
        .arg("."))
}

fn tar(command: &mut Command) -> Result<()> {
    let status = command.status().context("starting tar")?;
    if !status.success() {
        bail!("{command:?} failed ({status})");
    }
    Ok(())
}

fn make_empty(directory: &Path) -> Result<()> {
    if directory.exists() {
        std::fs::remove_dir_all(directory).with_context(|| directory.display().to_string())?;
    }
    std::fs::create_dir_all(directory).with_context(|| directory.display().to_string())
}

fn fuzz(target: &str, bound: Bound) -> Result<Outcome> {
    let found = found_corpus(target);
    std::fs::create_dir_all(&found).with_context(|| found.display().to_string())?;
    let mut command = cargo_fuzz();
    // Safe Rust only: the compiler rules out what AddressSanitizer would detect, and it halves the speed.
    command.args(["run", "--sanitizer", "none", target]);
    command.arg(&found).arg(unpack(target)?).arg("--");
    command.args([
        format!("-max_len={}", input_length_max(target)),
        format!("-rss_limit_mb={MEMORY_MEBIBYTES}"),
        format!("-timeout={EXECUTION_SECONDS}"),
        "-print_final_stats=1".to_owned(),
    ]);
    command.args(bound.executions.map(|count| format!("-runs={count}")));
    command.args(
        bound
            .seconds
            .map(|seconds| format!("-max_total_time={seconds}")),
    );
    let began = Instant::now();
    let mut child = command
        .stderr(Stdio::piped())
        .spawn()
        .context("starting cargo fuzz")?;
    let lines = child.stderr.take().context("the pipe of cargo fuzz")?;
    let mut outcome = Outcome {
        target: target.to_owned(),
        executions: 0,
        seconds: 0,
        memory_mebibytes: 0,
        finding: None,
    };
    let mut report = Vec::new();
    for line in BufReader::new(lines).split(b'\n') {
        let line = line.context("reading cargo fuzz")?;
        outcome.read(&String::from_utf8_lossy(&line), &mut report);
    }
    let status = child.wait().context("waiting for cargo fuzz")?;
    if outcome.seconds == 0 {
        outcome.seconds = began.elapsed().as_secs();
    }
    if !status.success() {
        if outcome.executions == 0 && report.is_empty() {
            bail!("the target {target} cannot be built or started ({status}): see above");
        }
        outcome.finding = Some(report.join("\n"));
    }
    Ok(outcome)
}

impl Outcome {
    /// Parses one line of libFuzzer: shows progress, and keeps figures and the beginning of the finding.
    fn read(&mut self, line: &str, report: &mut Vec<String>) {
        let figure = |name: &str| line.strip_prefix(name)?.trim().parse::<u64>().ok();
        if let Some(count) = figure("stat::number_of_executed_units:") {
            self.executions = count;
        } else if let Some(mebibytes) = figure("stat::peak_rss_mb:") {
            self.memory_mebibytes = mebibytes;
        } else if let Some(seconds) = line
            .strip_prefix("Done ")
            .and_then(|rest| rest.split(" in ").nth(1)?.split(' ').next()?.parse().ok())
        {
            self.seconds = seconds;
        } else if line.contains("panicked at")
            || line.contains("ERROR: libFuzzer")
            || !report.is_empty()
        {
            if report.len() < FINDINGS_SHOWN {
                report.push(line.to_owned());
            }
            eprintln!("{line}");
        } else if line.contains("pulse") || line.contains("DONE") || !line.starts_with(['#', '\t'])
        {
            eprintln!("{line}");
        }
    }
}

/// Reduces the inputs to the smallest set with the same coverage, which becomes the committed corpus.
fn minimise(target: &str) -> Result<()> {
    let smallest = root().join("target/fuzz/smallest").join(target);
    make_empty(&smallest)?;
    let mut command = cargo_fuzz();
    command.args(["run", "--sanitizer", "none", target]);
    command
        .arg(&smallest)
        .arg(found_corpus(target))
        .arg(unpack(target)?);
    let status = command
        .args(["--", "-set_cover_merge=1", "-use_counters=0"])
        .stderr(Stdio::null())
        .status()
        .context("starting cargo fuzz")?;
    if !status.success() {
        bail!("the corpus of {target} cannot be minimised ({status})");
    }
    pack(&smallest, &archive(target))?;
    let (files, bytes) = size_of(&smallest)?;
    println!("{target}: the corpus has {files} inputs, {bytes} B");
    Ok(())
}

/// Returns the number of files in a directory and their size in bytes.
fn size_of(directory: &Path) -> Result<(u64, u64)> {
    let (mut files, mut bytes) = (0, 0);
    for entry in std::fs::read_dir(directory).with_context(|| directory.display().to_string())? {
        files += 1;
        bytes += entry?.metadata()?.len();
    }
    Ok((files, bytes))
}

/// Packages of the targets, except external libraries.
const SOURCES: [&str; 6] = [
    "crates/api",
    "crates/config",
    "crates/core",
    "tests/properties",
    "tests/fuzz/Cargo.lock",
    "tests/fuzz/fuzz_targets",
];

/// Returns the current commit, marked if the sources have uncommitted changes.
fn commit() -> Result<String> {
    let git = |arguments: &[&str]| -> Result<String> {
        let output = Command::new("git")
            .args(arguments)
            .current_dir(root())
            .output()
            .context("starting git")?;
        Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
    };
    let commit = git(&["rev-parse", "--short=9", "HEAD"])?;
    let mut status = vec!["status", "--porcelain", "--"];
    status.extend(SOURCES);
    let changes = git(&status)?;
    Ok(if changes.is_empty() {
        commit
    } else {
        format!("{commit} and changes")
    })
}

/// Writes a row into the book's table, replacing the target's last one.
fn write_record(outcome: &Outcome, commit: &str) -> Result<()> {
    let path = root().join(PAGE);
    let page = std::fs::read_to_string(&path).with_context(|| PAGE.to_owned())?;
    let (files, bytes) = size_of(&unpack(&outcome.target)?)?;
    let row = row(outcome, commit, files, bytes);
    let page = with_row(&page, &outcome.target, &row)
        .with_context(|| format!("{PAGE} has no `{RECORD_BEGIN}` and `{RECORD_END}`"))?;
    std::fs::write(&path, page).with_context(|| PAGE.to_owned())
}

fn row(outcome: &Outcome, commit: &str, files: u64, bytes: u64) -> String {
    let mut row = String::new();
    let findings = u8::from(outcome.finding.is_some());
    // Writing to a string cannot fail.
    let _ = write!(
        row,
        "| `{}` | {} | {} | {} | {findings} | {files} ({bytes} B) | {commit} |",
        outcome.target,
        in_groups(outcome.executions),
        outcome.seconds,
        in_groups(outcome.executions / outcome.seconds.max(1)),
    );
    row
}

/// Returns `None` if the page has no record.
fn with_row(page: &str, target: &str, row: &str) -> Option<String> {
    let (before, rest) = page.split_once(RECORD_BEGIN)?;
    let (record, after) = rest.split_once(RECORD_END)?;
    let mut lines: Vec<&str> = record.trim().lines().collect();
    let begins = format!("| `{target}` |");
    match lines.iter_mut().find(|line| line.starts_with(&begins)) {
        Some(line) => *line = row,
        None => lines.push(row),
    }
    let record = lines.join("\n");
    Some(format!(
        "{before}{RECORD_BEGIN}\n\n{record}\n\n{RECORD_END}{after}"
    ))
}

/// Formats 1234567 as `1,234,567`.
fn in_groups(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_takes_the_place_of_its_targets_last_one() {
        let page = format!("a\n{RECORD_BEGIN}\n| target |\n|---|\n| `x` | 1 |\n{RECORD_END}\nb\n");
        let page = with_row(&page, "x", "| `x` | 2 |").unwrap();
        let page = with_row(&page, "y", "| `y` | 3 |").unwrap();
        let record = "| target |\n|---|\n| `x` | 2 |\n| `y` | 3 |";
        let expected = format!("a\n{RECORD_BEGIN}\n\n{record}\n\n{RECORD_END}\nb\n");
        assert_eq!(page, expected);
        assert_eq!(with_row("no record", "x", "| `x` |"), None);
    }

    #[test]
    fn figures_and_findings_are_read_from_the_report() {
        let mut outcome = Outcome {
            target: "x".to_owned(),
            executions: 0,
            seconds: 0,
            memory_mebibytes: 0,
            finding: None,
        };
        let mut report = Vec::new();
        for line in [
            "Done 3941113 runs in 7 second(s)",
            "stat::number_of_executed_units: 3941113",
            "stat::peak_rss_mb:              45",
        ] {
            outcome.read(line, &mut report);
        }
        let figures = (
            outcome.executions,
            outcome.seconds,
            outcome.memory_mebibytes,
        );
        assert_eq!(figures, (3_941_113, 7, 45));
        assert!(report.is_empty());
        outcome.read("thread '<unnamed>' panicked at a.rs:1:1:", &mut report);
        outcome.read("what was wrong", &mut report);
        assert_eq!(report.len(), 2);
        assert_eq!(in_groups(1_234_567), "1,234,567");
    }

    #[test]
    fn every_target_has_a_corpus_and_a_row() {
        let page = std::fs::read_to_string(root().join(PAGE)).unwrap();
        for target in all_targets().unwrap() {
            let inputs = unpack(&target).unwrap();
            assert!(size_of(&inputs).unwrap().0 > 0, "{target}");
            let again = inputs.with_extension("tar");
            pack(&inputs, &again).unwrap();
            let bytes = |file: &Path| std::fs::read(file).unwrap();
            let is_same = bytes(&again) == bytes(&archive(&target));
            assert!(is_same, "{target}: packing it again changes it");
            assert!(page.contains(&format!("| `{target}` |")), "{target}");
        }
    }
}
