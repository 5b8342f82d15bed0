//! Names and settings of a switch.

use std::sync::{Arc, PoisonError, RwLock};

use weir_config::daemon::{Mirror, Station};
use weir_config::switch::headroom::Charging;
use weir_config::switch::CableLine;
use weir_core::control::Policy;
use weir_core::{
    BitRate, Bytes, CableRoom, ClassMode, Duration, MacAddress, PfcThresholds, PortId, PortRole,
    Priority, RedConfig,
};
use weir_dataplane::link::AttachedPort;

use crate::model::classify::Trusted;

/// Names and settings of one switch.
#[derive(Clone, Debug)]
pub struct SwitchInfo {
    /// Name of the switch in the configuration.
    pub name: String,
    /// `dataplane.mtu`.
    pub mtu: Bytes,
    /// Reaction to deadlocks.
    pub deadlock_policy: Live<Policy>,
    /// By [`PortId`].
    pub ports: Vec<PortInfo>,
    /// By [`Priority`].
    pub classes: [ClassInfo; weir_core::units::PRIORITY_COUNT],
    /// Names of pools.
    pub pools: Vec<String>,
    /// The stations that requests are forwarded to.
    pub stations: Live<Stations>,
    /// True if frames and links may be impaired on purpose.
    pub impair: bool,
    /// Mirrors of frames.
    pub mirrors: Live<Vec<Mirror>>,
    /// Marking of classes: the file's profiles in order, and classes with separate thresholds.
    pub marking: Live<Vec<MarkingInfo>>,
}

/// One set of marking thresholds from the configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MarkingInfo {
    /// The profile's name; `None` for a class's own thresholds.
    pub profile: Option<String>,
    /// The classes that use it, with their priorities.
    pub classes: Vec<(String, Vec<Priority>)>,
    /// Thresholds in the file, which may no longer be in force.
    pub configured: RedConfig,
}

impl MarkingInfo {
    /// Iterates over all priorities of its classes.
    pub fn priorities(&self) -> impl Iterator<Item = Priority> + '_ {
        let classes = self.classes.iter();
        classes.flat_map(|(_, priorities)| priorities.iter().copied())
    }
}

/// Network addresses of configured stations.
#[derive(Clone, Debug, Default)]
pub struct Stations {
    /// True if requests for a station's address are sent only to that station.
    pub suppress: bool,
    /// Stations in the order of the file.
    pub all: Arc<[Station]>,
}

/// One port.
#[derive(Clone, Debug)]
pub struct PortInfo {
    /// Name of the port in the configuration.
    pub name: String,
    /// Its network device.
    pub device: String,
    /// Kind of device at the other end of the link.
    pub role: PortRole,
    /// Line rate.
    pub rate: BitRate,
    /// The cable, if the file sets its length.
    pub cable: Option<PortCable>,
    /// Field that determines a frame's priority.
    pub trusted: Live<Trusted>,
    /// The device as currently attached.
    pub attached: Live<AttachedPort>,
}

/// A port's cable, and the headroom derived from it.
#[derive(Clone, Copy, Debug)]
pub struct PortCable {
    /// Its length, and the delays of both ends.
    pub line: CableLine,
    /// The headroom that the cable requires, and the round-trip time for which it suffices.
    pub room: CableRoom,
    charging: Charging,
}

impl PortCable {
    /// Computes the headroom for a switch that charges frames in this way.
    pub fn new(line: CableLine, charging: Charging) -> Self {
        Self {
            line,
            room: line.room(charging),
            charging,
        }
    }

    /// Returns the headroom that frames of any length need at this round-trip time.
    pub fn needed_for(&self, round_trip: Duration) -> Bytes {
        self.line.needed_for(round_trip, self.charging)
    }
}

impl PortInfo {
    /// Returns the device's index in the daemon's network namespace; 0 without a device.
    pub fn ifindex(&self) -> u32 {
        self.attached.get().ifindex
    }

