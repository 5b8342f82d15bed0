//! What a network is made of, before it runs.

use super::faults::actions::Action;
use super::faults::impairment::ImpairmentPlan;
use weir_config::scenario::{
    DcqcnConfig, Spread, SwitchSpread, Transport, TransportConfig, WindowConfig,
};
use weir_core::control::{ControlConfig, StormNeighbour};
use weir_core::units::PRIORITY_COUNT;
use weir_core::{BitRate, Bytes, Duration, Instant, MacAddress, PortId, Priority, SwitchConfig};

/// A flow that waits for another one. It begins when all that it waits for have arrived whole and been computed with, and not
/// before its start.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Dependency {
    /// Goes to the sender of `next`, and has a size.
    pub done: u32,
    /// The one that waits.
    pub next: u32,
    /// For how long the host computes with what has arrived.
    pub compute: Duration,
}

/// The source address of a host's frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// The address of this host.
    Of(u32),
    /// So many, one after the other.
    Many(u32),
}

/// A whole network. Switches, hosts, links and flows are named by their index.
#[derive(Clone, Debug, Default)]
pub struct NetworkPlan {
    /// The switches.
    pub switches: Vec<SwitchPlan>,
    /// The hosts, one link each.
    pub hosts: Vec<HostPlan>,
    /// Links, between switches and to hosts. Each port and each host has at most one.
    pub links: Vec<LinkPlan>,
    /// Who sends what to whom.
    pub flows: Vec<FlowPlan>,
    /// Flows that wait for others.
    pub dependencies: Vec<Dependency>,
    /// Of flows with DCQCN.
    pub dcqcn: DcqcnConfig,
    /// Of flows with a window.
    pub window: WindowConfig,
    /// Of flows with other transports.
    pub transports: TransportConfig,
    /// The longest round trip of a flow in the empty network. Above zero where a transport goes by it: HPCC's T, and a limit
    /// of one product of bandwidth and delay.
    pub base_round_trip: Duration,
    /// By switch: what it mixes into flow hashes. Empty: all hash alike.
    pub hash_seeds: Vec<u32>,
    /// What keeps to one hash at its sender.
    pub spread: Spread,
    /// What switches spread by themselves; `None`: nothing.
    pub spread_at_switches: Option<SwitchSpread>,
    /// Hosts whose frames have another source address than their own.
    pub sources: Vec<(u32, Source)>,
    /// What is done to the network, and when.
    pub actions: Vec<(Instant, Action)>,
    /// Impairments, for actions that begin and end them.
    pub impairments: Vec<ImpairmentPlan>,
    /// Of the randomness of faults.
    pub seed: u64,
    /// Interval of the curves; `None`: no curves.
    pub sample_interval: Option<Duration>,
    /// When what flows have delivered counts as their last part.
    pub last_part_from: Instant,
    /// Entries that the log keeps at most; more are counted.
    pub log_capacity: usize,
}

/// One switch.
#[derive(Clone, Debug)]
pub struct SwitchPlan {
    /// Its dataplane.
    pub config: SwitchConfig,
    /// Its control plane; `None`: nobody listens to its events.
    pub control: Option<ControlPlan>,
}

/// A control plane and the CPU that it runs on.
#[derive(Clone, Debug)]
pub struct ControlPlan {
    /// Its settings.
    pub config: ControlConfig,
    /// Where its identifiers come from.
    pub seed: u64,
    /// From the dataplane to the CPU, and from there to the dataplane, each.
    pub latency: Duration,
    /// By port: what is known of the neighbour when it comes to storms.
    pub storm_neighbours: Vec<StormNeighbour>,
}

/// One host.
#[derive(Clone, Copy, Debug)]
pub struct HostPlan {
    /// Its line's rate.
    pub rate: BitRate,
    /// Whether it obeys PFC.
    pub obeys_pfc: bool,
}

/// One end of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// A port of a switch.
    Port {
        /// Which switch.
        switch: u32,
        /// Which of its ports.
        port: PortId,
    },
    /// A host.
    Host(u32),
}

