//! The daemon's configuration.

mod access;
mod changes;
mod dataplane;
mod deadlock;
mod forwarding;
mod pfcwd;
mod read;
mod services;
mod write;

use std::path::{Path, PathBuf};

use weir_core::config::{
    ControlLimits, DetectorConfig, LifetimeConfig, RouteConfig, WatchdogConfig,
};
use weir_core::control::{ControlConfig, Policy};
use weir_core::{
    BitRate, Bytes, ClassConfig, ClassMode, Duration, FeedbackCoding, MacAddress, Neighbour,
    Police, PortConfig, PortId, PortRole, Priority, RedConfig, SwitchConfig,
};

use crate::reader::FileError;

pub use access::{is_remote, read_socket, ApiConfig, ControlFramesConfig, MetricsConfig, TlsFiles};
pub use changes::Change;
pub use dataplane::{DataplaneConfig, HugePages, Workers, XdpMode, ZeroCopy};
pub use deadlock::DeadlockConfig;
pub use forwarding::{FlowsConfig, ForwardingConfig, Route};
pub use pfcwd::PfcwdConfig;
pub use read::KEYS;
pub use services::{LldpConfig, LogConfig, LogFormat, PageConfig};

/// What scenarios read in the same way.
pub(crate) mod read_parts {
    pub(crate) use super::read::{
        check_steps, classes, feedback_coding, fit_release_buffer, keys, police, within,
        LevelSizing,
    };
}

/// The implicit class of all priorities that no class names.
pub const DEFAULT_CLASS: &str = "default";

/// A checked configuration of one daemon.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DaemonConfig {
    /// The switch's name in metrics and logs.
    pub name: String,
    /// Where sockets and pins are.
    pub run_dir: PathBuf,
    /// `[log]`.
    pub log: LogConfig,
    /// The API's Unix socket.
    pub api_socket: PathBuf,
    /// Who may use it.
    pub api: ApiConfig,
    /// `[metrics]`.
    pub metrics: MetricsConfig,
    /// `[page]`.
    pub page: PageConfig,
    /// `[dataplane]`.
    pub dataplane: DataplaneConfig,
    /// `[[class]]`, without the implicit one.
    pub classes: Vec<Class>,
    /// `[[port]]`; a [`PortId`] is an index into this list.
    pub ports: Vec<Port>,
    /// `[deadlock]`.
    pub deadlock: DeadlockConfig,
    /// `[pfcwd]`.
    pub pfcwd: PfcwdConfig,
    /// `[forwarding]`.
    pub forwarding: ForwardingConfig,
    /// `[[route]]`.
    pub routes: Vec<Route>,
    /// `[flows]`.
    pub flows: FlowsConfig,
    /// `[lldp]`.
    pub lldp: LldpConfig,
    /// `[control-frames]`.
    pub control_frames: ControlFramesConfig,
}

/// `[[class]]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Class {
    /// Its name.
    pub name: String,
    /// The priorities that it has; at least one.
    pub priorities: Vec<Priority>,
    /// What it does when buffers fill.
    pub mode: ClassMode,
    /// Share of the line relative to other priorities.
    pub weight: u16,
    /// How long a frame may wait; `None` for as long as it must.
    pub age_limit: Option<Duration>,
    /// When frames are marked Congestion Experienced; `None` for never.
    pub ecn: Option<RedConfig>,
}

/// `[[port]]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Port {
    /// Its name.
    pub name: String,
    /// The network device.
    pub device: String,
    /// The first of the device's queues that are served; frames are sent by this one.
    pub queue: u32,
    /// How many of them are received from.
    pub queue_count: u32,
    /// What it faces.
    pub role: PortRole,
    /// The line's rate.
    pub rate: BitRate,
    /// Our address there; `None` for the device's own.
    pub address: Option<MacAddress>,
    /// Priority of frames that name none.
    pub default_priority: Priority,
    /// Where the priority is looked for.
    pub trust: Trust,
    /// Priority by PCP.
    pub pcp_map: [Priority; 8],
    /// Priority by DSCP.
    pub dscp_map: [Priority; 64],
    /// What XDP does with frames while there is no daemon.
    pub fallback: Fallback,
    /// Round trip time of the link, reaction times included. For classes with Levels.
    pub round_trip: Duration,
    /// It is measured, and `round_trip` the least that is reckoned with.
    pub round_trip_measured: bool,
    /// How Feedback is told by a fabric port.
    pub feedback: FeedbackCoding,
    /// What an edge port does with a host that does not obey a pause.
    pub police: Police,
    /// What is on the other side of a fabric port. For classes with Levels.
    pub neighbour: Neighbour,
    /// What it has instead of `[pfcwd]`.
    pub pfcwd: Option<PfcwdConfig>,
}

