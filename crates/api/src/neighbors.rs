//! `GET /v1/neighbors`: who is at the other end of the links, as LLDP told.
//!
//! Text that a neighbour sent is escaped where it is not printable: it is safe for a terminal.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::words::{ApplicationSelector, Coding, Mode, NeighborKind, SystemCapability};

/// One neighbour. A port has none or one; more than one where several systems talk on one link.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Neighbor {
    /// Our port.
    pub port: String,
    /// The neighbour's system: a MAC address, a network address or a name.
    pub chassis_id: String,
    /// What kind of identifier that is: the subtype of IEEE 802.1AB table 8-2.
    pub chassis_id_subtype: u8,
    /// The neighbour's port.
    pub port_id: String,
    /// What kind of identifier that is: the subtype of IEEE 802.1AB table 8-3.
    pub port_id_subtype: u8,
    /// Its port in words.
    pub port_description: Option<String>,
    /// Its name.
    pub system_name: Option<String>,
    /// Its hardware and software in words.
    pub system_description: Option<String>,
    /// What it is at present.
    pub capabilities: Vec<SystemCapability>,
    /// For how long it is known.
    pub known_seconds: f64,
    /// How long it wants to be believed after each announcement.
    pub ttl_seconds: u16,
    /// How much of that is left.
    pub ttl_left_seconds: f64,
    /// How the port speaks to it.
    pub kind: NeighborKind,
    /// Priorities that it pauses (802.1Qbb); absent when it says nothing about that.
    pub pfc: Option<NeighborPfc>,
    /// How it shares bandwidth (802.1Qaz); absent when it says nothing about that.
    pub ets: Option<NeighborEts>,
    /// Which applications it wants in which priority (802.1Qaz).
    pub applications: Vec<NeighborApplication>,
    /// What it says as a Weir switch; absent when it is none.
    pub weir: Option<NeighborWeir>,
    /// What is wrong between the port and its neighbours, one sentence each.
    pub mismatches: Vec<String>,
}

/// PFC of a neighbour.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct NeighborPfc {
    /// It takes over what we have.
    pub willing: bool,
    /// Where PFC is on.
    pub priorities: Vec<u8>,
}

/// ETS of a neighbour.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct NeighborEts {
    /// It takes over what we recommend.
    pub willing: bool,
    /// By priority: its traffic class.
    pub traffic_classes: Vec<u8>,
    /// By traffic class: its share of the bandwidth.
    pub bandwidth_percent: Vec<u8>,
}

/// One entry of a neighbour's application priorities.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct NeighborApplication {
    /// What it is known by.
    pub selector: ApplicationSelector,
    /// The EtherType, port or DSCP.
    pub id: u16,
    /// The priority that it should have.
    pub priority: u8,
}

/// What one Weir switch tells another.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct NeighborWeir {
    /// Version of the TLV and of the Level protocol. Of one that is not known here no more is told.
    pub version: u8,
    /// It takes part in CLCM elections.
    #[serde(default)]
    pub clcm: bool,
    /// It hears a neighbour with the same Levels, which it takes us for.
    #[serde(default)]
    pub hears: bool,
    /// How it is configured to send Feedback; absent when it does not say so.
    #[serde(default)]
    pub feedback: Option<Coding>,
    /// By priority: how it treats congestion.
    #[serde(default)]
    pub modes: Vec<Mode>,
    /// By priority: D of a class with Levels in links, else zero.
    #[serde(default)]
    pub depths: Vec<u8>,
}
