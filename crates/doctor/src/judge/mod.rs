//! Conclusions from the facts: pure functions, so that each finding has a test.

mod device;
mod frames;
mod headroom;
mod host;
mod kind;
mod long_frames;
mod neighbor;
mod place;
mod queues;
#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};

use serde::Serialize;
use weir_config::daemon::{DaemonConfig, Port, ZeroCopy};
use weir_config::drivers::kinds::{Fit, Refusal};
use weir_config::drivers::{self, Driver};
use weir_config::FileError;

use crate::facts::{Facts, Found};
use crate::finding::{Finding, Grade, Remedy};

/// Intended use of the devices.
#[derive(Clone, Debug)]
pub struct Wanted {
    /// The switch, whose ports are checked.
    pub config: DaemonConfig,
    /// Source of the configuration; `None` for defaults.
    pub file: Option<PathBuf>,
    /// The switch, if it runs.
    pub running: Option<Running>,
}

/// A running switch, as reported by its API.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Running {
    /// Its process id.
    pub pid: u32,
    /// Its ports.
    pub ports: Vec<RunningPort>,
}

/// A port of a running switch.
#[derive(Clone, Debug, Default, Serialize)]
pub struct RunningPort {
    /// Its device.
    pub device: String,
    /// Mode in which the program is attached: `native` or `generic`.
    pub mode: String,
    /// True if the driver shares memory with the sockets.
    pub zero_copy: bool,
    /// Frames dropped since the start because their queue has no socket.
    pub without_socket: u64,
    /// Frames dropped since the start because there was no room for metadata.
    pub without_metadata: u64,
    /// Its queues that pause the neighbour.
    pub queues: Vec<RunningQueue>,
    /// Measurements of its cable; `None` if the configuration in force has none.
    pub cable: Option<RunningCable>,
    /// It neither floods nor learns, in a VLAN or in all, because of a loop.
    pub loop_blocked: bool,
    /// Differences from its neighbors by LLDP, one sentence each.
    pub mismatches: Vec<String>,
}

/// The cable of a port of a running switch.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct RunningCable {
    /// A recent round trip needs more headroom than the cable provides.
    pub exceeded: bool,
    /// Longest recent round-trip time; `None` if the other end answers no echo messages.
    pub round_trip_nanos: Option<u64>,
}

/// One priority of a port of a running switch, which pauses the neighbour.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct RunningQueue {
    /// 0 to 7.
    pub priority: u8,
    /// Peak of the used headroom, in charged bytes.
    pub headroom_used_max_bytes: u64,
    /// Frames dropped since the start because the headroom was full.
    pub headroom_dropped: u64,
}

impl Wanted {
    /// Creates a default switch with these devices.
    ///
    /// # Errors
    ///
    /// One of them is not a valid device name.
    pub fn of_devices(devices: &[&str]) -> Result<Self, FileError> {
        let port = |device: &&str| {
            format!("[[port]]\ndevice = \"{device}\"\nrole = \"edge\"\nrate = \"1Gbit\"\n")
        };
        let ports: String = devices.iter().map(port).collect();
        let text = format!("name = \"doctor\"\n{ports}");
        Ok(Self {
            config: DaemonConfig::parse(&text, Path::new("command line"))?,
            file: None,
            running: None,
        })
    }

    pub(crate) fn setting(&self, key: impl Into<String>, value: Option<&str>) -> Remedy {
        Remedy::Setting {
            file: self.file.clone(),
            key: key.into(),
            value: value.map(str::to_owned),
        }
    }

    fn port_setting(&self, port: &Port, key: &str, value: Option<&str>) -> Remedy {
        self.setting(format!("port.{}.{key}", port.name), value)
    }
}

/// An existing port, and all facts about it.
#[derive(Clone, Copy)]
struct Case<'a> {
    wanted: &'a Wanted,
    /// The configuration, adapted to the devices' state.
    config: &'a DaemonConfig,
    port: &'a Port,
    found: &'a Found,
    driver: &'static Driver,
    running: Option<&'a RunningPort>,
    facts: &'a Facts,
}

impl Case<'_> {
    /// Returns the modes in which the device can be a port.
    fn fit(&self) -> Result<Fit, Refusal> {
        let mode = self.config.dataplane.xdp_mode;
        let nature = self.found.nature.known();
        nature.fit(mode, self.config.has_lossless())
    }

    /// Returns true if its sockets share memory with the driver, or would.
    fn has_zero_copy(&self) -> bool {
        let can = match self.found.xdp {
            Ok(features) => features.zero_copy,
            Err(_) => self.driver.zero_copy.is_some(),
        };
        let would = self.config.dataplane.zero_copy != ZeroCopy::Off && can;
        self.running.map_or(would, |port| port.zero_copy)
    }

    fn device(&self) -> &str {
        &self.port.device
    }
}

/// All findings: those of the host, then those of each port's device.
pub fn judge(facts: &Facts, wanted: &Wanted) -> Vec<Finding> {
    let found = |port: &Port| {
        let mut devices = facts.devices.iter();
        devices.find(|device| device.name == port.device)
    };
    let ports = &wanted.config.ports;
    let of_port = |port: &Port| found(port).and_then(|device| device.found.as_ref());
    let has: Vec<_> = ports
        .iter()
        .map(|port| of_port(port)?.channels.as_ref().ok())
        .map(|channels| channels.map(|it| it.receiving()).filter(|count| *count > 0))
        .collect();
    let there: Vec<_> = ports.iter().filter_map(of_port).collect();
    let drivers: Vec<_> = there
        .iter()
        .map(|found| drivers::driver(&found.driver.name))
        .collect();
    let config = wanted.config.settled(&has, &drivers);
    let mut findings = host::judge(&facts.host, wanted, &config);
    for (index, port) in config.ports.iter().enumerate() {
        // Two ports may share a device.
        if config.ports[..index]
            .iter()
            .any(|it| it.device == port.device)
        {
            continue;
        }
        let device = found(port);
        let mut of_device = match device.and_then(|device| device.found.as_ref()) {
            None => vec![device::missing(port, device, facts, wanted)],
            Some(found) => {
                let running = wanted.running.iter().flat_map(|running| &running.ports);
                judge_device(&Case {
                    wanted,
                    config: &config,
                    port,
                    found,
                    driver: drivers::driver(&found.driver.name),
                    running: running.clone().find(|it| it.device == port.device),
                    facts,
                })
            }
        };
        for finding in &mut of_device {
            finding.device = Some(port.device.clone());
        }
        findings.append(&mut of_device);
    }
    findings
}

fn judge_device(case: &Case<'_>) -> Vec<Finding> {
    let mut findings = vec![
        kind::kind(case),
        device::link(case),
        device::driver(case),
        device::xdp(case),
        device::zero_copy(case),
        device::metadata(case),
        queues::queues(case),
        frames::mtu(case),
    ];
    let others = [
        queues::rss(case),
        queues::ring(case),
        frames::buffers(case),
        frames::pause(case),
        place::numa(case),
        place::interrupts(case),
        place::iommu(case),
    ];
    findings.extend(others.into_iter().flatten());
    findings.extend(device::reports(case));
    findings.extend(frames::offloads(case));
    findings.extend(frames::other_end(case));
    findings.extend(headroom::headroom(case));
    findings.extend(neighbor::neighbor(case));
    findings
}

/// The worst grade.
pub fn worst(findings: &[Finding]) -> Grade {
    let grades = findings.iter().map(|finding| finding.grade);
    grades.max().unwrap_or(Grade::Ok)
}

fn command(text: impl Into<String>) -> Remedy {
    Remedy::Command(text.into())
}
