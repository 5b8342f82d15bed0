//! Weir's daemon, with one class for all frames.

use std::collections::BTreeMap;
use std::path::PathBuf;

use anyhow::{Context, Result};
use weir_api::client;
use weir_api::daemon::{Port, Status};
use weir_api::words;
use weir_lab::lab::process::{inside, program, Process};

use super::{device_drops, wait, Switch, LIMIT, PRIORITY};
use crate::cpu::Cpus;
use crate::stage::{address, Site, DESTINATION, LINE_GBITS, PORTS, SOURCE};

/// The class's mode and thresholds. Buffers are equal, and the headroom holds the content of a receiving ring of 2,048
/// frames of any length at the time of the pause.
pub(super) const LOSSY: &str = "mode = \"lossy\"\nbuffer = \"4608KiB\"\n";
/// See [`LOSSY`].
pub(super) const PFC: &str =
    "mode = \"pfc\"\nxoff = \"512KiB\"\nxon = \"384KiB\"\nheadroom = \"4MiB\"\n";
/// Setting of a lossless class whose frames may use the express path.
pub(super) const EXPRESS: &str = "express = \"on\"\n";
/// See [`LOSSY`].
pub(super) const LEVEL: &str =
    "mode = \"level\"\nxoff = \"512KiB\"\nxon = \"384KiB\"\nheadroom = \"4MiB\"\nmax-hops = 4\n";

/// Settings of `[dataplane]` besides the defaults.
pub(super) mod dataplane {
    /// None.
    pub(in crate::system) const DEFAULT: &str = "";
    /// Ports use the express path.
    pub(in crate::system) const EXPRESS: &str = "express = \"on\"\n";
    /// The thread never sleeps.
    pub(in crate::system) const POLLING: &str = "spin = \"1h\"\n";
    /// Devices defer interrupts.
    pub(in crate::system) const DEFERRED: &str = "napi-defer = \"20us\"\n";
}

pub(super) struct Weir {
    process: Process,
    socket: PathBuf,
    namespace: String,
}

impl Weir {
    /// Starts a switch with the settings of one class and of `[dataplane]`, and waits until ports use the express path if
    /// they should.
    pub(super) fn start(site: &Site, cpus: Cpus, class: &str, settings: &str) -> Result<Self> {
        let run_dir = site.directory().join("run");
        let file = site.directory().join("switchd.toml");
        std::fs::write(&file, config(&run_dir, cpus, class, settings))
            .with_context(|| file.display().to_string())?;
        let mut command = inside(&site.namespace(), &program("weir-switchd")?);
        command.arg("--config").arg(&file);
        let process = Process::start(
            "weir-switchd",
            command,
            &site.directory().join("switchd.log"),
        )?;
        let mut weir = Self {
            process,
            socket: run_dir.join("api.sock"),
            namespace: site.namespace(),
        };
        wait("weir-switchd forwards", || {
            weir.process.check()?;
            let status = client::get::<Status>(&weir.socket, "/v1/status", LIMIT);
            Ok(status
                .is_ok_and(|status| status.state == words::Stage::Running)
                .then_some(()))
        })?;
        if settings.contains(dataplane::EXPRESS) {
            wait("ports use the express path", || {
                weir.process.check()?;
                let ports: Vec<Port> = client::get(&weir.socket, "/v1/ports", LIMIT)?;
                let is_open = |port: &Port| port.express == words::Express::Open;
                Ok(ports.iter().all(is_open).then_some(()))
            })?;
        }
        Ok(weir)
    }
}

impl Switch for Weir {
    fn processes(&self) -> Vec<u32> {
        vec![self.process.id()]
    }

    fn losses(&mut self) -> Result<BTreeMap<String, u64>> {
        let ports: Vec<Port> = client::get(&self.socket, "/v1/ports", LIMIT)?;
        let mut all = device_drops(&self.namespace, &PORTS)?;
        for port in ports {
            for (reason, count) in port.drops_total {
                *all.entry(reason.to_string()).or_default() += count;
            }
            let kernel = port.kernel_losses;
            *all.entry("no room to receive".into()).or_default() +=
                kernel.rx_dropped_total + kernel.rx_ring_full_total;
        }
        Ok(all)
    }

    fn check(&mut self) -> Result<()> {
        self.process.check()
    }

    fn end(self: Box<Self>) -> Result<()> {
        self.process.end(LIMIT)
    }
}

/// Ports assign a fixed priority, so that probes need no tag, which other systems would have to parse.
fn config(run_dir: &std::path::Path, cpus: Cpus, class: &str, settings: &str) -> String {
    let mut text = format!(
        "name = \"bench\"\nrun-dir = \"{}\"\n\
         [metrics]\nlisten = \"off\"\n[page]\nlisten = \"off\"\n\
         [dataplane]\ncpu = {}\n{settings}\
         [[class]]\nname = \"bench\"\npriority = {PRIORITY}\n{class}",
        run_dir.display(),
        cpus.switch
    );
    for port in PORTS {
        text.push_str(&format!(
            "[[port]]\ndevice = \"{port}\"\nrole = \"edge\"\nrate = \"{LINE_GBITS}Gbit\"\n\
             trust = \"port\"\ndefault-priority = {PRIORITY}\n"
        ));
    }
    for (port, host) in PORTS.iter().zip([SOURCE, DESTINATION]) {
        text.push_str(&format!(
            "[[route]]\ndestination = \"{}\"\nports = [\"{port}\"]\n",
            address(host)
        ));
    }
    text
}
