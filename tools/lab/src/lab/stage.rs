//! A running scenario: topology, daemons, endpoints. Dropping it tears everything down.

use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{ChildStdin, Stdio};
use std::sync::mpsc::{channel, Receiver, TryRecvError};
use std::time::Duration;

use anyhow::{bail, Context, Result};
use weir_config::daemon::DaemonConfig;
use weir_config::scenario::{Fault, Impairing, PortPeer, Scenario};
use weir_core::{Instant, Priority};

use super::configuration::{lab_config, use_express_path, EXPRESS_VARIABLE, HISTORY_INTERVAL};
use super::interrupt::wait_for;
use super::kernel::KernelHosts;
use super::names::Names;
use super::placement::source_port;
use super::process::{inside, program, Process};
use super::switches::SwitchProcess;
use super::topology::{plan, Topology};
use crate::endpoint::config::{CreditClass, EndpointConfig, ExpectFlow, SendFlow};
use crate::endpoint::report::{EndpointReport, OutputLine, Snapshot};
use crate::endpoint::run::clock;

const ANSWER_LIMIT: Duration = Duration::from_secs(30);
/// Time from all endpoints being ready to the first frame. By then they know the time, and the switches, which check twice a
/// second, have noticed their peers.
const BEGIN_MARGIN: weir_core::Duration = weir_core::Duration::from_millis(800);

/// A running endpoint.
#[derive(Debug)]
pub struct HostProcess {
    name: String,
    process: Process,
    input: Option<ChildStdin>,
    output: Receiver<OutputLine>,
    report: PathBuf,
}

/// Everything of one run. The fields are dropped in this order: processes before their namespaces.
#[derive(Debug)]
pub struct Stage {
    /// Hosts in the order of the scenario.
    pub hosts: Vec<HostProcess>,
    /// Switches in the order of the scenario.
    pub switches: Vec<SwitchProcess>,
    /// State of hosts with ordinary kernels.
    pub kernel: KernelHosts,
    _topology: Topology,
    directory: Directory,
    names: Names,
}

/// The run's directory, removed on drop unless it is to be kept.
#[derive(Debug)]
struct Directory {
    path: PathBuf,
    keep: bool,
}

impl Stage {
    /// Builds the topology and starts all daemons; returns once they forward, so that hosts can be started.
    ///
    /// # Errors
    ///
    /// The failure, with the end of the relevant log.
    pub fn set_up(scenario: &Scenario, keep: bool) -> Result<Self> {
        Self::set_up_with(scenario, keep, |_| ())
    }

    /// Like [`set_up`](Self::set_up), with a final `change` of each switch's configuration.
    ///
    /// # Errors
    ///
    /// Those of [`set_up`](Self::set_up).
    pub fn set_up_with(
        scenario: &Scenario,
        keep: bool,
        mut change: impl FnMut(&mut DaemonConfig),
    ) -> Result<Self> {
        let names = Names::new();
        let directory = Directory {
            path: names.directory().to_owned(),
            keep,
        };
        let topology = Topology::build(&plan(scenario, &names), &names)?;
        let mut switches = Vec::with_capacity(scenario.switches.len());
        for index in 0..scenario.switches.len() {
            let mut config = lab_config(scenario, index, &names);
            if std::env::var_os(EXPRESS_VARIABLE).is_some() {
                use_express_path(&mut config);
            }
            change(&mut config);
            switches.push(SwitchProcess::start(config, &names)?);
        }
        for switch in &mut switches {
            switch.ready()?;
        }
        let kernel = KernelHosts::set_up(scenario, &names)?;
        Ok(Self {
            hosts: Vec::new(),
            switches,
            kernel,
            _topology: topology,
            directory,
            names,
        })
    }

    /// Returns the run's names.
    pub fn names(&self) -> &Names {
        &self.names
    }

    /// Returns the directory of logs and configurations.
    pub fn directory(&self) -> &std::path::Path {
        &self.directory.path
    }

    /// Keeps the run's directory when the stage is dropped.
    pub fn keep_directory(&mut self) {
        self.directory.keep = true;
    }

    /// Starts an endpoint on every host and waits until all are ready. Returns the time at which traffic starts; earlier
    /// frames would reach hosts that are not ready.
    ///
    /// # Errors
    ///
    /// When one fails or takes too long.
    pub fn start_hosts(&mut self, scenario: &Scenario) -> Result<Instant> {
        for index in 0..scenario.hosts.len() {
            let host = HostProcess::start(scenario, index, &self.names)?;
            self.hosts.push(host);
        }
        HostProcess::begin(&mut self.hosts)
    }

    /// Ends the hosts; returns their reports in the order of the scenario.
    ///
    /// # Errors
    ///
    /// When one fails.
    pub fn finish_hosts(&mut self) -> Result<Vec<EndpointReport>> {
        let reports = self.hosts.iter_mut().map(HostProcess::finish).collect();
        self.hosts.clear();
        reports
    }

