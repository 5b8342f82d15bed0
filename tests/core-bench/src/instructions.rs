//! Instructions for each frame, counted by Valgrind: unlike times, the same on every run and on a busy machine. A baseline
//! is committed, so that a change that costs more than [`TOLERANCE`] is noticed before it is merged.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{bail, Context, Result};
use serde::{Deserialize, Serialize};

use crate::case::{Case, GUARDED};
use crate::pipeline::{Pipeline, BURST};

/// Maximum relative increase of a case over its baseline.
pub const TOLERANCE: f64 = 0.05;

/// Number of bursts of the shorter and of the longer run. Set-up costs the same in both, so it cancels in the difference.
const BURSTS: [usize; 2] = [100, 600];

/// Contents of the committed file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Baseline {
    /// The compiler according to `rustc --version`: others give other counts.
    pub compiler: String,
    /// Instructions for each frame, by case.
    pub instructions: BTreeMap<String, f64>,
}

/// One case compared with its baseline.
#[derive(Clone, Debug, PartialEq)]
pub struct Finding {
    /// The case's name.
    pub case: String,
    /// Instructions for each frame.
    pub counted: f64,
    /// Value in the baseline; `None` for a new case.
    pub baseline: Option<f64>,
}

impl Finding {
    /// Relative change from the baseline; negative if it costs less.
    pub fn change(&self) -> Option<f64> {
        self.baseline.map(|baseline| self.counted / baseline - 1.0)
    }

    /// Returns true if the count is within the tolerance, false without a baseline.
    pub fn holds(&self) -> bool {
        self.change().is_some_and(|change| change <= TOLERANCE)
    }
}

impl Baseline {
    /// Reads the committed file.
    ///
    /// # Errors
    ///
    /// It cannot be read or has other keys.
    pub fn load(path: &Path) -> Result<Self> {
        let text =
            std::fs::read_to_string(path).with_context(|| format!("reading {}", path.display()))?;
        toml::from_str(&text).with_context(|| format!("in {}", path.display()))
    }

    /// Writes it.
    ///
    /// # Errors
    ///
    /// The file cannot be written.
    pub fn store(&self, path: &Path) -> Result<()> {
        let text = format!(
            "# Instructions for each frame: receive, transmit, complete. Written by\n\
             # cargo xtask bench --instructions --accept\n{}",
            toml::to_string(self)?
        );
        std::fs::write(path, text).with_context(|| format!("writing {}", path.display()))
    }

    /// Checks that counts of a build by `compiler` can be compared with this baseline.
    ///
    /// # Errors
    ///
    /// It is of another compiler: a guard that passes without comparing would be useless.
    pub fn comparable_with(&self, compiler: &str) -> Result<()> {
        if self.compiler != compiler {
            bail!(
                "the baseline is of {}, this is {compiler}: other compilers give other counts; use the one of \
                 rust-toolchain.toml, or count a new baseline: cargo xtask bench --instructions --accept",
                self.compiler
            );
        }
        Ok(())
    }

    /// Compares every counted case with its baseline.
    pub fn compare(&self, counted: &BTreeMap<String, f64>) -> Vec<Finding> {
        let finding = |(case, counted): (&String, &f64)| Finding {
            case: case.clone(),
            counted: *counted,
            baseline: self.instructions.get(case).copied(),
        };
        counted.iter().map(finding).collect()
    }
}

/// Returns the path of the committed baseline.
pub fn baseline_path() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("instructions.toml")
}

/// Runs the given number of bursts of a case: the counted part.
pub fn run(case: Case, bursts: usize) {
    let mut pipeline = Pipeline::new(case);
    for _ in 0..bursts {
        pipeline.burst();
    }
}

/// Counts all guarded cases; `program` runs one. Calls `told` with each.
///
/// # Errors
///
/// Valgrind is missing or reports no count.
pub fn count_all(program: &Path, mut told: impl FnMut(&str, f64)) -> Result<BTreeMap<String, f64>> {
    let mut counted = BTreeMap::new();
    for (name, _) in GUARDED {
        let [short, long] = BURSTS.map(|bursts| count(program, name, bursts));
        let frames = (BURSTS[1] - BURSTS[0]) * BURST;
        let each = (long? - short?) as f64 / frames as f64;
        let each = (each * 10.0).round() / 10.0;
        told(name, each);
        counted.insert(name.to_owned(), each);
    }
    Ok(counted)
}

/// Returns the compiler for which the baseline is valid.
///
/// # Errors
///
/// It cannot be determined.
pub fn compiler() -> Result<String> {
    let output = Command::new("rustc")
        .arg("--version")
        .output()
        .context("starting rustc")?;
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

fn count(program: &Path, case: &str, bursts: usize) -> Result<u64> {
    let output = Command::new("valgrind")
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
        .arg(program)
        .args(["run", case, &bursts.to_string()])
        .output()
        .context("starting valgrind: install it (apt-get install valgrind)")?;
    let told = String::from_utf8_lossy(&output.stderr);
    if !output.status.success() {
        bail!("{case}: valgrind failed:\n{told}");
    }
    let collected = told
        .lines()
        .find_map(|line| line.split("Collected :").nth(1));
    let collected = collected.and_then(|count| count.trim().parse().ok());
    collected.with_context(|| format!("{case}: valgrind reports no count:\n{told}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn baseline() -> Baseline {
        Baseline {
            compiler: "rustc".into(),
            instructions: [("a".to_owned(), 100.0)].into(),
        }
    }

    #[test]
    fn five_percent_more_fails_and_less_does_not() {
        for (counted, holds) in [(80.0, true), (104.9, true), (105.1, false)] {
            let findings = baseline().compare(&[("a".to_owned(), counted)].into());
            assert_eq!(findings[0].holds(), holds, "{counted}");
        }
    }

    #[test]
    fn a_case_without_a_baseline_does_not_hold() {
        let findings = baseline().compare(&[("b".to_owned(), 1.0)].into());
        assert!(!findings[0].holds());
    }

    #[test]
    fn another_compiler_is_an_error() {
        assert!(baseline().comparable_with("rustc").is_ok());
        let error = baseline().comparable_with("rustc 2").unwrap_err();
        assert!(error.to_string().contains("rustc 2"), "{error}");
    }

    #[test]
    fn the_baseline_is_of_the_pinned_compiler() {
        let pin = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../rust-toolchain.toml");
        let pin: toml::Table = toml::from_str(&std::fs::read_to_string(pin).unwrap()).unwrap();
        let pinned = pin["toolchain"]["channel"].as_str().unwrap();
        let baseline = Baseline::load(&baseline_path()).unwrap();
        let release = baseline.compiler.split(' ').nth(1);
        assert_eq!(release, Some(pinned));
    }

    #[test]
    fn the_committed_baseline_has_every_case() {
        let baseline = Baseline::load(&baseline_path()).unwrap();
        let mut names: Vec<&str> = GUARDED.iter().map(|(name, _)| *name).collect();
        names.sort_unstable();
        assert!(baseline.instructions.keys().eq(names));
    }
}
