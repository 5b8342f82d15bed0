//! Clock and CPU time of the tests, by package, as a table for the book: which tests compute, and which wait.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt::Write as _;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::{Duration, Instant};

use anyhow::{bail, Context, Result};
use nix::sys::resource::{getrusage, UsageWho};
use nix::sys::time::TimeValLike;
use serde::{Deserialize, Serialize};

/// Environment variable with the file to which [`one`] appends.
const LOG: &str = "WEIR_TEST_TIMES";
/// Set by cargo-nextest for each test.
const PACKAGE: &str = "CARGO_PKG_NAME";
/// Set by cargo-nextest for each test: 1, or 2 if it failed before.
const ATTEMPT: &str = "NEXTEST_ATTEMPT";
const LONGEST: usize = 12;
/// Begins the line of a test that failed; `.ci/run` looks for it.
const REPEATED: &str = "Failed at first: ";

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Test {
    package: String,
    name: String,
    clock_s: f64,
    /// CPU time of the test and of all child processes that it has waited for.
    processor_s: f64,
    attempt: u32,
}

/// Times of a build and of the tests that follow.
#[derive(Debug)]
pub struct Times {
    log: PathBuf,
    began: Instant,
    build: Option<(Duration, f64)>,
    /// CPU ticks of the machine at the start of the tests.
    before: Option<Ticks>,
}

/// CPU ticks of the machine since boot.
#[derive(Clone, Copy, Debug)]
struct Ticks {
    idle: u64,
    /// Given to others by the hypervisor.
    stolen: u64,
    all: u64,
}

impl Ticks {
    /// Parses the first line of `/proc/stat`: user, nice, system, idle, waiting for devices, interrupts, stolen.
    fn of(stat: &str) -> Option<Self> {
        const COUNTED: usize = 8;
        let line = stat.lines().next()?.strip_prefix("cpu ")?;
        let ticks = line.split_whitespace().take(COUNTED).map(str::parse);
        let ticks: Vec<u64> = ticks.collect::<Result<_, _>>().ok()?;
        Some(Self {
            idle: ticks.get(3)? + ticks.get(4)?,
            stolen: *ticks.get(7)?,
            all: ticks.iter().sum(),
        })
    }

    fn now() -> Option<Self> {
        Self::of(&fs::read_to_string("/proc/stat").ok()?)
    }

    /// Returns the percentages of CPU time since `before` that were idle and stolen.
    fn percent_since(self, before: Self) -> [f64; 2] {
        let all = self.all.saturating_sub(before.all).max(1);
        let percent =
            |now: u64, before: u64| 100.0 * now.saturating_sub(before) as f64 / all as f64;
        [
            percent(self.idle, before.idle),
            percent(self.stolen, before.stolen),
        ]
    }
}

impl Times {
    /// Starts timing the build. `table` is the file for [`Times::write`]; the log of single tests is written next to it.
    ///
    /// # Errors
    ///
    /// When the log cannot be written.
    pub fn begin(table: &Path) -> Result<Self> {
        // Tests run in the directories of their packages.
        let log = std::path::absolute(table)?.with_extension("jsonl");
        fs::write(&log, "").with_context(|| log.display().to_string())?;
        Ok(Self {
            log,
            began: Instant::now(),
            build: None,
            before: None,
        })
    }

    /// Records the end of the build.
    pub fn built(&mut self) {
        self.build = Some((self.began.elapsed(), processor_s()));
        self.before = Ticks::now();
    }

    /// Makes `nextest` run each test through this program.
    pub fn measure(&self, nextest: &mut Command) -> Result<()> {
        let output = Command::new("rustc").arg("-vV").output().context("rustc")?;
        let version = String::from_utf8(output.stdout)?;
        let host = version.lines().find_map(|line| line.strip_prefix("host: "));
        let host = host.context("rustc -vV names no host")?;
        let key = host.replace('-', "_").to_uppercase();
        // The file may be gone: the previous build replaces this program if its features differ.
        let runner = format!("/proc/{}/exe time-test", std::process::id());
        nextest.env(format!("CARGO_TARGET_{key}_RUNNER"), runner);
        nextest.env(LOG, &self.log);
        Ok(())
    }

    /// Writes the table to `file`.
    ///
    /// # Errors
    ///
    /// When a file cannot be read or written.
    pub fn write(&self, file: &Path) -> Result<()> {
        let all = self.began.elapsed();
        let tests = fs::read_to_string(&self.log)?
            .lines()
            .map(serde_json::from_str)
            .collect::<Result<Vec<Test>, _>>()?;
        let ticks = Ticks::now().zip(self.before);
        let ticks = ticks.map(|(now, before)| now.percent_since(before));
        let text = table(&tests, self.build, all, ticks)?;
        fs::write(file, text).with_context(|| file.display().to_string())
    }
}

/// Returns the CPU seconds of all child processes that this one has waited for.
fn processor_s() -> f64 {
    getrusage(UsageWho::RUSAGE_CHILDREN).map_or(0.0, |usage| {
        let microseconds =
            usage.user_time().num_microseconds() + usage.system_time().num_microseconds();
        microseconds as f64 / 1e6
    })
}

