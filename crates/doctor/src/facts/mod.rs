//! State of a host. All of it can be written by hand, for tests of the judgement.

mod device;
mod host;
mod memory;
mod read;

use std::collections::BTreeSet;
use std::io;

use serde::{Deserialize, Serialize};

pub use memory::{Memory, TooMuch};

use crate::ask::ethtool::{Channels, DriverInfo, PauseSettings, ReceiveRing};
use crate::ask::nature::{Master, Nature};
use crate::ask::netdev::XdpFeatures;

/// A value, or the reason why it could not be read.
pub type Read<T> = Result<T, Unread>;

/// Reason why a value could not be read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Unread {
    /// The device or the kernel does not have it.
    NotThere,
    /// It requires more privileges.
    NotPermitted,
    /// Error of the kernel.
    Failed(String),
}

impl From<io::Error> for Unread {
    fn from(error: io::Error) -> Self {
        use io::ErrorKind::{NotFound, PermissionDenied, Unsupported};
        match error.kind() {
            PermissionDenied => Self::NotPermitted,
            NotFound | Unsupported => Self::NotThere,
            _ => Self::Failed(error.to_string()),
        }
    }
}

impl std::fmt::Display for Unread {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::NotThere => f.write_str("there is none"),
            Self::NotPermitted => f.write_str("not permitted: run it as root"),
            Self::Failed(why) => f.write_str(why),
        }
    }
}

/// All facts.
#[derive(Clone, Debug, Serialize)]
pub struct Facts {
    /// The host.
    pub host: Host,
    /// The requested devices, in that order.
    pub devices: Vec<Device>,
    /// All devices of this network namespace, by name.
    pub names: Vec<String>,
}

/// A requested device.
#[derive(Clone, Debug, Serialize)]
pub struct Device {
    /// Its name.
    pub name: String,
    /// State of the device; `None` if there is no such device in this network namespace.
    pub found: Option<Found>,
}

/// State of a device.
#[derive(Clone, Debug, Serialize)]
pub struct Found {
    /// Its kind, and the devices above and below it.
    pub nature: Nature,
    /// True if it is administratively up.
    pub up: bool,
    /// True if it has a carrier; `None` if the driver does not report it.
    pub link: Option<bool>,
    /// MTU in bytes.
    pub mtu: u32,
    /// Its driver, firmware and bus.
    pub driver: DriverInfo,
    /// The XDP programs on it.
    pub programs: Vec<Program>,
    /// XDP features of its driver.
    pub xdp: Read<XdpFeatures>,
    /// Its queues.
    pub channels: Read<Channels>,
    /// The receive queues over which RSS spreads frames; `None` without RSS.
    pub rss: Option<BTreeSet<u32>>,
    /// The receive ring of each queue.
    pub ring: Read<ReceiveRing>,
    /// PAUSE settings.
    pub pause: Read<PauseSettings>,
    /// Offloads that are on, by the kernel's names.
    pub features: BTreeSet<String>,
    /// The devices that receive frames for it, if it does not itself: the ports of a bond.
    pub receivers: Vec<Receiver>,
    /// The devices below it, at any depth.
    pub below: Vec<Receiver>,
    /// The other end of a veth.
    pub peer: Option<Peer>,
    /// Place on the machine; `None` for software.
    pub place: Option<Place>,
}

/// A device that receives frames for another one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Receiver {
    /// Its name.
    pub name: String,
    /// The name of its driver.
    pub driver: String,
    /// Offloads that are on, by the kernel's names.
    pub features: BTreeSet<String>,
}

/// An XDP program on a device.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Program {
    /// Its id (`bpftool prog show id`).
    pub id: u32,
    /// `native`, `generic` or `offloaded`.
    pub mode: &'static str,
    /// Its name; `None` if that requires more privileges.
    pub name: Option<String>,
    /// The link that keeps it attached (`bpftool link show id`), if any.
    pub link: Option<u32>,
}

/// The other end of a veth.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Peer {
    /// In this network namespace, or in one that this process can enter.
    Known {
        /// Its name.
        name: String,
        /// Shell words that run a command in its namespace, if that is another one.
        enter: Option<String>,
        /// Offloads that are on.
        features: BTreeSet<String>,
        /// The device of which it is a port there.
        master: Option<Master>,
    },
    /// In a namespace that this process cannot find or enter.
    Elsewhere,
}

/// Place of a NIC on the machine.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Place {
    /// Its NUMA node; `None` if there is only one.
    pub numa_node: Option<usize>,
    /// Its interrupts.
    pub interrupts: Vec<Interrupt>,
    /// Mode of the IOMMU, such as `DMA-FQ` or `identity`; `None` without one.
    pub iommu: Option<String>,
}

/// An interrupt of a NIC.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Interrupt {
    /// As in /proc/interrupts.
    pub number: u32,
    /// CPUs that it may use.
    pub cpus: BTreeSet<usize>,
}

/// The host.
#[derive(Clone, Debug, Serialize)]
pub struct Host {
    /// The kernel's release.
    pub kernel: String,
    /// True if this process runs as root.
    pub root: bool,
    /// Capabilities needed by a switch that this process lacks.
    pub missing_capabilities: Vec<String>,
    /// Capabilities that this process lacks to start a switch that changes to another user.
    pub missing_for_user: Vec<String>,
    /// Memory limits of the machine and its control group; `None` if `/proc` does not show them.
    pub memory: Option<Memory>,
    /// Bytes that this process may lock without CAP_IPC_LOCK; `None` for unlimited.
    pub lockable: Option<u64>,
    /// The kernel has the BPF file system.
    pub bpf_file_system: bool,
    /// The kernel provides its type information (BTF).
    pub btf: bool,
    /// True if the clock is synchronised.
    pub clock_synchronised: Read<bool>,
    /// Huge pages of 2 MiB.
    pub huge_pages: Read<HugePages>,
    /// The online CPUs.
    pub cpus: Vec<Cpu>,
    /// Results of loading forms of the XDP program; `None` if not tried: a switch runs, or the process lacks
    /// privileges.
    pub programs: Option<Vec<TriedProgram>>,
}

/// A form of the XDP program, and whether this kernel accepts it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TriedProgram {
    /// `plain`, `express`, `express_with_room`, `slots` or `whole`.
    pub form: String,
    /// The kernel's reason, if it refuses the form.
    pub refused: Option<String>,
}

/// Huge pages of 2 MiB.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct HugePages {
    /// Total number.
    pub total: u64,
    /// Number of free ones.
    pub free: u64,
}

/// A CPU.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Cpu {
    /// Its number.
    pub number: usize,
    /// Its NUMA node; `None` if there is only one.
    pub numa_node: Option<usize>,
    /// Excluded from scheduling by `isolcpus`.
    pub isolated: bool,
    /// Frequency governor, such as `powersave`; `None` without one.
    pub governor: Option<String>,
}

impl Facts {
    /// Reads the state of the host and of these devices in this network namespace. `program` returns the name of the
    /// XDP program with an id, and the link that keeps it attached.
    pub fn read(devices: &[&str], program: &dyn Fn(u32) -> (Option<String>, Option<u32>)) -> Self {
        Self {
            host: host::read(),
            devices: devices
                .iter()
                .map(|name| device::read(name, program))
                .collect(),
            names: read::device_names(),
        }
    }
}
