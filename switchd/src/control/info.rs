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

use crate::dataplane::link::AttachedPort;
use crate::model::classify::Trusted;

/// One switch.
#[derive(Clone, Debug)]
pub struct SwitchInfo {
    /// Its name from the configuration.
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
    /// The stations that requests are sent to.
    pub stations: Live<Stations>,
    /// True if frames and links may be impaired on purpose.
    pub impair: bool,
    /// Mirrors of frames.
    pub mirrors: Live<Vec<Mirror>>,
    /// Marking of classes: profiles in the order of the file, and classes with thresholds of their
    /// own.
    pub marking: Live<Vec<MarkingInfo>>,
}

/// One way to mark frames, as the configuration has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MarkingInfo {
    /// The profile's name; `None` for a class's own thresholds.
    pub profile: Option<String>,
    /// The classes that have it, with their priorities.
    pub classes: Vec<(String, Vec<Priority>)>,
    /// Thresholds in the file, which may no longer be in force.
    pub configured: RedConfig,
}

impl MarkingInfo {
    /// All priorities of its classes.
    pub fn priorities(&self) -> impl Iterator<Item = Priority> + '_ {
        let classes = self.classes.iter();
        classes.flat_map(|(_, priorities)| priorities.iter().copied())
    }
}

/// Network addresses of stations, by the configuration.
#[derive(Clone, Debug, Default)]
pub struct Stations {
    /// True if requests for their addresses are sent to them alone.
    pub suppress: bool,
    /// In the order of the file.
    pub all: Arc<[Station]>,
}

/// One port.
#[derive(Clone, Debug)]
pub struct PortInfo {
    /// Its name from the configuration.
    pub name: String,
    /// Its network device.
    pub device: String,
    /// Kind of device that the port faces.
    pub role: PortRole,
    /// Its line's rate.
    pub rate: BitRate,
    /// Its cable, if the file sets the length.
    pub cable: Option<PortCable>,
    /// Field from which its frames get their priority.
    pub trusted: Live<Trusted>,
    /// Its device as it is attached now.
    pub attached: Live<AttachedPort>,
}

/// A port's cable, and what follows from it.
#[derive(Clone, Copy, Debug)]
pub struct PortCable {
    /// With its length, and how long the two ends take.
    pub line: CableLine,
    /// The headroom that it asks for, and the round trip time for which this is enough.
    pub room: CableRoom,
    charging: Charging,
}

impl PortCable {
    /// For a switch that charges frames like this.
    pub fn new(line: CableLine, charging: Charging) -> Self {
        Self {
            line,
            room: line.room(charging),
            charging,
        }
    }

    /// The headroom that frames of any length need with this round trip time.
    pub fn needed_for(&self, round_trip: Duration) -> Bytes {
        self.line.needed_for(round_trip, self.charging)
    }
}

impl PortInfo {
    /// The device's index in the daemon's network namespace; 0 where there is none.
    pub fn ifindex(&self) -> u32 {
        self.attached.get().ifindex
    }

    /// Its own address.
    pub fn address(&self) -> MacAddress {
        self.attached.get().address
    }

    /// Logs for a port that it forwards from now on.
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
    /// Its name from the configuration, or `default`.
    pub name: String,
    /// Behaviour when buffers fill. Its thresholds may change, but not the kind of mode.
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

    /// Puts `value` in force.
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
    /// The port's name; its number when the configuration has no such port.
    pub fn port_name(&self, port: PortId) -> String {
        self.ports
            .get(port.index())
            .map_or_else(|| port.to_string(), |info| info.name.clone())
    }

    /// All ports with their numbers.
    pub fn numbered_ports(&self) -> impl Iterator<Item = (PortId, &PortInfo)> {
        self.ports
            .iter()
            .enumerate()
            .filter_map(|(index, info)| Some((PortId::from_index(index)?, info)))
    }

    /// The port of this name.
    ///
    /// # Errors
    ///
    /// When there is none, with the names that there are.
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

    /// The class of a priority.
    pub fn class(&self, priority: Priority) -> &ClassInfo {
        &self.classes[priority.index()]
    }

    /// The configured thresholds of a (port, priority) that pauses its neighbour by them; `None` for others: a lossy class,
    /// and a class with Levels at a fabric port.
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

    /// The priorities whose class is lossless.
    pub fn lossless(&self) -> impl Iterator<Item = Priority> + '_ {
        Priority::ALL
            .into_iter()
            .filter(|priority| self.class(*priority).mode.get().is_lossless())
    }
}