fn table(
    tests: &[Test],
    build: Option<(Duration, f64)>,
    all: Duration,
    idle_and_stolen_percent: Option<[f64; 2]>,
) -> Result<String> {
    let mut text = String::from(
        "| part | tests | clock, s | processors, s | waiting, s |\n|---|---|---|---|---|\n",
    );
    if let Some((clock, processors)) = build {
        let clock = clock.as_secs_f64();
        writeln!(text, "| build | – | {clock:.0} | {processors:.0} | – |")?;
    }
    let mut packages: BTreeMap<&str, (usize, f64, f64)> = BTreeMap::new();
    for test in tests {
        let sum = packages.entry(&test.package).or_default();
        sum.0 += 1;
        sum.1 += test.clock_s;
        sum.2 += test.processor_s;
    }
    for (package, (count, clock, processors)) in packages {
        let waiting = (clock - processors).max(0.0);
        writeln!(
            text,
            "| {package} | {count} | {clock:.0} | {processors:.0} | {waiting:.0} |"
        )?;
    }
    writeln!(
        text,
        "\nTests run side by side; everything took {:.0} s.",
        all.as_secs_f64()
    )?;
    if let Some([idle, stolen]) = idle_and_stolen_percent {
        writeln!(
            text,
            "The machine's processors were idle for {idle:.0} % of the tests' time; a hypervisor gave {stolen:.1} % to others."
        )?;
    }
    for test in tests.iter().filter(|test| test.attempt > 1) {
        writeln!(text, "{REPEATED}{} `{}`", test.package, test.name)?;
    }
    text += "\nThe tests that took longest:\n\n";
    text += "| test | clock, s | processors, s |\n|---|---|---|\n";
    let mut longest: Vec<&Test> = tests.iter().collect();
    longest.sort_by(|a, b| b.clock_s.total_cmp(&a.clock_s));
    for test in longest.into_iter().take(LONGEST) {
        let Test {
            package,
            name,
            clock_s,
            processor_s,
            ..
        } = test;
        writeln!(
            text,
            "| {package} `{name}` | {clock_s:.0} | {processor_s:.0} |"
        )?;
    }
    Ok(text)
}

/// Runs one test for cargo-nextest, and appends its times to the log.
pub fn one(command: &[OsString]) -> Result<ExitCode> {
    let [program, arguments @ ..] = command else {
        bail!("there is no program to run");
    };
    // Nextest ends a test with signals to its process group. The test cleans up after SIGTERM, and this process waits for
    // it. An existing handler waits as well.
    let _ = ctrlc::set_handler(|| ());
    let began = Instant::now();
    let status = Command::new(program).args(arguments).status()?;
    let clock_s = began.elapsed().as_secs_f64();
    // Nextest first asks each executable for its tests.
    let is_test = arguments.iter().any(|argument| argument == "--exact");
    if let (true, Some(log)) = (is_test, std::env::var_os(LOG)) {
        let name = arguments.iter().filter_map(|it| it.to_str());
        let test = Test {
            package: std::env::var(PACKAGE).unwrap_or_default(),
            name: name
                .filter(|it| !it.starts_with('-'))
                .collect::<Vec<_>>()
                .join(" "),
            clock_s,
            processor_s: processor_s(),
            attempt: std::env::var(ATTEMPT).map_or(1, |attempt| attempt.parse().unwrap_or(1)),
        };
        let line = serde_json::to_string(&test)? + "\n";
        let mut log = fs::OpenOptions::new().append(true).open(log)?;
        log.write_all(line.as_bytes())?;
    }
    let code = status.code().and_then(|code| u8::try_from(code).ok());
    Ok(ExitCode::from(code.unwrap_or(1)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn test(package: &str, name: &str, clock_s: f64, processor_s: f64) -> Test {
        Test {
            package: package.into(),
            name: name.into(),
            clock_s,
            processor_s,
            attempt: 1,
        }
    }

    #[test]
    fn packages_are_added_up_and_the_longest_tests_come_first() {
        let tests = [
            test("a", "short", 1.0, 1.0),
            test("b", "long", 9.0, 2.0),
            test("a", "waits", 3.0, 0.5),
        ];
        let build = Some((Duration::from_secs(60), 100.0));
        let text = table(&tests, build, Duration::from_secs(70), Some([40.0, 2.5])).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[2], "| build | – | 60 | 100 | – |");
        assert_eq!(lines[3], "| a | 2 | 4 | 2 | 2 |");
        assert_eq!(lines[4], "| b | 1 | 9 | 2 | 7 |");
        assert!(text.contains("took 70 s"), "{text}");
        assert!(text.contains("idle for 40 %"), "{text}");
        assert!(text.contains("gave 2.5 % to others"), "{text}");
        assert!(!text.contains(REPEATED), "{text}");
        let place = |name: &str| text.find(name).unwrap();
        assert!(place("`long`") < place("`waits`") && place("`waits`") < place("`short`"));
    }

    #[test]
    fn a_test_that_failed_at_first_is_named() {
        let again = Test {
            attempt: 2,
            ..test("a", "again", 1.0, 1.0)
        };
        let tests = [test("a", "again", 1.0, 1.0), again];
        let text = table(&tests, None, Duration::from_secs(2), None).unwrap();
        let named = text.lines().filter(|line| line.starts_with(REPEATED));
        assert_eq!(named.collect::<Vec<_>>(), ["Failed at first: a `again`"]);
    }

    #[test]
    fn idle_time_is_that_of_all_processors() {
        let [before, now] = [
            "cpu  10 0 5 80 5 0 0 0 9 9",
            "cpu  30 0 15 120 15 0 0 20 9 9",
        ]
        .map(|line| Ticks::of(&format!("{line}\ncpu0 1 2 3\n")).unwrap());
        let [idle, stolen] = now.percent_since(before);
        assert!((idle - 50.0).abs() < 1e-9 && (stolen - 20.0).abs() < 1e-9);
        assert!(Ticks::of("cpu0 1 2 3 4").is_none());
    }

    #[test]
    fn the_time_of_a_process_that_computes_is_counted_and_its_status_kept() {
        let program = [
            "sh",
            "-c",
            "i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done; exit 7",
        ];
        let status = one(&program.map(OsString::from)).unwrap();
        assert_eq!(status, ExitCode::from(7));
        assert!(processor_s() > 0.0);
    }
}
