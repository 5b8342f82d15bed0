//! Open vSwitch's userspace datapath with ports of type `afxdp`; its database and daemon are started for one measurement.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};
use weir_lab::lab::process::{inside, Process};

use super::{device_drops, run, wait, Switch, LIMIT};
use crate::cpu::Cpus;
use crate::stage::{address, Site, DESTINATION, PORTS, SOURCE};

const SCHEMA: &str = "/usr/share/openvswitch/vswitch.ovsschema";
const BRIDGE: &str = "br0";
const DAEMON: &str = "ovs-vswitchd";
const DATABASE: &str = "ovsdb-server";

/// Fails if it is not installed.
pub(super) fn check() -> Result<()> {
    run(Command::new(DAEMON).arg("--version"))
        .map(drop)
        .context("Open vSwitch is not installed: `apt-get install openvswitch-switch`, or leave it out by --systems")
}

pub(super) struct Ovs {
    daemon: Process,
    database: Process,
    directory: PathBuf,
    namespace: String,
}

impl Ovs {
    pub(super) fn start(site: &Site, cpus: Cpus) -> Result<Self> {
        let directory = site.directory().join("ovs");
        std::fs::create_dir_all(&directory).with_context(|| directory.display().to_string())?;
        let file = directory.join("conf.db");
        run(Command::new("ovsdb-tool")
            .arg("create")
            .arg(&file)
            .arg(SCHEMA))?;
        let socket = format!("unix:{}", directory.join("db.sock").display());
        let start = |program: &str, arguments: &[&str]| {
            let mut command = inside(&site.namespace(), Path::new(program));
            environment(&mut command, &directory);
            command
                .args(["--no-chdir", "-vconsole:warn"])
                .arg(format!("--unixctl={}", control(&directory, program)))
                .args(arguments);
            Process::start(program, command, &directory.join(format!("{program}.log")))
        };
        let database = start(
            DATABASE,
            &[&format!("--remote=p{socket}"), &file.display().to_string()],
        )?;
        wait("ovsdb-server listens", || {
            Ok(directory.join("db.sock").exists().then_some(()))
        })?;
        let daemon = start(DAEMON, &[&socket])?;
        let ovs = Self {
            daemon,
            database,
            directory,
            namespace: site.namespace(),
        };
        ovs.configure(cpus)?;
        Ok(ovs)
    }

    /// Configures static forwarding by destination, like the other systems, and one polling thread.
    fn configure(&self, cpus: Cpus) -> Result<()> {
        let mask = format!("other_config:pmd-cpu-mask={:#x}", 1u64 << cpus.switch);
        self.vsctl(&["set", "Open_vSwitch", ".", &mask])?;
        self.vsctl(&[
            "add-br",
            BRIDGE,
            "--",
            "set",
            "bridge",
            BRIDGE,
            "datapath_type=netdev",
            "fail_mode=secure",
        ])?;
        for port in PORTS {
            self.vsctl(&[
                "add-port",
                BRIDGE,
                port,
                "--",
                "set",
                "interface",
                port,
                "type=afxdp",
                "options:n_rxq=1",
                "options:xdp-mode=native",
            ])?;
        }
        for (port, host) in PORTS.iter().zip([SOURCE, DESTINATION]) {
            let flow = format!("dl_dst={},actions=output:{port}", address(host));
            run(self.tool("ovs-ofctl").args(["add-flow", BRIDGE, &flow]))?;
        }
        for port in PORTS {
            let error = self.vsctl(&["get", "interface", port, "error"])?;
            anyhow::ensure!(error.trim() == "[]", "port {port}: {}", error.trim());
        }
        Ok(())
    }

    fn vsctl(&self, words: &[&str]) -> Result<String> {
        run(self
            .tool("ovs-vsctl")
            .args(["--timeout", &LIMIT.as_secs().to_string()])
            .args(words))
    }

    fn tool(&self, program: &str) -> Command {
        let mut command = inside(&self.namespace, Path::new(program));
        environment(&mut command, &self.directory);
        command
    }
}

impl Switch for Ovs {
    fn processes(&self) -> Vec<u32> {
        vec![self.daemon.id(), self.database.id()]
    }

    fn losses(&mut self) -> Result<BTreeMap<String, u64>> {
        let mut all = device_drops(&self.namespace, &PORTS)?;
        for port in PORTS {
            let text = self.vsctl(&["get", "interface", port, "statistics"])?;
            for pair in text.trim().trim_matches(['{', '}']).split(", ") {
                if let Some((name, count)) = pair.split_once('=') {
                    if name.contains("drop") || name.contains("ring_full") || name.contains("err") {
                        all.insert(format!("{port} {name}"), count.parse().unwrap_or(0));
                    }
                }
            }
        }
        Ok(all)
    }

    fn check(&mut self) -> Result<()> {
        self.daemon.check()?;
        self.database.check()
    }

    fn end(mut self: Box<Self>) -> Result<()> {
        for program in [DAEMON, DATABASE] {
            let target = control(&self.directory, program);
            run(self.tool("ovs-appctl").args(["-t", &target, "exit"]))?;
            let process = match program {
                DAEMON => &mut self.daemon,
                _ => &mut self.database,
            };
            process
                .wait(LIMIT)?
                .with_context(|| format!("{program} does not end:\n{}", process.log_end()))?;
        }
        Ok(())
    }
}

/// Socket of a program for `ovs-appctl`.
fn control(directory: &Path, program: &str) -> String {
    directory
        .join(format!("{program}.ctl"))
        .display()
        .to_string()
}

/// Keeps all files of this instance in one directory.
fn environment(command: &mut Command, directory: &Path) {
    for name in ["OVS_RUNDIR", "OVS_DBDIR", "OVS_LOGDIR", "OVS_SYSCONFDIR"] {
        command.env(name, directory);
    }
}
