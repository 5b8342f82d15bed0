//! Results of a run, as text and as JSON.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result};
use serde_json::json;

use super::checks::{Outcome, Verdict};

#[derive(Debug)]
pub struct Summary {
    pub emulator: String,
    pub kernel: String,
    /// All checks, in order.
    pub outcomes: Vec<Outcome>,
    /// Time from the first boot to the last check.
    pub took: Duration,
}

impl Summary {
    /// Returns true if a check ended with a `wanted` verdict.
    pub fn has(&self, wanted: impl Fn(&Verdict) -> bool) -> bool {
        self.outcomes.iter().any(|outcome| wanted(&outcome.verdict))
    }

    /// Prints the table.
    pub fn print(&self) {
        println!(
            "\nvm-test: Linux {} in QEMU {} (TCG: rates mean nothing), {:.0} s",
            self.kernel,
            self.emulator,
            self.took.as_secs_f64()
        );
        let mut by_nic: BTreeMap<&str, Vec<&Outcome>> = BTreeMap::new();
        for outcome in &self.outcomes {
            by_nic.entry(&*outcome.nic).or_default().push(outcome);
        }
        println!("NIC       passed  failed  not done  seconds");
        for (nic, outcomes) in &by_nic {
            let count = |word: &str| {
                let ended = outcomes.iter().filter(|one| one.verdict.word() == word);
                ended.count()
            };
            let [passed, failed, not_done] = ["ok", "FAILED", "NOT DONE"].map(count);
            let took: Duration = outcomes.iter().map(|one| one.took).sum();
            println!(
                "{:<8}  {passed:>6}  {failed:>6}  {not_done:>8}  {:>7.0}",
                nic,
                took.as_secs_f64()
            );
        }
        for outcome in &self.outcomes {
            if outcome.verdict != Verdict::Passed {
                let word = outcome.verdict.word();
                println!("{word:<8}  {:<8} {}", outcome.nic, outcome.label());
            }
        }
    }

    /// Writes all outcomes as JSON.
    ///
    /// # Errors
    ///
    /// When the file cannot be written.
    pub fn write(&self, file: &Path) -> Result<()> {
        let checks: Vec<_> = self
            .outcomes
            .iter()
            .map(|outcome| {
                json!({
                    "nic": outcome.nic,
                    "name": outcome.label(),
                    "outcome": outcome.verdict.word(),
                    "why": outcome.verdict.reason(),
                    "seconds": outcome.took.as_secs_f64(),
                })
            })
            .collect();
        let all = json!({
            "emulator": self.emulator,
            "kernel": self.kernel,
            "seconds": self.took.as_secs_f64(),
            "checks": checks,
        });
        let text = serde_json::to_string_pretty(&all)? + "\n";
        std::fs::write(file, text).with_context(|| file.display().to_string())
    }
}
