//! Systems to measure, behind one trait.

mod bare;
mod bridge;
mod ovs;
mod weir;

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use anyhow::{bail, Context, Result};
use weir_lab::lab::interrupt::wait_for;
use weir_lab::lab::process::inside;

use self::weir::dataplane::{DEFAULT, DEFERRED, EXPRESS, POLLING};
use crate::cpu::Cpus;
use crate::stage::Site;

/// Priority of probes; Weir's ports assign it to all frames.
pub const PRIORITY: u8 = 3;

/// Time limit for a system's start, answers and end.
const LIMIT: Duration = Duration::from_secs(20);

/// A system that can be measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, clap::ValueEnum)]
pub enum System {
    /// The bare forwarder: one thread, two sockets, no inspection.
    Bare,
    /// Weir with a lossy class.
    WeirLossy,
    /// The same with the express path.
    WeirExpress,
    /// Weir with a class of mode pfc.
    WeirPfc,
    /// The same with the express path.
    WeirPfcExpress,
    /// Weir with a class of mode pfc and a thread that never sleeps, like Open vSwitch's.
    WeirPfcPolling,
    /// The express path with devices that defer interrupts (`napi-defer`).
    WeirExpressDeferred,
    /// Weir with a class of mode pfc and such devices.
    WeirPfcDeferred,
    /// Weir with a class of mode level.
    WeirLevel,
    /// Open vSwitch with ports of type afxdp.
    Ovs,
    /// The kernel's bridge.
    Bridge,
}

impl System {
    /// All, the reference first.
    pub const ALL: [Self; 11] = [
        Self::Bare,
        Self::WeirLossy,
        Self::WeirExpress,
        Self::WeirPfc,
        Self::WeirPfcExpress,
        Self::WeirPfcPolling,
        Self::WeirExpressDeferred,
        Self::WeirPfcDeferred,
        Self::WeirLevel,
        Self::Ovs,
        Self::Bridge,
    ];

    /// Name in JSON and tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Bare => "bare",
            Self::WeirLossy => "weir-lossy",
            Self::WeirExpress => "weir-express",
            Self::WeirPfc => "weir-pfc",
            Self::WeirPfcExpress => "weir-pfc-express",
            Self::WeirPfcPolling => "weir-pfc-polling",
            Self::WeirExpressDeferred => "weir-express-deferred",
            Self::WeirPfcDeferred => "weir-pfc-deferred",
            Self::WeirLevel => "weir-level",
            Self::Ovs => "ovs",
            Self::Bridge => "bridge",
        }
    }

    /// Checks in advance that it can be measured here.
    ///
    /// # Errors
    ///
    /// The remedy.
    pub fn check(self) -> Result<()> {
        match self {
            Self::Ovs => ovs::check(),
            _ => Ok(()),
        }
    }

    /// Places it between the hosts, and waits until it forwards.
    ///
    /// # Errors
    ///
    /// It is not installed or does not start.
    pub fn start(self, site: &Site, cpus: Cpus) -> Result<Box<dyn Switch>> {
        let weir = |class: &str, dataplane: &str| {
            weir::Weir::start(site, cpus, class, dataplane)
                .map(|weir| Box::new(weir) as Box<dyn Switch>)
        };
        let started: Result<Box<dyn Switch>> = match self {
            Self::Bare => bare::Bare::start(site, cpus).map(|it| Box::new(it) as _),
            Self::WeirLossy => weir(weir::LOSSY, DEFAULT),
            Self::WeirExpress => weir(weir::LOSSY, EXPRESS),
            Self::WeirPfc => weir(weir::PFC, DEFAULT),
            Self::WeirPfcExpress => weir(&[weir::PFC, weir::EXPRESS].concat(), EXPRESS),
            Self::WeirPfcPolling => weir(weir::PFC, POLLING),
            Self::WeirExpressDeferred => weir(weir::LOSSY, &[EXPRESS, DEFERRED].concat()),
            Self::WeirPfcDeferred => weir(weir::PFC, DEFERRED),
            Self::WeirLevel => weir(weir::LEVEL, DEFAULT),
            Self::Ovs => ovs::Ovs::start(site, cpus).map(|it| Box::new(it) as _),
            Self::Bridge => bridge::Bridge::start(site).map(|it| Box::new(it) as _),
        };
        started.with_context(|| format!("starting {}", self.name()))
    }
}

/// A switch between the two ports of a [`Site`]. Its processes are killed on drop.
pub trait Switch {
    /// Processes of its threads; none if softirqs forward.
    fn processes(&self) -> Vec<u32>;

    /// Frames lost since its start, by its name for the reason.
    ///
    /// # Errors
    ///
    /// They cannot be read.
    fn losses(&mut self) -> Result<BTreeMap<String, u64>>;

    /// Checks that it is still running.
    ///
    /// # Errors
    ///
    /// It has ended.
    fn check(&mut self) -> Result<()>;

    /// Ends it in the normal way, and removes what it created.
    ///
    /// # Errors
    ///
    /// It does not end.
    fn end(self: Box<Self>) -> Result<()>;
}

fn output(namespace: &str, words: &[&str]) -> Result<String> {
    let (program, arguments) = words.split_first().context("a program")?;
    run(inside(namespace, Path::new(program)).args(arguments))
}

/// Runs a program that must succeed; returns its output.
pub(crate) fn run(command: &mut Command) -> Result<String> {
    let output = command
        .output()
        .with_context(|| format!("starting {command:?}"))?;
    if !output.status.success() {
        bail!(
            "{command:?}: {}",
            String::from_utf8_lossy(&output.stderr).trim()
        );
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Polls `condition` until it returns a value.
fn wait<T>(what: &str, condition: impl FnMut() -> Result<Option<T>>) -> Result<T> {
    wait_for(LIMIT, condition)?.with_context(|| format!("not within {} s: {what}", LIMIT.as_secs()))
}

/// Sums receive and transmit `drop` of devices, from procfs of their namespace.
fn device_drops(namespace: &str, devices: &[&str]) -> Result<BTreeMap<String, u64>> {
    let text = output(namespace, &["cat", "/proc/self/net/dev"])?;
    let mut drops = BTreeMap::new();
    for line in text.lines() {
        let Some((device, fields)) = line.split_once(':') else {
            continue;
        };
        let device = device.trim();
        if !devices.contains(&device) {
            continue;
        }
        let fields: Vec<u64> = fields
            .split_whitespace()
            .map_while(|field| field.parse().ok())
            .collect();
        for (direction, at) in [("rx", 3), ("tx", 11)] {
            let count = fields.get(at).copied().unwrap_or(0);
            drops.insert(format!("{device} {direction} drop"), count);
        }
    }
    Ok(drops)
}