    /// Checks that all processes still run.
    ///
    /// # Errors
    ///
    /// When a process has ended, with the end of its log.
    pub fn check(&mut self) -> Result<()> {
        for switch in &mut self.switches {
            switch.check()?;
        }
        for host in &mut self.hosts {
            host.process.check()?;
        }
        Ok(())
    }

    /// Returns the number of frames held by all switches, except those silenced by a fault.
    ///
    /// # Errors
    ///
    /// When one does not answer.
    pub fn held_frames(&self) -> Result<u64> {
        let mut held = 0;
        for switch in self.switches.iter().filter(|switch| !switch.is_silent()) {
            held += switch.status()?.held_frames;
        }
        Ok(held)
    }

    /// Returns the switches not silenced by a fault.
    pub fn answering(&mut self) -> impl Iterator<Item = &mut SwitchProcess> {
        let switches = self.switches.iter_mut();
        switches.filter(|switch| !switch.is_silent())
    }

    /// Ends hosts, then daemons, normally.
    ///
    /// # Errors
    ///
    /// When one fails or has to be killed.
    pub fn tear_down(mut self) -> Result<()> {
        self.hosts.clear();
        // All at once, since a daemon that cannot drain uses its whole time.
        for switch in &mut self.switches {
            if let Some(process) = switch.process() {
                process.ask_to_end();
            }
        }
        for switch in self.switches.drain(..) {
            switch.end()?;
        }
        Ok(())
    }
}

impl HostProcess {
    /// Returns the host's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Waits until all of `hosts` are ready, and starts their traffic at the returned time.
    ///
    /// # Errors
    ///
    /// When one fails or takes too long.
    pub fn begin(hosts: &mut [Self]) -> Result<Instant> {
        for host in &mut *hosts {
            match host.next_line()? {
                OutputLine::Ready(_) => {}
                other => bail!("{}: expected to be ready, not {other:?}", host.name),
            }
        }
        let start = clock()? + BEGIN_MARGIN;
        for host in hosts {
            host.tell(&format!("begin {}", start.as_nanos()))?;
        }
        Ok(start)
    }

    /// Starts the endpoint of host `index` in its namespace, without waiting for it. It sends nothing before
    /// [`begin`](Self::begin).
    ///
    /// # Errors
    ///
    /// When it is not built, or its configuration cannot be written.
    pub fn start(scenario: &Scenario, index: usize, names: &Names) -> Result<Self> {
        let name = scenario.hosts[index].name.clone();
        let file = |suffix: &str| names.directory().join(format!("{name}{suffix}"));
        let config = endpoint_config(scenario, index, names, file("-report.json"))?;
        let config_file = file(".json");
        std::fs::write(&config_file, serde_json::to_vec_pretty(&config)?)
            .with_context(|| config_file.display().to_string())?;
        let mut command = inside(&names.namespace(&name), &program("weir-endpoint")?);
        command
            .args(["run", "--config"])
            .arg(&config_file)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped());
        let mut process = Process::start(&name, command, &file(".log"))?;
        let input = process.child().stdin.take();
        let output = process.child().stdout.take().context("no pipe")?;
        let (sender, lines) = channel();
        // Ends with the pipe.
        std::thread::spawn(move || {
            for line in BufReader::new(output).lines().map_while(Result::ok) {
                let parsed = serde_json::from_str(&line)
                    .unwrap_or_else(|error| OutputLine::Error(format!("{error}: {line}")));
                if sender.send(parsed).is_err() {
                    return;
                }
            }
        });
        Ok(Self {
            report: config.report,
            name,
            process,
            input,
            output: lines,
        })
    }

    /// Sends a command line.
    ///
    /// # Errors
    ///
    /// When the endpoint is gone.
    pub fn tell(&mut self, line: &str) -> Result<()> {
        let input = self
            .input
            .as_mut()
            .context("the endpoint was asked to finish")?;
        writeln!(input, "{line}").with_context(|| format!("telling {} to {line}", self.name))
    }

    /// Returns the next printed line.
    ///
    /// # Errors
    ///
    /// When it ends or takes too long.
    pub fn next_line(&mut self) -> Result<OutputLine> {
        let Self {
            name,
            process,
            output,
            ..
        } = self;
        wait_for(ANSWER_LIMIT, || match output.try_recv() {
            Ok(line) => Ok(Some(line)),
            Err(TryRecvError::Empty) => process.check().map(|()| None),
            Err(TryRecvError::Disconnected) => {
                bail!("{name} stopped unexpectedly:\n{}", process.log_end())
            }
        })?
        .with_context(|| format!("{name} does not answer"))
    }

    /// Returns the present counters.
    ///
    /// # Errors
    ///
    /// When it does not answer.
    pub fn snapshot(&mut self) -> Result<Snapshot> {
        self.tell("snapshot")?;
        loop {
            if let OutputLine::Snapshot(snapshot) = self.next_line()? {
                return Ok(snapshot);
            }
        }
    }

    /// Stops sending; waits until the last frame has left.
    ///
    /// # Errors
    ///
    /// When it does not answer.
    pub fn stop_sending(&mut self) -> Result<()> {
        self.tell("stop-sending")?;
        while !matches!(self.next_line()?, OutputLine::Stopped(_)) {}
        Ok(())
    }

    /// Ends the endpoint and reads its report.
    ///
    /// # Errors
    ///
    /// When it fails.
    pub fn finish(&mut self) -> Result<EndpointReport> {
        self.tell("finish")?;
        self.input = None;
        let status = self
            .process
            .wait(ANSWER_LIMIT)?
            .with_context(|| format!("{} does not finish", self.name))?;
        if !status.success() {
            bail!(
                "{} failed ({status}):\n{}",
                self.name,
                self.process.log_end()
            );
        }
        let text =
            std::fs::read(&self.report).with_context(|| format!("the report of {}", self.name))?;
        serde_json::from_slice(&text).with_context(|| format!("the report of {}", self.name))
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        unmount_below(&self.path);
        if self.keep {
            eprintln!("logs and configurations are in {}", self.path.display());
            return;
        }
        let _ = std::fs::remove_dir_all(&self.path);
    }
}

