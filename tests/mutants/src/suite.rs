//! The tests: building them with all mutants, and running one test with one mutant.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{bail, Context, Result};
use serde_json::Value;

use crate::collect::Site;
use crate::splice;

/// Packages whose tests run, and the name of the same in an older layout; with its integration tests or without.
const PACKAGES: [(&str, &str, bool); 3] = [
    ("weir-core", "weir-core", true),
    ("weir-dataplane", "weir-switchd", false),
    ("weir-properties", "weir-properties", true),
];
/// Files that get a dependency on the package that chooses the mutant.
const MANIFESTS: [&str; 4] = [
    "crates/core/Cargo.toml",
    "core/Cargo.toml",
    "crates/dataplane/Cargo.toml",
    "switchd/Cargo.toml",
];
/// A mutant may allocate without end.
const MEMORY_BYTES: u64 = 8 << 30;
/// Shortest time after which a test is taken to hang.
const HANG: Duration = Duration::from_secs(10);
/// A test of more than this is left out, at both revisions.
pub const LONGEST: Duration = Duration::from_secs(10);

#[derive(Clone, Debug)]
pub struct Test {
    pub executable: PathBuf,
    /// Directory of the package.
    pub directory: PathBuf,
    pub name: String,
    pub duration: Duration,
    pub reaches: BTreeSet<u32>,
}

pub enum Outcome {
    Passed,
    Failed,
    Hung,
}

/// Adds the package that chooses the mutant.
pub fn prepare(tree: &Path) -> Result<()> {
    let package = tree.join("mutant");
    fs::create_dir_all(package.join("src"))?;
    fs::write(package.join("src/lib.rs"), include_str!("runtime.rs"))?;
    let manifest = "[package]\nname = \"weir-mutant\"\nversion = \"0.0.0\"\nedition = \"2021\"\n";
    fs::write(package.join("Cargo.toml"), manifest)?;
    for path in MANIFESTS {
        let Ok(text) = fs::read_to_string(tree.join(path)) else {
            continue;
        };
        let up = "../".repeat(path.split('/').count() - 1);
        let dependency = format!("\n[dependencies]\nweir-mutant = {{ path = \"{up}mutant\" }}\n");
        fs::write(
            tree.join(path),
            text.replacen("\n[dependencies]\n", &dependency, 1),
        )?;
    }
    // The package is found by its path, unless the workspace lists its members.
    let text = fs::read_to_string(tree.join("Cargo.toml"))?;
    fs::write(
        tree.join("Cargo.toml"),
        text.replacen("\nmembers = [", "\nmembers = [\"mutant\", ", 1),
    )?;
    Ok(())
}

/// Builds the tests. Mutants that do not compile are added to `unviable`, and the build repeats without them.
pub fn build(
    source: &Path,
    tree: &Path,
    target: &Path,
    sites: &[(u32, &Site)],
    unviable: &mut BTreeSet<u32>,
    mut note: impl FnMut(&BTreeSet<u32>) -> Result<()>,
) -> Result<Vec<(PathBuf, PathBuf)>> {
    let mut executables = Vec::new();
    for (now, before, integration) in PACKAGES {
        let package = [now, before]
            .into_iter()
            .find(|name| *name != "weir-dataplane" || tree.join("crates/dataplane").is_dir());
        let package = package.context("no package")?;
        loop {
            splice::write(source, tree, sites, unviable)?;
            let mut cargo = Command::new("cargo");
            cargo.args([
                "test",
                "--offline",
                "--no-run",
                "--message-format=json",
                "--lib",
                "-p",
                package,
            ]);
            cargo.args(integration.then_some("--tests"));
            cargo
                .current_dir(tree)
                .env("CARGO_TARGET_DIR", target)
                .env("CARGO_INCREMENTAL", "0");
            let output = cargo.stderr(Stdio::inherit()).output()?;
            let text = String::from_utf8_lossy(&output.stdout);
            let messages: Vec<Value> = text
                .lines()
                .filter_map(|line| serde_json::from_str(line).ok())
                .collect();
            if output.status.success() {
                executables.extend(messages.iter().filter_map(executable));
                break;
            }
            let refused = refused(tree, sites, &messages)?;
            if refused.is_subset(unviable) {
                bail!("{package} does not compile, and not because of a mutant");
            }
            unviable.extend(refused);
            println!(
                "{package}: {} mutants do not compile so far",
                unviable.len()
            );
            note(unviable)?;
        }
    }
    Ok(executables)
}

fn executable(message: &Value) -> Option<(PathBuf, PathBuf)> {
    let executable = message.get("executable")?.as_str()?;
    let test = message.get("profile")?.get("test")?.as_bool()?;
    let manifest = Path::new(message.get("manifest_path")?.as_str()?);
    test.then_some((executable.into(), manifest.parent()?.to_owned()))
}

/// Returns the mutants in which the compiler found an error.
fn refused(tree: &Path, sites: &[(u32, &Site)], messages: &[Value]) -> Result<BTreeSet<u32>> {
    let mut refused = BTreeSet::new();
    for message in messages.iter().filter_map(|message| message.get("message")) {
        if message["level"] != "error" || message["spans"].as_array().is_none_or(Vec::is_empty) {
            continue;
        }
        let mut here = BTreeSet::new();
        let mut pending = vec![message];
        while let Some(part) = pending.pop() {
            pending.extend(part["children"].as_array().into_iter().flatten());
            for span in part["spans"].as_array().into_iter().flatten() {
                let (Some(file), Some(at)) =
                    (span["file_name"].as_str(), span["byte_start"].as_u64())
                else {
                    continue;
                };
                let numbers: Vec<u32> = sites
                    .iter()
                    .filter(|(_, site)| Path::new(file).ends_with(&site.file))
                    .map(|(number, _)| *number)
                    .collect();
                let Ok(text) = fs::read_to_string(tree.join(file)) else {
                    continue;
                };
                here.extend(splice::mutants_at(&text, at as usize, &numbers));
            }
        }
        if here.is_empty() {
            eprintln!("{}", message["rendered"].as_str().unwrap_or_default());
        }
        refused.extend(here);
    }
    Ok(refused)
}

