//! Checks on each NIC. They fail only when the run is interrupted; failed checks become [outcomes](Outcome).

mod disturbances;
mod doctor;
mod findings;
mod forwarding;
mod pauses;
mod restarts;
pub mod ring;
mod trial;

use std::borrow::Cow;
use std::cell::Cell;
use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};

use super::guest::Guest;
use super::interrupt;
use super::nic::Nic;
use super::switch::{Settings, Switch};
use super::tap::Tap;
use super::wire::end::End;
use super::wire::frame::{Fill, Series, Sizes, Tags};
use super::wire::run::{run, Judged, Pace};

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    Passed,
    /// Failed, for this reason.
    Failed(String),
    /// Not done, because this was missing.
    DidNotTakePlace(String),
}

impl Verdict {
    /// Returns the verdict on a completed check.
    pub fn of(result: Result<()>) -> Self {
        match result {
            Ok(()) => Self::Passed,
            Err(error) => Self::Failed(format!("{error:#}")),
        }
    }

    /// Returns the word for the summary.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Passed => "ok",
            Self::Failed(_) => "FAILED",
            Self::DidNotTakePlace(_) => "NOT DONE",
        }
    }

    /// Returns the reason if it did not pass.
    pub fn reason(&self) -> Option<&str> {
        match self {
            Self::Passed => None,
            Self::Failed(why) | Self::DidNotTakePlace(why) => Some(why),
        }
    }
}

#[derive(Clone, Debug)]
pub struct Outcome {
    /// Name of the NIC, or of another object.
    pub nic: Cow<'static, str>,
    /// Name of the check; a finding of issue 19 begins with its letter.
    pub name: String,
    /// Measured value of a passed check, if any.
    pub figure: Option<String>,
    pub verdict: Verdict,
    pub took: Duration,
}

impl Outcome {
    /// Returns the name, with the measured value if any.
    pub fn label(&self) -> Cow<'_, str> {
        match &self.figure {
            Some(figure) => format!("{}: {figure}", self.name).into(),
            None => self.name.as_str().into(),
        }
    }

    /// Prints the outcome.
    pub fn print(&self) {
        let (word, nic, name) = (self.verdict.word(), &self.nic, self.label());
        println!(
            "{word:<8}  {nic:<8} {name}  ({:.1} s)",
            self.took.as_secs_f64()
        );
        if let Some(why) = self.verdict.reason() {
            println!("          {}", why.replace('\n', "\n          "));
        }
    }
}

/// Name of the check of the kernel's log, after all others of its guest.
pub const NO_WARNING: &str = "no warning of the kernel";

/// Names of the checks to run.
#[derive(Clone, Debug, Default)]
pub struct Wanted(Option<BTreeSet<String>>);

impl Wanted {
    /// Returns true for a check to run.
    pub fn has(&self, name: &str) -> bool {
        self.0.is_none() || self.is_named(name)
    }

    fn is_named(&self, name: &str) -> bool {
        self.0.as_ref().is_some_and(|names| names.contains(name))
    }

    /// Selects the failed ones of `outcomes`; `None` if there is none.
    fn failed(outcomes: &[Outcome]) -> Option<Self> {
        let failed = outcomes
            .iter()
            .filter(|it| matches!(it.verdict, Verdict::Failed(_)));
        let names: BTreeSet<String> = failed.map(|it| it.name.clone()).collect();
        match names.contains(NO_WARNING) {
            // Any of the others may have caused it.
            true => Some(Self::default()),
            false => (!names.is_empty()).then_some(Self(Some(names))),
        }
    }
}

/// Boots a guest with `test` and runs its checks. With `repeat`, failed checks run once more in another guest: if the
/// machine stalls for a third of a second, pauses expire in a guest, but a real fault fails twice.
///
/// # Errors
///
/// Those of `test`.
pub fn repeating(
    repeat: bool,
    mut test: impl FnMut(&Wanted) -> Result<Vec<Outcome>>,
) -> Result<Vec<Outcome>> {
    let mut outcomes = test(&Wanted::default())?;
    let Some(wanted) = Wanted::failed(&outcomes).filter(|_| repeat) else {
        return Ok(outcomes);
    };
    println!("\nvm-test: the checks that FAILED, once more in another guest");
    for again in test(&wanted)? {
        match outcomes.iter_mut().find(|it| it.name == again.name) {
            None => outcomes.push(again),
            Some(before) if matches!(before.verdict, Verdict::Failed(_)) => *before = again,
            Some(_) => {}
        }
    }
    Ok(outcomes)
}