/// A daemon that was killed leaves its bpffs mounted.
fn unmount_below(path: &std::path::Path) {
    let mounts = std::fs::read_to_string("/proc/self/mounts").unwrap_or_default();
    for target in mounts.lines().filter_map(|line| line.split(' ').nth(1)) {
        if std::path::Path::new(target).starts_with(path) {
            let _ = nix::mount::umount2(target, nix::mount::MntFlags::MNT_DETACH);
        }
    }
}

fn is_mark(fault: &Fault) -> bool {
    matches!(
        fault,
        Fault::Impair {
            what: Impairing::Mark(_),
            ..
        }
    )
}

fn endpoint_config(
    scenario: &Scenario,
    index: usize,
    names: &Names,
    report: PathBuf,
) -> Result<EndpointConfig> {
    let host = &scenario.hosts[index];
    let line = host.line.rate;
    let flows = || scenario.flows.iter().enumerate();
    let send = flows()
        .filter(|(_, flow)| flow.from == index)
        .map(|(id, flow)| {
            Ok(SendFlow {
                id: id as u32,
                name: flow.name.clone(),
                destination: scenario.hosts[flow.to].address,
                priority: scenario.priority(id).get(),
                source_port: Some(source_port(scenario, id)?),
                frame_bytes: flow.frame.get() as u32,
                bits_per_second: flow.rate.unwrap_or(line).get(),
                start_nanos: flow.start.as_nanos(),
                stop_nanos: flow.stop.as_nanos(),
                // Deliberate marks are visible only on ECN-capable frames.
                ecn_capable: scenario.faults.iter().any(is_mark),
            })
        })
        .collect::<Result<_>>()?;
    let expect = flows()
        .filter(|(_, flow)| flow.to == index)
        .map(|(id, flow)| ExpectFlow {
            id: id as u32,
            name: flow.name.clone(),
            start_nanos: flow.start.as_nanos(),
            stop_nanos: Some(flow.stop.as_nanos()),
        })
        .collect();
    Ok(EndpointConfig {
        device: names.host_device().to_owned(),
        address: host.address,
        line_bits_per_second: line.get(),
        pfc_priorities: (0..8).collect(),
        obey_pfc: host.obeys_pfc,
        obey_pause: true,
        credits: credits(scenario, index),
        send,
        expect,
        report,
        start_monotonic_nanos: None,
        run_nanos: scenario.duration.as_nanos(),
        sample_nanos: HISTORY_INTERVAL.as_nanos(),
        catch_up_frames: 2,
    })
}

/// Returns the classes in which host `index` uses credits, on the terms of its switch.
fn credits(scenario: &Scenario, index: usize) -> Vec<CreditClass> {
    let host = &scenario.hosts[index];
    let peers = scenario.ports(host.switch);
    let at = peers.iter().position(|it| it.peer == PortPeer::Host(index));
    let Some(at) = at.filter(|_| host.obeys_credits) else {
        return Vec::new();
    };
    let switch = scenario.switch(host.switch, &peers).core();
    let classes = Priority::ALL.into_iter().zip(switch.classes);
    let terms = classes.map(|(priority, class)| {
        let terms = class.credit_terms(&switch.ports[at])?;
        Some(CreditClass {
            priority: priority.get(),
            size: terms.size(),
            overhead: terms.overhead(),
            limit: terms.limit(),
        })
    });
    terms.flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[ignore = "needs root"]
    fn what_is_kept_has_no_mounts() {
        let path = std::env::temp_dir().join(format!("weir-lab-test-{}", std::process::id()));
        let mounted = path.join("s1");
        std::fs::create_dir_all(&mounted).unwrap();
        let flags = nix::mount::MsFlags::empty();
        nix::mount::mount(Some("none"), &mounted, Some("tmpfs"), flags, None::<&str>).unwrap();
        drop(Directory {
            path: path.clone(),
            keep: true,
        });
        let mounts = std::fs::read_to_string("/proc/self/mounts").unwrap();
        assert!(!mounts.contains(mounted.to_str().unwrap()), "{mounts}");
        assert!(mounted.exists());
        std::fs::remove_dir_all(&path).unwrap();
    }
}
