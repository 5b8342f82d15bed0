//! The daemon's configuration.

mod access;
mod changes;
mod class;
mod dataplane;
mod deadlock;
mod forwarding;
mod pfcwd;
mod port;
mod queues;
mod read;
mod services;
mod write;

use std::path::{Path, PathBuf};

use weir_core::config::{
    ControlLimits, DetectorConfig, LifetimeConfig, RouteConfig, WatchdogConfig,
};
use weir_core::control::{ControlConfig, Policy};
use weir_core::{
    Bytes, ClassConfig, ClassMode, MacAddress, PauseRule, PortConfig, PortId, PortRole, Priority,
    SwitchConfig,
};

use crate::reader::FileError;

pub use access::{is_remote, read_socket, ApiConfig, ControlFramesConfig, MetricsConfig, TlsFiles};
pub use changes::Change;
pub use class::Class;
pub use dataplane::{DataplaneConfig, HugePages, Offloads, Workers, XdpMode, ZeroCopy};
pub use deadlock::DeadlockConfig;
pub use forwarding::{FlowsConfig, ForwardingConfig, Route};
pub use pfcwd::PfcwdConfig;
pub use port::{default_dscp_map, Fallback, Port, RoundTrip, Trust, QUEUES_MAX};
pub use read::{settings, KEYS};
pub use services::{LldpConfig, LogConfig, LogFormat, PageConfig};

/// What scenarios read in the same way.
pub(crate) mod read_parts {
    pub(crate) use super::read::{
        check_steps, classes, fit_release_buffer, keys, within, LevelSizing,
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

/// Chunks of packet memory that each port has for control frames: as many are made for them, and as many does the dataplane
/// keep back when it gives chunks to the kernel.
pub const CONTROL_RESERVE_PER_PORT: usize = 64;

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
                round_trip: port.round_trip.assumed(),
                round_trip_measured: port.round_trip == RoundTrip::Measured,
                feedback: port.feedback,
                police: port.police,
                pause: port.pause.unwrap_or(PauseRule::of_role(port.role)),
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
        Bytes::new(self.umem_frames() as u64 * self.dataplane.chunk_size().get())
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
            .map(|port| port.queue_count.unwrap_or(1) as usize)
            .sum();
        sockets * self.dataplane.rx_ring as usize + self.ports.len() * CONTROL_RESERVE_PER_PORT
    }

    fn default_class(&self) -> ClassConfig {
        ClassConfig::new(ClassMode::Lossy {
            buffer: Bytes::new(256 * 1024),
        })
    }
}
