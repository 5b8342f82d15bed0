//! Static forwarding entries, and the room for changing them while the switch runs.

use crate::sets::vlans::VlanId;
use crate::sets::PortSet;
use crate::units::{Duration, MacAddress, PortId};

/// Maximum number of buckets of one destination's group.
pub const BUCKETS_MAX: usize = 4096;

/// Default number of buckets of a group.
pub const BUCKETS_DEFAULT: u16 = 64;

/// A static forwarding entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RouteConfig {
    /// Destination address of the frames.
    pub destination: MacAddress,
    /// Their VLAN; `None` for all VLANs without a separate entry, and in a switch that ignores tags.
    pub vlan: Option<VlanId>,
    /// Ports by one of which they leave: the members of the group. Never empty, without duplicates.
    pub ports: Vec<PortId>,
    /// Number of buckets, from the number of members to [`BUCKETS_MAX`]; unused for a single member. A flow belongs to
    /// bucket (flow hash modulo this), and a bucket to one member. At the start the buckets are dealt to the members in
    /// the order of port numbers.
    pub buckets: u16,
    /// Flows, by hash, that leave by this member regardless of their bucket, as with
    /// [`Command::PinFlow`](crate::Command::PinFlow). Without duplicates, and empty for a single member.
    pub pins: Vec<(u32, PortId)>,
}

impl RouteConfig {
    /// Creates an entry with the default number of buckets.
    pub fn new(destination: MacAddress, ports: Vec<PortId>) -> Self {
        Self {
            destination,
            vlan: None,
            buckets: default_bucket_count(ports.len()),
            ports,
            pins: Vec::new(),
        }
    }
}

/// Returns the default number of buckets of a group of `members` ports: [`BUCKETS_DEFAULT`], or the next power of two
/// if there are more members.
pub const fn default_bucket_count(members: usize) -> u16 {
    if members <= BUCKETS_DEFAULT as usize {
        BUCKETS_DEFAULT
    } else if members <= BUCKETS_MAX {
        members.next_power_of_two() as u16
    } else {
        BUCKETS_MAX as u16
    }
}

/// Index of the member that a flow initially uses, in a group of `members` ports with the default number of buckets:
/// the hash picks a bucket, and buckets are dealt to the members in turn. `None` for an empty group.
pub const fn default_member(flow_hash: u32, members: usize) -> Option<usize> {
    let bucket = flow_hash % default_bucket_count(members) as u32;
    (bucket as usize).checked_rem(members)
}

/// Capacity for routes that commands add to the configured ones. All of it is allocated by
/// [`Switch::new`](crate::Switch::new).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EcmpConfig {
    /// Destinations in addition to the configured ones.
    pub spare_routes: usize,
    /// Buckets in addition to those of the configured groups, 1 B each. A single member needs none.
    pub spare_buckets: usize,
    /// Maximum number of flow pins, about 100 B each.
    pub pin_capacity: usize,
}

impl Default for EcmpConfig {
    fn default() -> Self {
        Self {
            spare_routes: 64,
            spare_buckets: BUCKETS_MAX,
            pin_capacity: 256,
        }
    }
}

/// The recent-flow monitor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlowMonitorConfig {
    /// Maximum number of flows, 64 B each, rounded up to a power of two; zero turns the monitor off.
    pub capacity: usize,
    /// A flow without a frame for this long is no longer recent.
    pub age: Duration,
}

impl Default for FlowMonitorConfig {
    fn default() -> Self {
        Self {
            capacity: 0,
            age: Duration::from_secs(10),
        }
    }
}

/// Detection of loops of flooded frames where addresses are learnt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LoopConfig {
    /// Time between two probes of a port; above zero.
    pub interval: Duration,
    /// A port floods again when no probe has returned for this long.
    pub hold: Duration,
    /// Reaction to addresses that move; `None` for nothing.
    pub moves: Option<MoveConfig>,
}

crate::named! {
    /// Reaction to addresses that move between ports more often than a station would.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub enum OnMoves {
        /// None.
        Off => "off",
        /// Report it.
        Report => "report",
        /// Report it and send probes as broadcasts; a port on which a probe returns is blocked.
        Block => "block" (default),
    }
}

/// When moves of an address count as the sign of a loop: behind devices that let no probe through, a flooded frame
/// comes back on one port and the other in turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MoveConfig {
    /// Number of moves of one address within [`within`](Self::within).
    pub count: u8,
    /// Time span of the moves, in whole milliseconds.
    pub within: Duration,
    /// Sends probes to the broadcast address from the two ports. A returning probe blocks like any other. If false, the
    /// sign is only reported.
    pub proves: bool,
}

/// Treatment of frames without a route: those to group addresses and, with learning, those to unknown
/// addresses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FloodConfig {
    /// This switch's ports of the flooding tree: the links that flooded frames use, which form no loop, and the ports
    /// to hosts. A frame without a route leaves by all of them except its ingress port, and is dropped
    /// ([`OffTree`](crate::DropReason::OffTree)) if it arrived on any other port. Frames to group addresses are flooded
    /// even without learning, but only in lossy classes ([`LosslessGroup`](crate::DropReason::LosslessGroup)). `None`:
    /// all ports, and only with learning.
    pub tree: Option<PortSet>,
    /// Frames per second flooded from one edge port; excess frames are dropped
    /// ([`FloodRate`](crate::DropReason::FloodRate)). `None` for unlimited.
    pub edge_rate: Option<u32>,
    /// Limit of one fabric port.
    pub fabric_rate: Option<u32>,
}
