//! Checks on each kernel, and their expected results.

use std::time::Duration;

use anyhow::{ensure, Context, Result};
use weir_config::kernels::{
    Release, BPF_QDISC, FULL_VETH, LONG_FRAMES, XDP_FEATURES, ZERO_COPY_OF_IGB_AND_VIRTIO,
};

use crate::vm::checks::NO_WARNING;
use crate::vm::guest::Guest;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// Every program loads, the shipped configuration forwards and pauses, the unit starts, and a dataplane thread is confined: for CI.
    Loading,
    /// Everything but the book's ten minutes.
    All,
    /// The book's ten minutes.
    TenMinutes,
}

#[derive(Debug)]
pub struct Case<'a> {
    guest: &'a Guest,
    release: Release,
    /// True if the distribution configures queueing disciplines in BPF.
    has_bpf_qdisc: bool,
}

/// One row of the matrix.
pub struct Check {
    /// Name in the table.
    pub name: &'static str,
    extent: Extent,
    run: fn(&Case<'_>) -> Result<String>,
}

const fn check(name: &'static str, extent: Extent, run: fn(&Case<'_>) -> Result<String>) -> Check {
    Check { name, extent, run }
}

const CHECKS: [Check; 18] = [
    check("XDP programs load", Extent::Loading, |case| {
        case.step("loads")
    }),
    check("the benchmark's programs load", Extent::Loading, |case| {
        case.step("loads_for_bench")
    }),
    check("`weir-host attach`", Extent::Loading, |case| {
        let takes = case.release >= BPF_QDISC.since && case.has_bpf_qdisc;
        case.step(if takes { "attaches" } else { "attach_refused" })
    }),
    check(
        "unit: start, forward, reload, restart, kill -9",
        Extent::Loading,
        |case| case.step("unit"),
    ),
    check("pauses, with `weir-host plug`", Extent::Loading, |case| {
        case.step("pauses")
    }),
    check("a compromised thread", Extent::Loading, |case| {
        case.step("confined")
    }),
    check("compilers", Extent::Loading, |case| {
        case.step("loads_of_compilers")
    }),
    check("restart", Extent::All, |case| case.step("restarts")),
    check("kill -9 and take-over", Extent::All, |case| {
        case.step("killed")
    }),
    check("capture, audit, metrics", Extent::All, |case| {
        case.step("captures")
    }),
    check("jumbo frames on veth", Extent::All, |case| {
        let takes = case.release >= LONG_FRAMES.since;
        case.step(if takes { "jumbo" } else { "jumbo_refused" })
    }),
    check("zero-copy of virtio_net", Extent::All, |case| {
        case.step(&format!(
            "zero_copy {}",
            case.release >= ZERO_COPY_OF_IGB_AND_VIRTIO.since
        ))
    }),
    check("express path", Extent::All, |case| {
        let word = |since: Release, without| {
            if case.release >= since {
                "open"
            } else {
                without
            }
        };
        let lossy = word(XDP_FEATURES.since, "no_features");
        let lossless = if lossy == "open" {
            word(FULL_VETH.since, "room")
        } else {
            lossy
        };
        case.step(&format!("express {lossy} {lossless}"))
    }),
    check("ring of four, plain PFC", Extent::All, |case| {
        case.ring("off", ".deadlocked")
    }),
    check("ring of four, Deadlock Breaker", Extent::All, |case| {
        case.ring(
            "breaker",
            "(.deadlocked | not) and .releases > 0 and .drops == {}",
        )
    }),
    check("ring of four, Levels", Extent::All, |case| {
        case.ring(
            "level",
            "(.deadlocked | not) and .suspected_peak == 0 and .drops == {}",
        )
    }),
    check("the book's ten minutes", Extent::TenMinutes, |case| {
        case.step_within(Duration::from_secs(1500), "ten_minutes")
    }),
    check(NO_WARNING, Extent::Loading, |case| case.step("no_warning")),
];

pub fn rows(extent: Extent, with_compilers: bool) -> impl Iterator<Item = &'static Check> {
    CHECKS.iter().filter(move |check| {
        let is_in = match extent {
            Extent::All => check.extent != Extent::TenMinutes,
            _ => check.extent == extent,
        };
        is_in && (with_compilers || check.name != "compilers")
    })
}

impl Check {
    /// Runs the check; returns the value of its cell.
    pub fn run(&self, case: &Case<'_>) -> Result<String> {
        (self.run)(case)
    }
}

impl<'a> Case<'a> {
    /// Queries the guest's kernel.
    pub fn new(guest: &'a Guest) -> Result<(Self, String)> {
        let text = guest.must("uname -r")?;
        let text = text.trim().to_owned();
        let release = Release::parse(&text).with_context(|| format!("release {text:?}"))?;
        let kinds = guest.sh("cat /sys/kernel/btf/vmlinux | strings -n 9 2>/dev/null | grep -c bpf_qdisc_skb_drop; grep -c bpf_qdisc_skb_drop /proc/kallsyms")?;
        let has_bpf_qdisc = kinds
            .text
            .lines()
            .any(|line| line.trim().parse::<u32>().is_ok_and(|count| count > 0));
        let case = Self {
            guest,
            release,
            has_bpf_qdisc,
        };
        Ok((case, text))
    }

    fn ring(&self, policy: &str, expected: &str) -> Result<String> {
        let step = format!("ring {policy} '{expected}'");
        self.step_within(Duration::from_secs(600), &step)
    }

    fn step(&self, step: &str) -> Result<String> {
        self.step_within(Duration::from_secs(180), step)
    }

    /// Runs a step of the script; returns the last line of its output.
    fn step_within(&self, limit: Duration, step: &str) -> Result<String> {
        let script = format!(". /share/steps.sh\n{step}\n");
        let said = self.guest.sh_within(limit, &script)?;
        let text = said.text.trim();
        ensure!(said.status == 0, "({}) {text}", said.status);
        Ok(text.lines().last().unwrap_or_default().to_owned())
    }
}
