//! The plan of a network.

use std::sync::Arc;

use super::faults::actions::Action;
use super::faults::impairment::ImpairmentPlan;
use crate::transport::custom::CustomControls;
use weir_config::scenario::{
    DcqcnConfig, Spread, SwitchSpread, Transport, TransportConfig, WindowConfig,
};
use weir_core::control::{ControlConfig, StormNeighbour};
use weir_core::units::PRIORITY_COUNT;
use weir_core::{BitRate, Bytes, Duration, Instant, MacAddress, PortId, Priority, SwitchConfig};

/// A flow that waits for another. It begins when all flows for which it waits have arrived completely and the computations
/// are done, but not before its start.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Dependency {
    /// Flow that must complete: it goes to the sender of `next`, and has a size.
    pub done: u32,
    /// Flow that waits.
    pub next: u32,
    /// Computation of the host after its arrival.
    pub compute: Duration,
}

/// Source address of a host's frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// The address of this host.
    Of(u32),
    /// This number of addresses, one after the other.
    Many(u32),
}

/// A whole network. Switches, hosts, links and flows are identified by index.
#[derive(Clone, Debug, Default)]
pub struct NetworkPlan {
    /// The switches.
    pub switches: Vec<SwitchPlan>,
    /// The hosts, one link each.
    pub hosts: Vec<HostPlan>,
    /// Links between switches and to hosts. Each port and each host has at most one.
    pub links: Vec<LinkPlan>,
    /// Traffic.
    pub flows: Vec<FlowPlan>,
    /// Flows that wait for others.
    pub dependencies: Vec<Dependency>,
    /// Settings of flows with DCQCN.
    pub dcqcn: DcqcnConfig,
    /// Settings of flows with a window.
    pub window: WindowConfig,
    /// Settings of flows with other transports.
    pub transports: TransportConfig,
    /// Makes the congestion control of flows with a transport of the caller; without it they have none.
    pub custom: Option<Arc<dyn CustomControls>>,
    /// Longest round trip of a flow in the empty network. Above zero if a transport uses it: as HPCC's T, as a limit of one
    /// bandwidth-delay product, or in the caller's code.
    pub base_round_trip: Duration,
    /// By switch: value mixed into its flow hashes. Empty: all use the same hash.
    pub hash_seeds: Vec<u32>,
    /// Frames to which the sender gives the same hash.
    pub spread: Spread,
    /// Spreading by switches; `None` for none.
    pub spread_at_switches: Option<SwitchSpread>,
    /// Hosts whose frames have a foreign source address.
    pub sources: Vec<(u32, Source)>,
    /// Actions on the network, and their times.
    pub actions: Vec<(Instant, Action)>,
    /// Impairments that actions begin and end.
    pub impairments: Vec<ImpairmentPlan>,
    /// Seed of random faults.
    pub seed: u64,
    /// Interval of the curves; `None`: no curves.
    pub sample_interval: Option<Duration>,
    /// Time from which deliveries of flows count as the last part.
    pub last_part_from: Instant,
    /// Maximum number of entries in the log; others are only counted.
    pub log_capacity: usize,
}

/// One switch.
#[derive(Clone, Debug)]
pub struct SwitchPlan {
    /// Its dataplane.
    pub config: SwitchConfig,
    /// Its control plane; `None`: its events are ignored.
    pub control: Option<ControlPlan>,
}

/// A control plane and the latency of its CPU.
#[derive(Clone, Debug)]
pub struct ControlPlan {
    /// Its settings.
    pub config: ControlConfig,
    /// Seed of its identifiers.
    pub seed: u64,
    /// Latency from the dataplane to the CPU, and also back.
    pub latency: Duration,
    /// By port: the neighbour, for the storm watchdog.
    pub storm_neighbours: Vec<StormNeighbour>,
}

/// One host.
#[derive(Clone, Copy, Debug)]
pub struct HostPlan {
    /// Its line's rate.
    pub rate: BitRate,
    /// True if it obeys PFC.
    pub obeys_pfc: bool,
    /// True if it uses credits.
    pub obeys_credits: bool,
}

/// One end of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// A port of a switch.
    Port {
        /// The switch.
        switch: u32,
        /// Its port.
        port: PortId,
    },
    /// A host.
    Host(u32),
}

impl End {
    /// Returns the switch and its port; `None` for a host.
    pub(crate) const fn node_and_port(self) -> Option<(usize, PortId)> {
        match self {
            Self::Port { switch, port } => Some((switch as usize, port)),
            Self::Host(_) => None,
        }
    }
}

/// One link. Each direction has the rate of the sending port or host.
#[derive(Clone, Copy, Debug)]
pub struct LinkPlan {
    /// Its two ends.
    pub ends: [End; 2],
    /// Propagation delay of the last bit.
    pub delay: Duration,
    /// Change of data frames' priority from the first end to the second, and back.
    pub priority_map: [PriorityMap; 2],
}

