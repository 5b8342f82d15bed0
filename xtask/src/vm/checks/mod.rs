//! Checks on each NIC.

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

/// Result of a check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// All is as it should be.
    Passed,
    /// It is not: why.
    Failed(String),
    /// Nobody knows: what was missing.
    DidNotTakePlace(String),
}

impl Verdict {
    /// Of a check that took place.
    pub fn of(result: Result<()>) -> Self {
        match result {
            Ok(()) => Self::Passed,
            Err(error) => Self::Failed(format!("{error:#}")),
        }
    }

    /// For the summary.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Passed => "ok",
            Self::Failed(_) => "FAILED",
            Self::DidNotTakePlace(_) => "NOT DONE",
        }
    }

    /// Why it is not passed.
    pub fn reason(&self) -> Option<&str> {
        match self {
            Self::Passed => None,
            Self::Failed(why) | Self::DidNotTakePlace(why) => Some(why),
        }
    }
}

/// One check.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The NIC's name, or what else was checked.
    pub nic: Cow<'static, str>,
    /// Name of the check; a finding of issue 19 begins with its letter.
    pub name: String,
    /// Result.
    pub verdict: Verdict,
    /// Duration.
    pub took: Duration,
}

impl Outcome {
    /// Prints it, as checks end.
    pub fn print(&self) {
        let (word, nic, name) = (self.verdict.word(), &self.nic, &self.name);
        println!(
            "{word:<8}  {nic:<8} {name}  ({:.1} s)",
            self.took.as_secs_f64()
        );
        if let Some(why) = self.verdict.reason() {
            println!("          {}", why.replace('\n', "\n          "));
        }
    }
}

/// All that the checks of one NIC share.
#[derive(Debug)]
pub struct Bench<'a> {
    /// The NIC.
    pub nic: Nic,
    /// The guest with two of them, `eth0` and `eth1`.
    pub guest: &'a Guest,
    /// The hosts at them.
    pub ends: Vec<End>,
    /// The host at `eth3` of virtio, which has several queues.
    pub tap: Option<&'a Tap>,
    series: Cell<u32>,
    outcomes: Vec<Outcome>,
}

impl<'a> Bench<'a> {
    /// Nothing is checked yet.
    pub fn new(nic: Nic, guest: &'a Guest, ends: Vec<End>, tap: Option<&'a Tap>) -> Self {
        Self {
            nic,
            guest,
            ends,
            tap,
            series: Cell::new(0),
            outcomes: Vec::new(),
        }
    }

    /// Checks one thing and notes the outcome.
    ///
    /// # Errors
    ///
    /// Only when the run is interrupted.
    pub fn check(&mut self, name: &str, check: impl FnOnce(&Self) -> Result<()>) -> Result<()> {
        let began = Instant::now();
        let verdict = Verdict::of(check(self));
        interrupt::check()?;
        self.note(name, verdict, began.elapsed());
        Ok(())
    }

    /// Notes that a check could not be done.
    pub fn not_done(&mut self, name: &str, why: &str) {
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
            verdict,
            took,
        };
        outcome.print();
        self.outcomes.push(outcome);
    }

    /// Starts the daemon with `settings` and has `checks` use it. A start that fails, frames that do not add up at the end,
    /// and a daemon that does not end are failed checks.
    ///
    /// # Errors
    ///
    /// Only when the run is interrupted.
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
        checks(self, &switch)?;
        self.check(&format!("{name}: every frame accounted for"), |_| {
            let audit = switch.audit();
            switch.stop()?;
            audit
        })
    }

    /// A series with a number of its own, from the first host to the second.
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

    /// Sends a series through the switch and judges what arrives.
    ///
    /// # Errors
    ///
    /// When the NIC takes no frames.
    pub fn send(&self, series: &Series) -> Result<Judged> {
        run(&self.ends, series, Pace::USUAL)
    }

    /// `Ok` if frames of all kinds go through, in both directions.
    ///
    /// # Errors
    ///
    /// What is wrong.
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

/// A part of what is checked on one NIC.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Part {
    /// Frames, pauses, overload, and what is done to a device meanwhile.
    Forwarding,
    /// The daemon is restarted, killed, and runs with other settings.
    Restarts,
    /// What an operator meets who leaves the settings as they are.
    Shipped,
}

/// Checks everything on one NIC, or only a part.
///
/// # Errors
///
/// Only when the run is interrupted.
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