    /// Returns the port's own MAC address.
    pub fn address(&self) -> MacAddress {
        self.attached.get().address
    }

    /// Logs that the port now forwards.
    pub fn log_attached(&self) {
        let attached = self.attached.get();
        tracing::info!(
            port = self.name,
            device = self.device,
            address = %attached.address,
            rate = %self.rate,
            xdp_mode = attached.xdp_mode,
            zero_copy = attached.zero_copy,
            "port attached"
        );
    }
}

/// One priority's class.
#[derive(Clone, Debug)]
pub struct ClassInfo {
    /// Name of the class in the configuration, or `default`.
    pub name: String,
    /// Behaviour when buffers fill. Its thresholds may change, but not its kind.
    pub mode: Live<ClassMode>,
    /// True if a port's cable determines its headroom.
    pub headroom_by_cable: bool,
    /// True when the configuration names this priority.
    pub configured: bool,
}

/// No port has the requested name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no such port: `{name}`; ports: {known}")]
pub struct NoSuchPort {
    name: String,
    known: String,
}

/// A setting that a reload may change.
#[derive(Debug)]
pub struct Live<T>(RwLock<T>);

impl<T: Clone> Live<T> {
    /// Returns the present value.
    pub fn get(&self) -> T {
        let value = self.0.read().unwrap_or_else(PoisonError::into_inner);
        T::clone(&value)
    }

    /// Replaces the value.
    pub fn set(&self, value: T) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = value;
    }
}

impl<T> From<T> for Live<T> {
    fn from(value: T) -> Self {
        Self(RwLock::new(value))
    }
}

impl<T: Clone> Clone for Live<T> {
    fn clone(&self) -> Self {
        self.get().into()
    }
}

impl SwitchInfo {
    /// Returns the port's name, or its number when the configuration has no such port.
    pub fn port_name(&self, port: PortId) -> String {
        self.ports
            .get(port.index())
            .map_or_else(|| port.to_string(), |info| info.name.clone())
    }

    /// Iterates over all ports with their numbers.
    pub fn numbered_ports(&self) -> impl Iterator<Item = (PortId, &PortInfo)> {
        self.ports
            .iter()
            .enumerate()
            .filter_map(|(index, info)| Some((PortId::from_index(index)?, info)))
    }

    /// Returns the port of this name.
    ///
    /// # Errors
    ///
    /// When there is none; lists the known names.
    pub fn find_port(&self, name: &str) -> Result<PortId, NoSuchPort> {
        let found = self.numbered_ports().find(|(_, port)| port.name == name);
        found.map(|(id, _)| id).ok_or_else(|| {
            let names: Vec<&str> = self.ports.iter().map(|port| port.name.as_str()).collect();
            NoSuchPort {
                name: name.to_owned(),
                known: names.join(", "),
            }
        })
    }

    /// Returns the class of a priority.
    pub fn class(&self, priority: Priority) -> &ClassInfo {
        &self.classes[priority.index()]
    }

    /// Returns the configured thresholds of a (port, priority) that pauses its neighbour by them. `None` for a lossy class,
    /// and for a class with Levels at a fabric port.
    pub fn pfc_thresholds(&self, port: &PortInfo, priority: Priority) -> Option<PfcThresholds> {
        let class = self.class(priority);
        let thresholds = match (class.mode.get(), port.role) {
            (ClassMode::Level { .. }, PortRole::Fabric) => None,
            (mode, _) => mode.thresholds(),
        };
        match port.cable.filter(|_| class.headroom_by_cable) {
            Some(cable) => thresholds.map(|own| own.with_headroom(cable.room.headroom)),
            None => thresholds,
        }
    }

    /// Iterates over the priorities whose class is lossless.
    pub fn lossless(&self) -> impl Iterator<Item = Priority> + '_ {
        Priority::ALL
            .into_iter()
            .filter(|priority| self.class(*priority).mode.get().is_lossless())
    }
}
