//! `GET /v1/vlans`: VLANs, their ports and counters, and learnt addresses; `/v1/fdb`: learned addresses alone.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// `GET /v1/vlans`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Vlans {
    /// Whether VLAN tags mean anything here: a port has `tag`, `trunks` or `vlan-mode`.
    pub vlan_aware: bool,
    /// By port, in the order of the configuration; empty where tags mean nothing.
    pub ports: Vec<PortVlans>,
    /// VLANs that the configuration names or a frame came in, in the order of their numbers; at the end one without a number, of
    /// all for which there is no place.
    pub vlans: Vec<VlanTraffic>,
    /// Learnt addresses, bounded, by VLAN and address.
    pub learnt: Vec<LearntAddress>,
    /// Whether there may be more.
    pub learnt_left_out: bool,
}

/// What a port makes of VLAN tags.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct PortVlans {
    /// The port.
    pub port: String,
    /// `access`, `trunk`, `native-tagged` or `native-untagged`.
    pub mode: String,
    /// The VLAN of frames that come in without a tag; 0 at a trunk.
    pub untagged: u16,
    /// VLANs that it carries: numbers and ranges.
    pub carries: Vec<String>,
}

/// One VLAN.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct VlanTraffic {
    /// Its number, 0 for frames without a tag at trunks; absent for all VLANs together that have no place.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vlan: Option<u16>,
    /// Ports by which its frames leave with a tag.
    pub tagged: Vec<String>,
    /// Ports by which they leave without one.
    pub untagged: Vec<String>,
    /// Frames admitted.
    pub rx_frames_total: u64,
    /// Their bytes, as they came in.
    pub rx_bytes_total: u64,
    /// Frames handed to a transmitter; a flooded frame counts for each port.
    pub tx_frames_total: u64,
    /// Their bytes, as they left.
    pub tx_bytes_total: u64,
    /// Copies of flooded frames that did not leave for want of memory for a second form, or because a tag would have made them too
    /// long.
    pub copies_dropped_total: u64,
}

/// An address that frames came from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct LearntAddress {
    /// The VLAN; 0 for frames without one.
    pub vlan: u16,
    /// The MAC address.
    pub address: String,
    /// The port that it is behind.
    pub port: String,
    /// Seconds since the last frame from it.
    pub idle_seconds: f64,
}

/// `GET /v1/fdb`: the forwarding database, which is what frames have taught the switch.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Fdb {
    /// The switch learns addresses (`forwarding.learning`).
    pub learning: bool,
    /// Learned addresses.
    pub count: u64,
    /// Learned addresses that there is room for. They share sets of four places: an address may find no room before all
    /// places are taken.
    pub capacity: u64,
    /// By port, in the order of the configuration.
    pub ports: Vec<FdbPort>,
    /// Learned addresses, at most 4,096, by VLAN and address.
    pub addresses: Vec<LearntAddress>,
    /// Learned addresses that are not shown.
    pub left_out: u64,
}

/// The learned addresses of one port.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct FdbPort {
    /// The port.
    pub port: String,
    /// Learned addresses behind it. One that is too old counts until it is swept, within an eighth of `forwarding.age`.
    pub count: u64,
    /// Addresses of its frames that found no room, or took that of an address that was still known.
    pub full_total: u64,
}

/// `POST /v1/fdb/flush`: which addresses to forget. Without `port` and `vlan`: all.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct FdbFlush {
    /// Only those behind this port.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub port: Option<String>,
    /// Only those in this VLAN, 0 to 4094; 0 for frames without one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vlan: Option<u16>,
}

/// What of a port floods and learns nothing because of a loop.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct LoopBlocked {
    /// True if it is so in all VLANs, or in a switch whose ports have none.
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