/// The least round trip time that is reckoned with where it is measured: a software switch on an idle core.
pub const DEFAULT_ROUND_TRIP: Duration = Duration::from_millis(1);

/// Chunks of packet memory that each port has for control frames: as many are made for them, and as many does the dataplane
/// keep back when it gives chunks to the kernel.
pub const CONTROL_RESERVE_PER_PORT: usize = 64;

/// Where a frame's priority is looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trust {
    /// Nowhere: the port's default counts.
    Port,
    /// The outermost VLAN tag.
    Pcp,
    /// The IP header.
    Dscp,
    /// The VLAN tag, else the IP header.
    PcpDscp,
}

/// What XDP does with frames while there is no daemon.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fallback {
    /// The kernel gets them.
    Pass,
    /// Nobody gets them.
    Drop,
}

/// Priority by DSCP where nothing else is said: the class selector (RFC 2474, section 4.2.2).
pub fn default_dscp_map() -> [Priority; 64] {
    std::array::from_fn(|dscp| Priority::from_low_bits((dscp >> 3) as u8))
}

impl DaemonConfig {
    /// Reads and checks a file.
    ///
    /// # Errors
    ///
    /// All that is wrong with it.
    pub fn load(path: &Path) -> Result<Self, FileError> {
        let text = std::fs::read_to_string(path).map_err(|error| FileError {
            path: path.to_owned(),
            problems: vec![crate::Problem {
                line: None,
                key: String::new(),
                message: error.to_string(),
            }],
        })?;
        Self::parse(&text, path)
    }

    /// Reads and checks `text`, which stands in the file `path`.
    ///
    /// # Errors
    ///
    /// All that is wrong with it.
    pub fn parse(text: &str, path: &Path) -> Result<Self, FileError> {
        read::daemon(text).map_err(|problems| FileError {
            path: path.to_owned(),
            problems,
        })
    }

    /// Writes a file that [`parse`](Self::parse) reads back to the same configuration.
    pub fn to_toml(&self) -> String {
        write::daemon(self)
    }

    /// The class of a priority; `None` for the implicit one.
    pub fn class_of(&self, priority: Priority) -> Option<&Class> {
        self.classes
            .iter()
            .find(|class| class.priorities.contains(&priority))
    }

    /// The class's name for a priority.
    pub fn class_name(&self, priority: Priority) -> &str {
        self.class_of(priority)
            .map_or(DEFAULT_CLASS, |class| &class.name)
    }

    /// Longest frame from destination address to last payload byte.
    pub fn frame_length_max(&self) -> Bytes {
        self.dataplane.frame_length_max()
    }