/// State shared by all checks of one NIC.
#[derive(Debug)]
pub struct Bench<'a> {
    pub nic: Nic,
    /// The guest with two of these NICs, `eth0` and `eth1`.
    pub guest: &'a Guest,
    /// The hosts connected to them.
    pub ends: Vec<End>,
    /// The host connected to `eth3` of virtio, which has several queues.
    pub tap: Option<&'a Tap>,
    series: Cell<u32>,
    wanted: &'a Wanted,
    /// True if all checks of the running switch are selected.
    whole_group: bool,
    outcomes: Vec<Outcome>,
}

impl<'a> Bench<'a> {
    pub fn new(
        nic: Nic,
        guest: &'a Guest,
        ends: Vec<End>,
        tap: Option<&'a Tap>,
        wanted: &'a Wanted,
    ) -> Self {
        Self {
            nic,
            guest,
            ends,
            tap,
            series: Cell::new(0),
            wanted,
            whole_group: false,
            outcomes: Vec::new(),
        }
    }

    fn wants(&self, name: &str) -> bool {
        self.whole_group || self.wanted.has(name)
    }

    /// Runs a check, if selected, and records the outcome.
    pub fn check(&mut self, name: &str, check: impl FnOnce(&Self) -> Result<()>) -> Result<()> {
        if !self.wants(name) {
            return Ok(());
        }
        let began = Instant::now();
        let verdict = Verdict::of(check(self));
        interrupt::check()?;
        self.note(name, verdict, began.elapsed());
        Ok(())
    }

    /// Records that a selected check could not be done.
    pub fn not_done(&mut self, name: &str, why: &str) {
        if !self.wants(name) {
            return;
        }
        self.note(
            name,
            Verdict::DidNotTakePlace(why.to_owned()),
            Duration::ZERO,
        );
    }

    fn note(&mut self, name: &str, verdict: Verdict, took: Duration) {
        let outcome = Outcome {
            nic: self.nic.name().into(),
            name: name.to_owned(),
            figure: None,
            verdict,
            took,
        };
        outcome.print();
        self.outcomes.push(outcome);
    }

    /// Starts the daemon with `settings` and runs `checks`. A start that fails, frames that do not add up at the end, and a
    /// daemon that does not end are failed checks.
    pub fn with_switch(
        &mut self,
        name: &str,
        settings: Settings,
        checks: impl FnOnce(&mut Self, &Switch<'a>) -> Result<()>,
    ) -> Result<()> {
        let began = Instant::now();
        self.ends.iter().for_each(End::clear);
        let started = Switch::start(self.guest, settings);
        interrupt::check()?;
        let switch = match started {
            Ok(switch) => switch,
            Err(error) => {
                self.note(name, Verdict::of(Err(error)), began.elapsed());
                return Ok(());
            }
        };
        if self.wanted.is_named(name) {
            self.note(name, Verdict::Passed, began.elapsed());
        }
        let accounted = format!("{name}: every frame accounted for");
        // The sum is over the frames of all checks, none of which ran if the start failed.
        self.whole_group = self.wanted.is_named(name) || self.wanted.is_named(&accounted);
        checks(self, &switch)?;
        // Never skipped, since it stops the switch.
        self.whole_group = true;
        let judged = self.check(&accounted, |_| {
            let audit = switch.audit();
            switch.stop()?;
            audit
        });
        self.whole_group = false;
        judged
    }

    /// Returns a series with a unique number, from the first host to the second.
    pub fn series(&self, count: u32, sizes: Sizes, tags: Tags, fill: Fill) -> Series {
        let id = self.series.get() + 1;
        self.series.set(id);
        Series {
            id,
            ports: [0, 1],
            count,
            sizes,
            tags,
            fill,
            flows: 0,
        }
    }

    /// Sends a series through the switch and judges the received frames.
    pub fn send(&self, series: &Series) -> Result<Judged> {
        run(&self.ends, series, Pace::USUAL)
    }

    /// Checks that frames of all kinds are forwarded in both directions.
    pub fn forwards(&self) -> Result<()> {
        const COUNT: u32 = 500;
        for ports in [[0, 1], [1, 0]] {
            let sizes = Sizes::Random(super::wire::frame::SHORTEST..=super::wire::frame::LONGEST);
            let mut series = self.series(COUNT, sizes, Tags::Random, Fill::Random);
            series.ports = ports;
            self.send(&series)?
                .is_perfect()
                .with_context(|| format!("from eth{} to eth{}", ports[0], ports[1]))?;
        }
        Ok(())
    }
}

/// Part of the checks of one NIC.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Part {
    /// Frames, pauses, overload, and disturbances of a device.
    Forwarding,
    /// Restarting and killing the daemon, and other settings.
    Restarts,
    /// Default settings.
    Shipped,
}

