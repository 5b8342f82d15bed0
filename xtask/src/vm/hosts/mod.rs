//! Hosts that obey pauses: `weir-host` on the guest's kernel, which supports queueing disciplines in BPF.

mod checks;
mod churn;
mod networks;
mod plug;
mod priorities;
mod push_back;
mod rate;
mod rdma_class;
pub mod storage;
mod strangers;

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use anyhow::{ensure, Context as _, Result};

use super::checks::{Outcome, Verdict, Wanted, NO_WARNING};
use super::guest::Guest;
use super::interrupt;
pub use networks::SCENARIOS;

/// Script with the steps of the checks.
pub const NETWORK: &str = include_str!("network.sh");
/// Name in the summary in place of a NIC.
const PLACE: &str = "host";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// Hosts at the two ends of a cable.
    Hosts,
    /// Switches between hosts.
    Networks,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Length {
    /// For CI.
    Short,
    /// Four minutes of pauses, attaching a thousand times; TCP for a minute.
    Long,
}

impl Length {
    fn pick<T>(self, short: T, long: T) -> T {
        match self {
            Self::Short => short,
            Self::Long => long,
        }
    }
}

#[derive(Debug)]
struct Hosts<'a> {
    guest: &'a Guest,
    /// A second guest, connected by a cable to the first.
    peer: Option<&'a Guest>,
    length: Length,
    wanted: &'a Wanted,
    outcomes: Vec<Outcome>,
}

/// Runs all selected checks. Fails only when the run is interrupted.
pub fn check(guest: &Guest, part: Part, length: Length, wanted: &Wanted) -> Result<Vec<Outcome>> {
    let mut hosts = Hosts {
        guest,
        peer: None,
        length,
        wanted,
        outcomes: Vec::new(),
    };
    match part {
        Part::Hosts => {
            hosts.check(
                "without BPF: pauses obeyed by prio and plug, nothing lost or left",
                plug::check,
            )?;
            hosts.check(
                "without BPF: priorities by UDP port, DSCP and VLAN tag",
                priorities::check,
            )?;
            hosts.check(
                "pauses with a tag: obeyed by neither attach nor plug",
                strangers::check,
            )?;
            hosts.check(
                "a bounded rate: no more is sent, pauses are obeyed",
                rate::check,
            )?;
            hosts.check(
                "attached, detached and killed again and again",
                churn::check,
            )?;
            hosts.check(
                "a neighbour's pauses: nothing lost, the other priority goes on",
                checks::pauses,
            )?;
            hosts.check("measured with TCP", checks::measured_with_tcp)?;
            hosts.check(
                "an application stands still: its datagrams wait at the sender",
                push_back::check,
            )?;
        }
        Part::Networks => {
            hosts.with_rdma(
                "RDMA: whose frames have the priority that is asked for",
                rdma_class::check,
            )?;
            hosts.with_rdma(
                "RDMA, eight into one port: nothing dropped or sent again",
                networks::rdma_incast,
            )?;
            hosts.check(
                "TCP, eight into one port: nothing dropped or sent again",
                networks::tcp_incast,
            )?;
            hosts.check(
                "TCP, eight into one port through a leaf-spine: nothing dropped",
                networks::tcp_leaf_spine,
            )?;
            hosts.with_rdma(
                "RDMA, a ring of four: locks under plain PFC, loses nothing by either way out",
                networks::rdma_ring,
            )?;
        }
    }
    hosts.check(NO_WARNING, churn::no_warning)?;
    Ok(hosts.outcomes)
}

impl Hosts<'_> {
    /// Runs one check, if selected; prints its output below its name.
    fn check(&mut self, name: &str, check: fn(&Self) -> Result<String>) -> Result<()> {
        if !self.wanted.has(name) {
            return Ok(());
        }
        let began = Instant::now();
        let result = check(self);
        interrupt::check()?;
        let said = result.as_ref().map(String::clone).unwrap_or_default();
        let outcome = Outcome {
            nic: PLACE.into(),
            name: name.to_owned(),
            figure: None,
            verdict: Verdict::of(result.map(|_| ())),
            took: began.elapsed(),
        };
        outcome.print();
        for line in said.lines() {
            println!("          {line}");
        }
        self.outcomes.push(outcome);
        Ok(())
    }

    fn with_rdma(&mut self, name: &str, check: fn(&Self) -> Result<String>) -> Result<()> {
        if !self.wanted.has(name) {
            return Ok(());
        }
        let loaded = self.guest.sh("test -d /sys/module/rdma_rxe");
        if loaded.is_ok_and(|said| said.status == 0) {
            return self.check(name, check);
        }
        let why =
            "the guest's kernel has no module rdma_rxe, or does not load it (see the console)";
        let outcome = Outcome {
            nic: PLACE.into(),
            name: name.to_owned(),
            figure: None,
            verdict: Verdict::DidNotTakePlace(why.to_owned()),
            took: Duration::ZERO,
        };
        outcome.print();
        self.outcomes.push(outcome);
        Ok(())
    }

    /// Runs steps of the script; returns their output.
    fn steps(&self, seconds: u64, steps: &str) -> Result<String> {
        steps_in(self.guest, seconds, steps)
    }

    /// Runs steps in the second guest; returns their output.
    fn peer_steps(&self, seconds: u64, steps: &str) -> Result<String> {
        steps_in(
            self.peer.context("there is no second guest")?,
            seconds,
            steps,
        )
    }

    /// Runs steps that remove a network, also after a failed check. Missing objects are no error.
    fn clean_up(&self, step: &str) {
        let script = format!(". /etc/hosts.sh\n{step} > /dev/null 2>&1");
        if let Err(error) = self.guest.sh(&script) {
            eprintln!("vm-test: {step}: {error:#}");
        }
    }
}

fn steps_in(guest: &Guest, seconds: u64, steps: &str) -> Result<String> {
    let script = format!(". /etc/hosts.sh\nset -e\n{steps}\n");
    let said = guest.sh_within(Duration::from_secs(seconds), &script)?;
    ensure!(said.status == 0, "({}) {}", said.status, said.text.trim());
    Ok(said.text)
}

fn line(text: &mut String, words: std::fmt::Arguments<'_>) {
    let _ = writeln!(text, "{words}");
}
