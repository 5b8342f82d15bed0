//! Static forwarding entries, and the room for changing them while the switch runs.

use crate::sets::vlans::VlanId;
use crate::sets::PortSet;
use crate::units::{Duration, MacAddress, PortId};

/// Buckets that one destination's group has at most.
pub const BUCKETS_MAX: usize = 4096;

/// Default number of buckets of a group.
pub const BUCKETS_DEFAULT: u16 = 64;

/// A static forwarding entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RouteConfig {
    /// Frames to this address …
    pub destination: MacAddress,
    /// … in this VLAN; `None` for those in any VLAN that has no entry of its own. In a switch to which tags mean nothing:
    /// `None`.
    pub vlan: Option<VlanId>,
    /// … leave by one of these ports, the members of its group. Never empty, none of them twice.
    pub ports: Vec<PortId>,
    /// A flow belongs to bucket (flow hash modulo this), and a bucket to one member; at the start they are
    /// dealt round the members in the order of port numbers. From the number of members to
    /// [`BUCKETS_MAX`]; without meaning for a single member.
    pub buckets: u16,
    /// Flows, by their hash, that leave by this member whatever their bucket, as by
    /// [`Command::PinFlow`](crate::Command::PinFlow). None twice, and none of a single member.
    pub pins: Vec<(u32, PortId)>,
}

impl RouteConfig {
    /// An entry with the usual number of buckets.
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

/// Returns the default number of buckets of a group of `members` ports: [`BUCKETS_DEFAULT`], or the
/// power of two from the number of members on.
pub const fn default_bucket_count(members: usize) -> u16 {
    if members <= BUCKETS_DEFAULT as usize {
        BUCKETS_DEFAULT
    } else if members <= BUCKETS_MAX {
        members.next_power_of_two() as u16
    } else {
        BUCKETS_MAX as u16
    }
}

/// The place of the member that a flow goes to at the start in a group of `members` ports with the usual number of
/// buckets: the hash picks a bucket, and buckets are dealt round the members. `None` for a group of none.
pub const fn default_member(flow_hash: u32, members: usize) -> Option<usize> {
    let bucket = flow_hash % default_bucket_count(members) as u32;
    (bucket as usize).checked_rem(members)
}

/// Capacity for routes that commands add to the configured ones. All of it is allocated by
/// [`Switch::new`](crate::Switch::new).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EcmpConfig {
    /// Destinations beside the configured ones.
    pub spare_routes: usize,
    /// Buckets beside those of the configured groups, 1 B each. A single member needs none.
    pub spare_buckets: usize,
    /// Flow pins in all, about 100 B each.
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
    /// Flows that it knows at most, 64 B each, rounded up to a power of two; zero turns it off.
    pub capacity: usize,
    /// A flow without a frame for this long is recent no more.
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
    /// From one probe of a port to the next; above zero.
    pub interval: Duration,
    /// A port floods again when no probe has come round for this long.
    pub hold: Duration,
    /// Reaction to addresses that move; `None` for nothing.
    pub moves: Option<MoveConfig>,
}

crate::named! {
    /// What is done about addresses that move between ports as no station does.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub enum OnMoves {
        /// Nothing.
        Off => "off",
        /// It is reported.
        Report => "report",
        /// It is reported, and probes are sent as broadcasts; a port by which one comes back is blocked.
        Block => "block" (default),
    }
}

/// When an address that moves between ports is taken for the sign of a loop: round a loop of devices that let no probe
/// through, a flooded frame comes back by the one port and by the other in turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MoveConfig {
    /// This many moves of one address …
    pub count: u8,
    /// … in so long a time, of whole milliseconds.
    pub within: Duration,
    /// Sends probes to the broadcast address from the two ports. A probe that comes back blocks
    /// like any other. Otherwise the sign is only reported.
    pub proves: bool,
}

/// Treatment of frames without a route of their own: those to group addresses and, with learning,
/// those to unknown addresses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FloodConfig {
    /// This switch's ports of the network's tree: the links that flooded frames use, which form no loop, and the ports
    /// to hosts. A frame that has no way of its own leaves by all of them but the one it came in by, and is dropped
    /// ([`OffTree`](crate::DropReason::OffTree)) when it came in by any other. To group addresses it is flooded also
    /// without learning, in lossy classes alone
    /// ([`LosslessGroup`](crate::DropReason::LosslessGroup)). `None`: every port, with learning alone.
    pub tree: Option<PortSet>,
    /// Frames a second that are flooded from one edge port; what is beyond is dropped
    /// ([`FloodRate`](crate::DropReason::FloodRate)). `None` for any number.
    pub edge_rate: Option<u32>,
    /// Limit of one fabric port.
    pub fabric_rate: Option<u32>,
}
