//! The daemon's configuration. Its classes, pools, routes and deadlock policy are those of [`switch`](crate::switch),
//! which scenarios share.

mod access;
mod by_class;
mod by_hand;
mod changes;
mod credits;
mod damping;
mod dataplane;
mod export;
mod memory;
mod mirror;
mod port;
mod queues;
mod read;
mod services;
mod station;
mod vlan;
mod write;

use std::path::{Path, PathBuf};

use weir_core::config::WatchdogConfig;
use weir_core::control::ControlConfig;
use weir_core::{
    Bytes, ClassMode, MacAddress, PauseRule, PortConfig, Priority, SwitchConfig, VlanPort,
};

use crate::files::read_configuration;
use crate::reader::FileError;
use crate::switch::{class_of, watchdog, Switch};

pub use crate::frames::DELAYED_MAX;
pub use access::{
    is_remote, read_socket, ApiConfig, ControlFramesConfig, GnmiConfig, MetricsConfig, Protection,
    TlsFiles,
};
pub use by_class::PerClass;
pub use changes::{route_key, unlike, Change, Reloaded, Takes};
pub use damping::FlapDampingConfig;
pub use dataplane::{DataplaneConfig, HugePages, Offloads, Workers, XdpMode, ZeroCopy};
pub use export::{IpfixConfig, SflowConfig};
pub use mirror::{Mirror, MIRRORS_MAX};
pub use port::{default_dscp_map, Fallback, Port, RoundTrip, Trust, QUEUES_MAX};
pub use read::{settings, KEYS};
pub use services::{LldpConfig, LogConfig, LogFormat, PageConfig, WatermarkConfig};
pub use station::{Station, STATION_ADDRESSES_MAX};
pub use vlan::VLAN_COPIES;

pub use crate::switch::{
    Class, DeadlockConfig, EcnProfile, Express, FirstThresholds, FlowsConfig, ForwardingConfig,
    MulticastConfig, PfcwdConfig, Pool, Route, DEFAULT_CLASS, STATIONS_MAX,
};

/// A checked configuration of one daemon.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DaemonConfig {
    /// The switch's name in metrics and logs.
    pub name: String,
    /// Directory of sockets and pins.
    pub run_dir: PathBuf,
    /// `[log]`.
    pub log: LogConfig,
    /// The API's Unix socket.
    pub api_socket: PathBuf,
    /// Users of the API.
    pub api: ApiConfig,
    /// `[metrics]`.
    pub metrics: MetricsConfig,
    /// `[gnmi]`.
    pub gnmi: GnmiConfig,
    /// `[page]`.
    pub page: PageConfig,
    /// `[dataplane]`.
    pub dataplane: DataplaneConfig,
    /// `[[class]]`, without the implicit one.
    pub classes: Vec<Class>,
    /// `[[pool]]`.
    pub pools: Vec<Pool>,
    /// `[[ecn]]`.
    pub ecn: Vec<EcnProfile>,
    /// `[[port]]`; a [`PortId`] is an index into this list.
    pub ports: Vec<Port>,
    /// `[deadlock]`.
    pub deadlock: DeadlockConfig,
    /// `[pfcwd]`.
    pub pfcwd: PfcwdConfig,
    /// `[forwarding]`.
    pub forwarding: ForwardingConfig,
    /// `[multicast]`.
    pub multicast: MulticastConfig,
    /// `[[route]]`.
    pub routes: Vec<Route>,
    /// `[[station]]`.
    pub stations: Vec<Station>,
    /// `[[mirror]]`.
    pub mirrors: Vec<Mirror>,
    /// `[flows]`.
    pub flows: FlowsConfig,
    /// `[lldp]`.
    pub lldp: LldpConfig,
    /// `[control-frames]`.
    pub control_frames: ControlFramesConfig,
    /// `[watermark]`.
    pub watermark: WatermarkConfig,
    /// `[flap-damping]`.
    pub flap_damping: FlapDampingConfig,
    /// `[sflow]`.
    pub sflow: SflowConfig,
    /// `[ipfix]`.
    pub ipfix: IpfixConfig,
}

/// Chunks of packet memory per port for control frames: reserved in the UMEM, and kept back by the dataplane when it
/// gives chunks to the kernel.
pub const CONTROL_RESERVE_PER_PORT: usize = 64;

impl DaemonConfig {
    /// Reads and checks a file.
    ///
    /// # Errors
    ///
    /// All problems of the file.
    pub fn load(path: &Path) -> Result<Self, FileError> {
        Ok(Self::load_with_text(path)?.0)
    }

    /// [`load`](Self::load), also returning the file's text.
    ///
    /// # Errors
    ///
    /// All problems of the file.
    pub fn load_with_text(path: &Path) -> Result<(Self, String), FileError> {
        let text = Self::read(path)?;
        Ok((Self::parse(&text, path)?, text))
    }

    /// Reads a file's text.
    ///
    /// # Errors
    ///
    /// The file cannot be read, or every user of the machine can write it.
    pub fn read(path: &Path) -> Result<String, FileError> {
        read_configuration(path).map_err(|error| FileError::unreadable(path, &error))
    }

    /// Parses and checks `text`, the contents of the file `path`.
    ///
    /// # Errors
    ///
    /// All problems of the file.
    pub fn parse(text: &str, path: &Path) -> Result<Self, FileError> {
        read::daemon(text).map_err(|problems| FileError::of(path, problems))
    }

    /// Writes a file that [`parse`](Self::parse) reads back to the same configuration.
    pub fn to_toml(&self) -> String {
        write::daemon(self)
    }

    /// The class of a priority; `None` for the implicit one.
    pub fn class_of(&self, priority: Priority) -> Option<&Class> {
        class_of(&self.classes, priority)
    }

