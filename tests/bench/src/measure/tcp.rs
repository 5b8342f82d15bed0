//! TCP between two ordinary kernels through each system, in both directions, with the cost of a gigabit.
//!
//! ```text
//!   namespace `left`                namespace `switch`                  namespace `right`
//!   iperf3 client  eth ═══ veth ═══ p1, the switch, p2 ═══ veth ═══ eth  iperf3 server
//! ```

use std::fs;
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use anyhow::{bail, Context, Result};
use serde::{Deserialize, Serialize};
use weir_lab::lab::interrupt;
use weir_lab::lab::names::Names;
use weir_lab::lab::process::{inside, Process};

use crate::cpu::{CpuTimes, Cpus};
use crate::rounds::in_turns;
use crate::stage::{address, Site, DESTINATION, PORTS, SOURCE};
use crate::system::{run, System};

const HOSTS: [&str; 2] = ["left", "right"];
const DEVICE: &str = "eth";
/// The bridge between hosts that segment themselves.
pub const FRAMES: &str = "bridge, frames of 1,500 B";
/// Limit for the server's start, and for the client beyond its duration.
const LIMIT: Duration = Duration::from_secs(20);

/// Plan of the measurement.
#[derive(Clone, Debug, PartialEq)]
pub struct TcpPlan {
    /// Systems to measure.
    pub systems: Vec<System>,
    /// Number of rounds, in each of which all systems are measured.
    pub rounds: u32,
    /// Seconds of each transfer.
    pub seconds: u32,
}

/// One transfer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Transfer {
    /// [`System::name`], with the hosts' setting.
    pub system: String,
    /// Number from 1.
    pub round: u32,
    /// True from right to left.
    pub is_reverse: bool,
    /// Goodput to the application at the receiver.
    pub gbit_per_second: f64,
    /// CPU time of the switch's threads, in seconds for each Gbit received.
    pub switch_seconds_per_gbit: f64,
    /// CPU time of the whole machine, including hosts and iperf3, in seconds for each Gbit received.
    pub machine_seconds_per_gbit: f64,
}

/// A system, and segmentation by its hosts.
#[derive(Clone, Copy, Debug)]
struct Case {
    system: System,
    /// Hosts segment themselves, so that frames of 1,500 B pass the switch as on a cable.
    has_frames: bool,
}

impl Case {
    /// A kernel passes segments of up to 64 KiB to a bridge, unlike frames on any cable. So the bridge is also measured
    /// without them.
    fn all_of(system: System) -> Vec<Self> {
        let cases = match system {
            System::Bridge => &[false, true][..],
            _ => &[false],
        };
        let case = |&has_frames| Self { system, has_frames };
        cases.iter().map(case).collect()
    }

    fn name(self) -> String {
        match self.has_frames {
            true => FRAMES.to_owned(),
            false => self.system.name().to_owned(),
        }
    }
}

impl TcpPlan {
    /// Makes all transfers; reports progress on standard error.
    ///
    /// # Errors
    ///
    /// A system cannot be measured, iperf3 is not installed, or the run is interrupted. Everything is cleaned up.
    pub fn run(&self) -> Result<Vec<Transfer>> {
        for system in &self.systems {
            system.check()?;
        }
        let cpus = Cpus::of_this_machine()?;
        let cases: Vec<Case> = self
            .systems
            .iter()
            .copied()
            .flat_map(Case::all_of)
            .collect();
        let mut transfers = Vec::new();
        for round in 1..=self.rounds {
            for case in in_turns(&cases, round) {
                eprintln!("[round {round} of {}] {}", self.rounds, case.name());
                let made = self.measure(case, round, cpus);
                transfers.extend(made.with_context(|| case.name())?);
            }
        }
        Ok(transfers)
    }