impl End {
    /// The switch and its port; `None` for a host.
    pub(crate) const fn node_and_port(self) -> Option<(usize, PortId)> {
        match self {
            Self::Port { switch, port } => Some((switch as usize, port)),
            Self::Host(_) => None,
        }
    }
}

/// One link. Its rate is that of the port or host that sends.
#[derive(Clone, Copy, Debug)]
pub struct LinkPlan {
    /// Its two ends.
    pub ends: [End; 2],
    /// From one end to the other, after the last bit was sent.
    pub delay: Duration,
    /// Which priority data frames have on the way from the first end to the second, and back.
    pub priority_map: [PriorityMap; 2],
}

/// Which priority a data frame has behind a link, by the one that it had before.
///
/// The frame waits in its switch in the class before the link and is charged behind it in the class after it. A
/// pause for a class after the link therefore holds all classes that become it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PriorityMap(
    /// Three bits for each priority before the link, so that a line's state fits a cache line.
    u32,
);

impl PriorityMap {
    /// Every frame keeps its priority.
    pub const IDENTITY: Self = Self(0o7654_3210);

    /// The same, but that `before` becomes `behind`.
    #[must_use]
    pub fn with(mut self, before: Priority, behind: Priority) -> Self {
        let shift = 3 * before.index();
        self.0 = self.0 & !(7 << shift) | u32::from(behind.get()) << shift;
        self
    }

    /// What `before` becomes.
    pub fn behind(&self, before: Priority) -> Priority {
        Priority::from_low_bits((self.0 >> (3 * before.index())) as u8)
    }

    /// Pauses that were told for the classes behind the link, by the classes before it.
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
    /// How fast it sends at most; `None`: as fast as the line.
    pub rate: Option<BitRate>,
    /// First frame.
    pub start: Instant,
    /// No frame from here on.
    pub stop: Instant,
    /// How much it sends; `None`: no limit.
    pub size: Option<Bytes>,
    /// It sends for the first span and is silent for the second, in turns from `start` on.
    pub on_off: Option<[Duration; 2]>,
    /// What ECMP goes by, for its frames and for the answers to them.
    pub flow_hash: u32,
    /// How it answers to congestion.
    pub transport: Transport,
    /// Priority of what its receiver answers.
    pub answer_priority: Priority,
}

impl FlowPlan {
    /// The shortest frame that Ethernet carries, without its FCS: the last one of a flow is no shorter.
    pub const LENGTH_MIN: u64 = 60;
}

/// Another hash of the same flow, by `seed`: a permutation of all hashes (the finalizer of MurmurHash3).
pub const fn mixed_hash(flow_hash: u32, seed: u32) -> u32 {
    let mut hash = flow_hash ^ seed;
    hash = (hash ^ (hash >> 16)).wrapping_mul(0x85eb_ca6b);
    hash = (hash ^ (hash >> 13)).wrapping_mul(0xc2b2_ae35);
    hash ^ (hash >> 16)
}

impl NetworkPlan {
    /// The source address of a host's frame with this sequence number.
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

    /// What `switch` makes of a frame's flow hash.
    pub fn hash_at(&self, switch: usize, flow_hash: u32) -> u32 {
        let seed = self.hash_seeds.get(switch);
        seed.map_or(flow_hash, |seed| mixed_hash(flow_hash, *seed))
    }
}

/// The first of the addresses that nobody has.
const MADE_UP: u64 = 0x0259_0000_0000;

/// The address of host `index`, as scenario files have it.
pub const fn host_address(index: u32) -> MacAddress {
    MacAddress::from_u64(0x0257_0000_0001 + index as u64)
}

/// The address of port `port` of switch `index`.
pub const fn port_address(index: u32, port: u8) -> MacAddress {
    MacAddress::from_u64(0x0658_0000_0000 + ((index as u64) << 8) + port as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pause_holds_every_class_that_becomes_the_paused_one() {
        let [p3, p6, p1] = [3, 6, 1].map(|index| Priority::ALL[index]);
        // 3 → 6 → 1, and 1 stays.
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
