//! Hosts with an ordinary kernel: their addresses, their lines, and `weir-host` if the kernel supports it.

use std::process::Command;

use anyhow::{bail, Context, Result};
use weir_config::scenario::{Host, HostKind, Scenario, PREFIX_LENGTH};

use super::names::Names;
use super::process::{inside, program};

const WEIR_HOST: &str = "weir-host";

/// Configured hosts. Dropping this detaches `weir-host`.
#[derive(Debug)]
pub struct KernelHosts {
    /// Namespaces in which `weir-host` is attached to the device.
    attached: Vec<String>,
    device: &'static str,
    notes: Vec<String>,
}

impl KernelHosts {
    /// Sets each host's address, and its line rate through `weir-host` or a token bucket. Does nothing if hosts are
    /// endpoints.
    ///
    /// # Errors
    ///
    /// The error of ip(8) or tc(8).
    pub(super) fn set_up(scenario: &Scenario, names: &Names) -> Result<Self> {
        let mut hosts = Self {
            attached: Vec::new(),
            device: names.host_device(),
            notes: Vec::new(),
        };
        if scenario.host_kind != HostKind::Kernel {
            return Ok(hosts);
        }
        let mut unaware = Vec::new();
        for (index, host) in scenario.hosts.iter().enumerate() {
            let namespace = names.namespace(&host.name);
            let address = format!("{}/{PREFIX_LENGTH}", scenario.host_ip(index));
            run(
                "ip",
                &[
                    "-n",
                    &namespace,
                    "address",
                    "add",
                    &address,
                    "dev",
                    hosts.device,
                ],
            )?;
            match hosts.attach(host, &namespace) {
                Ok(()) => hosts.attached.push(namespace),
                Err(why) => {
                    hosts.limit(host, &namespace)?;
                    unaware.push((host.name.as_str(), why));
                }
            }
        }
        hosts.note_unaware(&unaware, scenario.hosts.len());
        Ok(hosts)
    }

    /// Returns notes on the hosts for readers of the result.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// Returns true if the host in this namespace obeys PFC.
    pub fn obeys(&self, namespace: &str) -> bool {
        self.attached.iter().any(|attached| attached == namespace)
    }

    /// Attaches `weir-host`; the error is the reason for which the host does not obey PFC. Priorities are those that the
    /// switch reads from frames. The rate, on which pause times depend, is the switch's, since veth reports another one.
    fn attach(&self, host: &Host, namespace: &str) -> Result<(), String> {
        if !host.obeys_pfc {
            return Err("obeys-pfc = false".to_owned());
        }
        let weir_host = program(WEIR_HOST).map_err(|_| format!("{WEIR_HOST} is not built"))?;
        let rate = bits(host);
        let output = inside(namespace, &weir_host)
            .args([
                "attach",
                self.device,
                "--priorities",
                "dscp",
                "--rate",
                &rate,
                "--max-rate",
                &rate,
            ])
            .output()
            .map_err(|error| format!("{WEIR_HOST}: {error}"))?;
        if output.status.success() {
            return Ok(());
        }
        let said = String::from_utf8_lossy(&output.stderr);
        let said = said.lines().find(|line| !line.trim().is_empty());
        Err(said.unwrap_or("weir-host attach failed").trim().to_owned())
    }

    /// Sets the rate of the host's line. Excess frames wait, as in a NIC, so that TCP slows down without drops.
    fn limit(&self, host: &Host, namespace: &str) -> Result<()> {
        const BURST: &str = "16kb";
        const LIMIT: &str = "4mb";
        let rate = bits(host);
        let dev = ["qdisc", "replace", "dev", self.device, "root", "tbf"];
        let rest = ["rate", &rate, "burst", BURST, "limit", LIMIT];
        let mut arguments = vec!["-n", namespace];
        arguments.extend(dev);
        arguments.extend(rest);
        run("tc", &arguments)
    }

    fn note_unaware(&mut self, unaware: &[(&str, String)], hosts: usize) {
        let Some((_, why)) = unaware.first() else {
            return;
        };
        let who = match unaware.len() {
            count if count == hosts => "no host".to_owned(),
            _ => {
                let names: Vec<&str> = unaware.iter().map(|(name, _)| *name).collect();
                format!("of the hosts, {} do not", names.join(", "))
            }
        };
        let obeys = if unaware.len() == hosts {
            " obeys"
        } else {
            " obey"
        };
        self.notes.push(format!("{who}{obeys} PFC: {why}"));
    }
}

impl Drop for KernelHosts {
    fn drop(&mut self) {
        let Ok(weir_host) = program(WEIR_HOST) else {
            return;
        };
        for namespace in &self.attached {
            let detached = inside(namespace, &weir_host)
                .args(["detach", self.device])
                .output();
            if !detached.is_ok_and(|output| output.status.success()) {
                eprintln!("{WEIR_HOST} detach {} failed in {namespace}", self.device);
            }
        }
    }
}

/// Formats one line per host: its name, namespace, address and switch.
pub fn addresses(scenario: &Scenario, names: &Names) -> String {
    let line = |(index, host): (usize, &Host)| {
        format!(
            "  {:<11} {}/{PREFIX_LENGTH}  {}  at {}, in namespace {}\n",
            host.name,
            scenario.host_ip(index),
            host.address,
            scenario.switches[host.switch],
            names.namespace(&host.name)
        )
    };
    scenario.hosts.iter().enumerate().map(line).collect()
}

fn bits(host: &Host) -> String {
    format!("{}bit", host.line.rate.get())
}

fn run(tool: &str, arguments: &[&str]) -> Result<()> {
    let output = Command::new(tool)
        .args(arguments)
        .output()
        .context(tool.to_owned())?;
    if !output.status.success() {
        bail!(
            "{tool} {}: {}",
            arguments.join(" "),
            String::from_utf8_lossy(&output.stderr).trim()
        );
    }
    Ok(())
}