    /// Starts a system, measures it in both directions, and ends it.
    fn measure(&self, case: Case, round: u32, cpus: Cpus) -> Result<Vec<Transfer>> {
        let site = Site::build(plan)?;
        prepare(&site, case.has_frames)?;
        let mut switch = case.system.start(&site, cpus)?;
        let mut command = inside(&site.host(HOSTS[1]), Path::new("iperf3"));
        command.arg("--server").stdout(Stdio::null());
        let log = site.directory().join("iperf3.log");
        let mut server = Process::start("iperf3", command, &log)?;
        let mut transfers = Vec::with_capacity(2);
        for is_reverse in [false, true] {
            let processes = switch.processes();
            let (passed, bits) = self.transfer(&site, &mut server, is_reverse, &processes)?;
            switch.check()?;
            let gbits = bits / 1e9;
            transfers.push(Transfer {
                system: case.name(),
                round,
                is_reverse,
                gbit_per_second: gbits / f64::from(self.seconds),
                switch_seconds_per_gbit: passed.switch as f64 / 1e9 / gbits,
                machine_seconds_per_gbit: passed.machine as f64 / 1e9 / gbits,
            });
        }
        switch.end()?;
        Ok(transfers)
    }

    /// Runs one transfer: returns CPU times, and bits received.
    fn transfer(
        &self,
        site: &Site,
        server: &mut Process,
        is_reverse: bool,
        processes: &[u32],
    ) -> Result<(CpuTimes, f64)> {
        let begin = Instant::now();
        loop {
            interrupt::check()?;
            server.check()?;
            let mut client = inside(&site.host(HOSTS[0]), Path::new("iperf3"));
            client
                .args(["--client", &ip(1), "--json", "--connect-timeout", "1000"])
                .args(["--time", &self.seconds.to_string()])
                .args(is_reverse.then_some("--reverse"));
            let before = CpuTimes::now(processes, &[])?;
            let output = client.output().context("iperf3")?;
            let passed = CpuTimes::now(processes, &[])?.since(before);
            let report: serde_json::Value =
                serde_json::from_slice(&output.stdout).context("iperf3's report")?;
            let Some(error) = report["error"].as_str() else {
                let bytes = report["end"]["sum_received"]["bytes"].as_f64();
                let bytes = bytes
                    .filter(|bytes| *bytes > 0.0)
                    .context("nothing arrived")?;
                return Ok((passed, 8.0 * bytes));
            };
            if begin.elapsed() > LIMIT {
                bail!("iperf3: {error}");
            }
            std::thread::sleep(Duration::from_millis(100));
        }
    }
}

/// Three namespaces in a row.
fn plan(names: &Names) -> String {
    let switch = names.namespace("switch");
    let mut plan = format!("ns {switch}\n");
    for ((host, port), of_host) in HOSTS.iter().zip(PORTS).zip([SOURCE, DESTINATION]) {
        let (host, of_host) = (names.namespace(host), address(of_host));
        plan.push_str(&format!(
            "ns {host}\nveth {switch} {port} - {host} {DEVICE} {of_host} 1500\n"
        ));
    }
    plan
}

fn ip(host: usize) -> String {
    format!("10.98.0.{}", host + 1)
}

/// Sets addresses, static neighbours, and NAPI at the hosts' ends.
fn prepare(site: &Site, has_frames: bool) -> Result<()> {
    for (at, (host, other)) in HOSTS.iter().zip([DESTINATION, SOURCE]).enumerate() {
        let namespace = site.host(host);
        let output = |words: &[&str]| {
            let (program, arguments) = words.split_first().context("a program")?;
            run(inside(&namespace, Path::new(program)).args(arguments))
        };
        output(&[
            "ip",
            "address",
            "add",
            &format!("{}/24", ip(at)),
            "dev",
            DEVICE,
        ])?;
        let (there, other) = (ip(1 - at), address(other));
        output(&[
            "ip", "neigh", "replace", &there, "lladdr", &other, "dev", DEVICE,
        ])?;
        output(&["ethtool", "-K", DEVICE, "gro", "on"])?;
        if has_frames {
            output(&["ethtool", "-K", DEVICE, "tso", "off", "gso", "off"])?;
        }
    }
    Ok(())
}

/// Writes all transfers as JSON.
///
/// # Errors
///
/// The file cannot be written.
pub fn write(transfers: &[Transfer], file: &Path) -> Result<()> {
    let text = serde_json::to_string_pretty(transfers)?;
    fs::write(file, text).with_context(|| file.display().to_string())
}