/// Returns the tests, with their durations and the mutants that each reaches. Tests that need privileges, fail without a
/// mutant or take long are left out.
pub fn survey(
    executables: &[(PathBuf, PathBuf)],
    record: &Path,
) -> Result<(Vec<Test>, Vec<String>)> {
    let mut tests = Vec::new();
    let mut left_out = Vec::new();
    for (executable, directory) in executables {
        let ignored = list(executable, directory, &["--ignored"])?;
        for name in list(executable, directory, &[])?.difference(&ignored) {
            let mut test = Test {
                executable: executable.clone(),
                directory: directory.clone(),
                name: name.clone(),
                duration: Duration::ZERO,
                reaches: BTreeSet::new(),
            };
            let _ = fs::remove_file(record);
            let began = Instant::now();
            let outcome = run(
                &test,
                LONGEST,
                ("WEIR_MUTANTS_REACHED", &record.display().to_string()),
            )?;
            test.duration = began.elapsed();
            let reached = fs::read(record).unwrap_or_default();
            let numbers = reached
                .chunks_exact(4)
                .map(|bytes| u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]));
            test.reaches.extend(numbers);
            match outcome {
                Outcome::Passed if test.reaches.is_empty() => {}
                Outcome::Passed => tests.push(test),
                Outcome::Failed => left_out.push(format!("{name}: fails without a mutant")),
                Outcome::Hung => {
                    left_out.push(format!("{name}: more than {} s", LONGEST.as_secs()))
                }
            }
        }
    }
    Ok((tests, left_out))
}

fn list(executable: &Path, directory: &Path, more: &[&str]) -> Result<BTreeSet<String>> {
    let output = Command::new(executable)
        .args(["--list", "--format", "terse"])
        .args(more)
        .current_dir(directory)
        .output()?;
    let text = String::from_utf8(output.stdout)?;
    Ok(text
        .lines()
        .filter_map(|line| line.strip_suffix(": test").map(str::to_owned))
        .collect())
}

impl Test {
    /// Runs the test with the mutant.
    pub fn with(&self, mutant: u32) -> Result<Outcome> {
        run(
            self,
            HANG.max(self.duration * 10),
            ("WEIR_MUTANT", &mutant.to_string()),
        )
    }
}

fn run(test: &Test, limit: Duration, variable: (&str, &str)) -> Result<Outcome> {
    const TIMED_OUT: i32 = 124;
    const KILLED: i32 = 137;
    let status = Command::new("prlimit")
        .arg(format!("--as={MEMORY_BYTES}"))
        .args(["timeout", "--kill-after=1"])
        .arg(format!("{:.1}", limit.as_secs_f64()))
        .arg(&test.executable)
        .args(["--exact", &test.name, "--test-threads=1"])
        .current_dir(&test.directory)
        .env("CARGO_MANIFEST_DIR", &test.directory)
        .env(variable.0, variable.1)
        // A failure must not add an input to the runs that follow.
        .env("PROPTEST_DISABLE_FAILURE_PERSISTENCE", "1")
        .env("PROPTEST_MAX_SHRINK_ITERS", "0")
        .env("PROPTEST_RNG_SEED", "1")
        .env("RUST_BACKTRACE", "0")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .context("starting prlimit")?;
    Ok(match status.code() {
        Some(0) => Outcome::Passed,
        Some(TIMED_OUT | KILLED) => Outcome::Hung,
        _ => Outcome::Failed,
    })
}

/// Writes and reads a survey, one test a line.
pub fn to_text(tests: &[Test]) -> String {
    let line = |test: &Test| {
        let numbers: Vec<String> = test.reaches.iter().map(u32::to_string).collect();
        let (executable, directory) = (test.executable.display(), test.directory.display());
        format!(
            "{executable}\t{directory}\t{}\t{}\t{}\n",
            test.name,
            test.duration.as_micros(),
            numbers.join(" ")
        )
    };
    tests.iter().map(line).collect()
}

pub fn from_text(text: &str) -> Option<Vec<Test>> {
    let parse = |line: &str| {
        let fields: Vec<&str> = line.split('\t').collect();
        Some(Test {
            executable: fields.first()?.into(),
            directory: fields.get(1)?.into(),
            name: (*fields.get(2)?).to_owned(),
            duration: Duration::from_micros(fields.get(3)?.parse().ok()?),
            reaches: fields
                .get(4)?
                .split(' ')
                .map(str::parse)
                .collect::<Result<_, _>>()
                .ok()?,
        })
    };
    text.lines().map(parse).collect()
}

/// Returns the tests that reach each mutant, quickest first.
pub fn by_mutant(tests: &[Test]) -> BTreeMap<u32, Vec<&Test>> {
    let mut by_mutant: BTreeMap<u32, Vec<&Test>> = BTreeMap::new();
    for test in tests {
        for number in &test.reaches {
            by_mutant.entry(*number).or_default().push(test);
        }
    }
    for tests in by_mutant.values_mut() {
        tests.sort_by_key(|test| test.duration);
    }
    by_mutant
}