/// Priority of a data frame after a link, by that before it.
///
/// The frame waits in its switch in the class before the link, and is charged at the next switch in the class after it. A
/// pause for a class after the link therefore holds all classes that map to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PriorityMap(
    /// Three bits for each priority before the link, so that a line's state fits a cache line.
    u32,
);

impl PriorityMap {
    /// Keeps every priority.
    pub const IDENTITY: Self = Self(0o7654_3210);

    /// Returns this map with `before` mapped to `behind`.
    #[must_use]
    pub fn with(mut self, before: Priority, behind: Priority) -> Self {
        let shift = 3 * before.index();
        self.0 = self.0 & !(7 << shift) | u32::from(behind.get()) << shift;
        self
    }

    /// Priority after the link.
    pub fn behind(&self, before: Priority) -> Priority {
        Priority::from_low_bits((self.0 >> (3 * before.index())) as u8)
    }

    /// Converts pauses for the classes after the link to the classes before it.
    pub(super) fn pauses_before<T: Copy>(
        &self,
        behind: [Option<T>; PRIORITY_COUNT],
    ) -> [Option<T>; PRIORITY_COUNT] {
        Priority::ALL.map(|before| behind[self.behind(before).index()])
    }
}

impl Default for PriorityMap {
    fn default() -> Self {
        Self::IDENTITY
    }
}

/// One flow: frames of one length from one host to another.
#[derive(Clone, Copy, Debug)]
pub struct FlowPlan {
    /// Sending host.
    pub from: u32,
    /// Receiving host.
    pub to: u32,
    /// Priority of its frames.
    pub priority: Priority,
    /// Frame length from destination address to last payload byte.
    pub frame: Bytes,
    /// Maximum rate; `None` for the line's.
    pub rate: Option<BitRate>,
    /// Time of the first frame.
    pub start: Instant,
    /// No frame from this time on.
    pub stop: Instant,
    /// Data to send; `None`: no limit.
    pub size: Option<Bytes>,
    /// From `start` on, it alternately sends for the first span and is silent for the second.
    pub on_off: Option<[Duration; 2]>,
    /// Hash for ECMP of its frames and their answers.
    pub flow_hash: u32,
    /// Congestion control.
    pub transport: Transport,
    /// Priority of its receiver's answers.
    pub answer_priority: Priority,
}

impl FlowPlan {
    /// Minimum Ethernet frame without its FCS: the last one of a flow is not shorter.
    pub const LENGTH_MIN: u64 = 60;
}

/// Derives another hash of the same flow from `seed`: a permutation of all hashes (the finalizer of MurmurHash3).
pub const fn mixed_hash(flow_hash: u32, seed: u32) -> u32 {
    let mut hash = flow_hash ^ seed;
    hash = (hash ^ (hash >> 16)).wrapping_mul(0x85eb_ca6b);
    hash = (hash ^ (hash >> 13)).wrapping_mul(0xc2b2_ae35);
    hash ^ (hash >> 16)
}

impl NetworkPlan {
    /// Source address of the host's frame with this sequence number.
    pub fn source(&self, host: u32, sequence: u32) -> MacAddress {
        let other = self.sources.iter().find(|(known, _)| *known == host);
        match other {
            None => host_address(host),
            Some((_, Source::Of(other))) => host_address(*other),
            Some((_, Source::Many(count))) => {
                MacAddress::from_u64(MADE_UP + u64::from(sequence % count))
            }
        }
    }

    /// Hash that `switch` derives from a frame's flow hash.
    pub fn hash_at(&self, switch: usize, flow_hash: u32) -> u32 {
        let seed = self.hash_seeds.get(switch);
        seed.map_or(flow_hash, |seed| mixed_hash(flow_hash, *seed))
    }
}

/// First of the addresses used by no station.
const MADE_UP: u64 = 0x0259_0000_0000;

/// Address of host `index`, as in scenario files.
pub const fn host_address(index: u32) -> MacAddress {
    MacAddress::from_u64(0x0257_0000_0001 + index as u64)
}

/// Address of port `port` of switch `index`.
pub const fn port_address(index: u32, port: u8) -> MacAddress {
    MacAddress::from_u64(0x0658_0000_0000 + ((index as u64) << 8) + port as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pause_holds_every_class_that_becomes_the_paused_one() {
        let [p3, p6, p1] = [3, 6, 1].map(|index| Priority::ALL[index]);
        // 3 → 6 → 1, and 1 is unchanged.
        let map = PriorityMap::IDENTITY.with(p3, p6).with(p6, p1);
        assert_eq!([p3, p6, p1].map(|before| map.behind(before)), [p6, p1, p1]);
        let mut told = [None; PRIORITY_COUNT];
        told[1] = Some(7);
        told[3] = Some(9);
        let mut held = [None; PRIORITY_COUNT];
        held[1] = Some(7);
        held[6] = Some(7);
        assert_eq!(map.pauses_before(told), held, "nothing becomes 3");
        told[6] = Some(0);
        held[3] = Some(0);
        assert_eq!(
            map.pauses_before(told),
            held,
            "a resume is told like a pause"
        );
    }
}