    /// Mode of a class at a port: with the headroom of the port's cable, if the class uses cables.
    pub fn mode_at(&self, class: &Class, port: &Port) -> ClassMode {
        match port.cable_line().filter(|_| class.headroom_by_cable) {
            Some(line) => {
                let room = line.room(self.dataplane.frames().charging());
                class.mode.with_headroom(room.headroom)
            }
            None => class.mode,
        }
    }

    /// Name of the class of a priority.
    pub fn class_name(&self, priority: Priority) -> &str {
        self.class_of(priority)
            .map_or(DEFAULT_CLASS, |class| &class.name)
    }

    /// Longest frame from destination address to last payload byte.
    pub fn frame_length_max(&self) -> Bytes {
        self.dataplane.frame_length_max()
    }

    /// The switch without its devices. `addresses` are the ports' MAC addresses in port order; an address in the file
    /// takes precedence.
    pub fn switch(&self, addresses: &[MacAddress]) -> Switch {
        let charging = self.dataplane.frames().charging();
        let port = |(index, port): (usize, &Port)| PortConfig {
            role: port.role,
            rate: port.rate,
            address: port
                .address
                .or_else(|| addresses.get(index).copied())
                .unwrap_or_default(),
            round_trip: port.round_trip.assumed(),
            round_trip_measured: port.round_trip == RoundTrip::Measured,
            cable: port.cable_line().map(|line| line.room(charging)),
            feedback: port.feedback,
            police: port.police,
            pause: port.pause.unwrap_or(PauseRule::of_role(port.role)),
            neighbour: port.neighbour,
            pool_thresholds: Priority::ALL.map(|priority| {
                let class = self.class_of(priority)?;
                port.pool_threshold(class)
            }),
            watchdog: self.watchdog(port),
            address_limit: port.learned_at_most(),
            // The dataplane sets more as soon as its rings are filled.
            credit_slots: self.kept_slots(port).map(|_| 0),
            priorities: port.allowed_priorities(),
        };
        Switch {
            classes: self.classes.clone(),
            pools: self.pools.clone(),
            ecn: self.ecn.clone(),
            ports: self.ports.iter().enumerate().map(port).collect(),
            frames: self.dataplane.frames(),
            deadlock: self.deadlock,
            routes: self.routes.clone(),
            forwarding: self.forwarding,
            flood: self.multicast.flood(|name| {
                let mut ports = self.ports.iter();
                ports.position(|port| port.name == name)
            }),
            flows: self.flows,
            control_limits: self.control_frames.limits(),
            seed: self.seed(),
            vlans: self.vlans(),
        }
    }

    /// Returns true if a class is lossless.
    pub fn has_lossless(&self) -> bool {
        self.classes.iter().any(|class| class.mode.is_lossless())
    }

    /// Returns true if a port sets VLANs; otherwise tags are ignored.
    pub fn is_vlan_aware(&self) -> bool {
        self.ports.iter().any(Port::has_vlans)
    }

    /// Treatment of tags by port; empty if tags are ignored.
    fn vlans(&self) -> Vec<VlanPort> {
        match self.is_vlan_aware() {
            true => self.ports.iter().map(Port::vlans).collect(),
            false => Vec::new(),
        }
    }

    /// The core's configuration, with packet memory for the rings and shapers that let a late thread catch up.
    /// `addresses` as for [`switch`](Self::switch).
    pub fn core(&self, addresses: &[MacAddress]) -> SwitchConfig {
        let mut config = self.switch(addresses).core();
        self.share_default_buffers(&mut config);
        config.shaper_burst = self.dataplane.mtu + self.dataplane.mtu;
        config.shaper_burst_time = self.dataplane.shaper_burst;
        config.strict_share = self.dataplane.strict_share;
        config.frame_count = self.buffer_frames(&config) + self.ring_frames();
        config
    }

    /// A copy with other routes. Copying all routes first would take as long as reading them.
    pub(crate) fn with_routes(&self, routes: Vec<Route>) -> Self {
        Self {
            name: self.name.clone(),
            run_dir: self.run_dir.clone(),
            log: self.log.clone(),
            api_socket: self.api_socket.clone(),
            api: self.api.clone(),
            metrics: self.metrics.clone(),
            gnmi: self.gnmi.clone(),
            page: self.page.clone(),
            dataplane: self.dataplane.clone(),
            classes: self.classes.clone(),
            pools: self.pools.clone(),
            ecn: self.ecn.clone(),
            ports: self.ports.clone(),
            deadlock: self.deadlock,
            pfcwd: self.pfcwd,
            forwarding: self.forwarding,
            multicast: self.multicast.clone(),
            routes,
            stations: self.stations.clone(),
            mirrors: self.mirrors.clone(),
            flows: self.flows,
            lldp: self.lldp.clone(),
            control_frames: self.control_frames.clone(),
            watermark: self.watermark,
            flap_damping: self.flap_damping,
            sflow: self.sflow.clone(),
            ipfix: self.ipfix.clone(),
        }
    }

    /// Configuration of the control plane.
    pub fn control(&self) -> ControlConfig {
        self.with_routes(Vec::new()).switch(&[]).control()
    }

    /// Seed for the choice of marked frames, derived from the name: the switches of a network choose differently, and
    /// each of them equally at every start (FNV-1a, 64 bits).
    fn seed(&self) -> u64 {
        self.name.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
        })
    }

    /// The PFC storm watchdog of a port. The policy `watchdog` watches every port.
    pub fn watchdog(&self, port: &Port) -> Option<WatchdogConfig> {
        let own = port.pfcwd.unwrap_or(self.pfcwd);
        watchdog(own, &self.deadlock, port.is_edge())
    }
}