    /// The core's configuration. `addresses` gives each port's address in port order; a port that
    /// has an address of its own in the file keeps it.
    pub fn core(&self, addresses: &[MacAddress]) -> SwitchConfig {
        let classes = std::array::from_fn(|index| {
            self.class_of(Priority::ALL[index]).map_or_else(
                || self.default_class(),
                |class| ClassConfig {
                    mode: class.mode,
                    weight: class.weight,
                    age_limit: class.age_limit,
                    ecn: class.ecn,
                },
            )
        });
        let ports = self
            .ports
            .iter()
            .enumerate()
            .map(|(index, port)| PortConfig {
                role: port.role,
                rate: port.rate,
                address: port
                    .address
                    .or_else(|| addresses.get(index).copied())
                    .unwrap_or_default(),
                round_trip: port.round_trip,
                round_trip_measured: port.round_trip_measured,
                feedback: port.feedback,
                police: port.police,
                neighbour: port.neighbour,
                watchdog: self.watchdog(port),
            })
            .collect();
        let mut config = SwitchConfig {
            ports,
            classes,
            cell: self.dataplane.cell,
            frame_count: 0,
            frame_length_max: self.frame_length_max(),
            routes: self
                .routes
                .iter()
                .map(|route| RouteConfig {
                    destination: route.destination,
                    ports: route.ports.clone(),
                    buckets: route.buckets,
                })
                .collect(),
            ecmp: self.forwarding.ecmp(),
            flows: self.flows.monitor(),
            learning_capacity: if self.forwarding.learning {
                self.forwarding.capacity
            } else {
                0
            },
            learning_age: self.forwarding.age,
            detector: Some(DetectorConfig {
                detect: self.deadlock.detect,
            }),
            lifetime: (self.deadlock.policy == Policy::Lifetime).then_some(LifetimeConfig {
                limit: self.deadlock.lifetime,
                stall_count: self.deadlock.stall_count,
            }),
            pause_time: self.dataplane.pause_time,
            feedback_refresh: self.dataplane.feedback_refresh,
            shaper_burst: self.dataplane.mtu + self.dataplane.mtu,
            shaper_burst_time: self.dataplane.shaper_burst,
            seed: self.seed(),
            authentication: None,
            control_limits: ControlLimits {
                pause_rate: self.control_frames.pause_rate,
                message_rate: self.control_frames.message_rate,
            },
        };
        config.frame_count = self.buffer_frames(&config) + self.ring_frames();
        config
    }

    /// The control plane's settings.
    pub fn control(&self) -> ControlConfig {
        let ports = self.ports.iter().enumerate();
        let fabric = ports.filter(|(_, port)| port.role == PortRole::Fabric);
        ControlConfig {
            policy: self.deadlock.policy,
            clcm_interval: self.deadlock.clcm_interval,
            release_period: self.deadlock.release,
            release_extra: self.deadlock.release_buffer,
            loop_breaker: self.deadlock.loop_breaker(),
            port_count: self.ports.len(),
            fabric_ports: fabric
                .filter_map(|(index, _)| PortId::from_index(index))
                .collect(),
        }
    }

    /// Of the choice of frames that are marked: it follows from the name, so that a network's switches choose
    /// differently, and each of them in the same way at every start (FNV-1a, 64 bits).
    fn seed(&self) -> u64 {
        self.name.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
        })
    }

    /// How a port is watched for PFC storms. The policy `watchdog` watches every port.
    pub fn watchdog(&self, port: &Port) -> Option<WatchdogConfig> {
        let pfcwd = port.pfcwd.unwrap_or(self.pfcwd);
        let enabled = pfcwd.enabled || self.deadlock.policy == Policy::Watchdog;
        enabled.then(|| pfcwd.watchdog())
    }

    /// UMEM chunks: one for each cell of all buffers, what stands in the rings, and a reserve for control
    /// frames.
    pub fn umem_frames(&self) -> usize {
        self.core(&[]).frame_count
    }

    /// Memory of the UMEM.
    pub fn umem_size(&self) -> Bytes {
        Bytes::new(self.umem_frames() as u64 * self.dataplane.chunk.get())
    }

    /// Chunks for what the buffers of `core`, this configuration, hold at most, the spare ones included.
    fn buffer_frames(&self, core: &SwitchConfig) -> usize {
        let spare = self.dataplane.spare_buffers.get() / self.dataplane.cell.get().max(1);
        core.frames_needed() + spare as usize
    }

    /// Chunks that the kernel has to receive into, and those for control frames.
    fn ring_frames(&self) -> usize {
        let sockets: usize = self
            .ports
            .iter()
            .map(|port| port.queue_count as usize)
            .sum();
        sockets * self.dataplane.rx_ring as usize + self.ports.len() * CONTROL_RESERVE_PER_PORT
    }

    fn default_class(&self) -> ClassConfig {
        ClassConfig::new(ClassMode::Lossy {
            buffer: Bytes::new(256 * 1024),
        })
    }
}
