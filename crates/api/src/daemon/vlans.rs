//! `GET /v1/vlans`: VLANs, their ports and counters, and learned addresses; `/v1/fdb`: only learned addresses.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// `GET /v1/vlans`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Vlans {
    /// True in a VLAN-aware switch: a port has `tag`, `trunks` or `vlan-mode`.
    pub vlan_aware: bool,
    /// By port, in the order of the configuration; empty if tags are ignored.
    pub ports: Vec<PortVlans>,
    /// VLANs that the configuration names or frames arrived in, in ascending order; at the end one without a number,
    /// for all VLANs without separate counters.
    pub vlans: Vec<VlanTraffic>,
    /// Learned addresses, bounded, by VLAN and address.
    pub learnt: Vec<LearntAddress>,
    /// True if there may be more.
    pub learnt_left_out: bool,
}

/// Treatment of VLAN tags by a port.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct PortVlans {
    /// The port.
    pub port: String,
    /// `access`, `trunk`, `native-tagged` or `native-untagged`.
    pub mode: String,
    /// The VLAN of frames that arrive untagged; 0 at a trunk.
    pub untagged: u16,
    /// Its VLANs: numbers and ranges.
    pub carries: Vec<String>,
}

/// One VLAN.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct VlanTraffic {
    /// Its number, 0 for untagged frames at trunks; absent for the sum of all VLANs without separate counters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vlan: Option<u16>,
    /// Ports by which its frames leave tagged.
    pub tagged: Vec<String>,
    /// Ports by which its frames leave untagged.
    pub untagged: Vec<String>,
    /// Frames admitted.
    pub rx_frames_total: u64,
    /// Their bytes, on arrival.
    pub rx_bytes_total: u64,
    /// Frames handed to a transmitter; a flooded frame counts for each port.
    pub tx_frames_total: u64,
    /// Their bytes, on departure.
    pub tx_bytes_total: u64,
    /// Copies of flooded frames that did not leave for lack of memory for a second form, or because a tag would have
    /// made them too long.
    pub copies_dropped_total: u64,
}

/// A learned source address.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct LearntAddress {
    /// The VLAN; 0 for frames without one.
    pub vlan: u16,
    /// The MAC address.
    pub address: String,
    /// The port behind which it is.
    pub port: String,
    /// Seconds since the last frame from it.
    pub idle_seconds: f64,
}

/// `GET /v1/fdb`: the forwarding database of learned addresses.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Fdb {
    /// True if the switch learns addresses (`forwarding.learning`).
    pub learning: bool,
    /// Number of learned addresses.
    pub count: u64,
    /// Capacity for learned addresses. They share sets of four places: an address may find no room before all places
    /// are taken.
    pub capacity: u64,
    /// By port, in the order of the configuration.
    pub ports: Vec<FdbPort>,
    /// Learned addresses, at most 4,096, by VLAN and address.
    pub addresses: Vec<LearntAddress>,
    /// Number of learned addresses not listed.
    pub left_out: u64,
}

/// The learned addresses of one port.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct FdbPort {
    /// The port.
    pub port: String,
    /// Number of learned addresses. An expired one counts until it is swept, within an eighth of `forwarding.age`.
    pub count: u64,
    /// Source addresses that found no room, or replaced one still in use.
    pub full_total: u64,
}

/// `POST /v1/fdb/flush`: addresses to forget. Without `port` and `vlan`: all.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct FdbFlush {
    /// Only addresses behind this port.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub port: Option<String>,
    /// Only addresses in this VLAN, 0 to 4094; 0 for untagged frames without a VLAN.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vlan: Option<u16>,
}

/// VLANs in which a port neither floods nor learns because of a loop.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct LoopBlocked {
    /// True for all VLANs, or in a switch that ignores tags.
    pub all: bool,
    /// Otherwise the VLANs: numbers, and ranges such as `20-29`.
    #[serde(default)]
    pub vlans: Vec<String>,
}

impl std::fmt::Display for LoopBlocked {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.all {
            true => f.write_str("all"),
            false => write!(f, "VLAN {}", self.vlans.join(",")),
        }
    }
}