/// Runs all checks on one NIC, or only a part.
pub fn all(mut bench: Bench<'_>, only: Option<Part>) -> Result<Vec<Outcome>> {
    let is_wanted = |part| only.is_none_or(|only| only == part);
    if is_wanted(Part::Forwarding) {
        forwarding::check(&mut bench)?;
    }
    if is_wanted(Part::Restarts) {
        restarts::check(&mut bench)?;
    }
    if is_wanted(Part::Shipped) {
        findings::check(&mut bench)?;
        doctor::check(&mut bench)?;
        trial::check(&mut bench)?;
    }
    Ok(bench.outcomes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome(name: &str, passes: bool) -> Outcome {
        Outcome {
            nic: "igb".into(),
            name: name.to_owned(),
            figure: None,
            verdict: match passes {
                true => Verdict::Passed,
                false => Verdict::Failed("late".to_owned()),
            },
            took: Duration::ZERO,
        }
    }

    /// Runs the same checks for each of `tries`; returns the names that ran in each, and the words of the result.
    fn tried(repeat: bool, tries: &[&[(&str, bool)]]) -> (Vec<Vec<String>>, Vec<String>) {
        let mut ran = Vec::new();
        let outcomes = repeating(repeat, |wanted| {
            let of_try = tries[ran.len()].iter();
            let outcomes: Vec<Outcome> = of_try
                .filter(|(name, _)| wanted.has(name))
                .map(|(name, passes)| outcome(name, *passes))
                .collect();
            ran.push(outcomes.iter().map(|it| it.name.clone()).collect());
            Ok(outcomes)
        });
        let words = outcomes.unwrap().into_iter();
        let words = words.map(|it| format!("{} {}", it.name, it.verdict.word()));
        (ran, words.collect())
    }

    #[test]
    fn only_failed_checks_run_again_and_a_second_failure_counts() {
        let first = [("sizes", true), ("pauses", false), ("cable", false)];
        let second = [("sizes", false), ("pauses", true), ("cable", false)];
        let (ran, words) = tried(true, &[&first, &second]);
        assert_eq!(ran[1], ["pauses", "cable"]);
        assert_eq!(words, ["sizes ok", "pauses ok", "cable FAILED"]);
        let (ran, words) = tried(false, &[&first]);
        assert_eq!(ran.len(), 1);
        assert_eq!(words, ["sizes ok", "pauses FAILED", "cable FAILED"]);
    }

    #[test]
    fn nothing_runs_again_after_no_failure_and_all_after_a_warning_of_the_kernel() {
        let (ran, _) = tried(true, &[&[("sizes", true)]]);
        assert_eq!(ran.len(), 1);
        let first = [("sizes", true), (NO_WARNING, false)];
        let second = [("sizes", true), (NO_WARNING, true)];
        let (ran, words) = tried(true, &[&first, &second]);
        assert_eq!(ran[1], ["sizes", NO_WARNING]);
        assert_eq!(words, ["sizes ok", "no warning of the kernel ok"]);
    }

    #[test]
    fn what_ran_only_the_second_time_is_an_outcome() {
        let again = |wanted: &Wanted| match wanted.is_named("start") {
            false => vec![outcome("start", false)],
            true => vec![outcome("start", true), outcome("sizes", true)],
        };
        let outcomes = repeating(true, |wanted| Ok(again(wanted))).unwrap();
        let passed = outcomes.iter().filter(|it| it.verdict == Verdict::Passed);
        assert_eq!(passed.count(), 2);
    }
}
