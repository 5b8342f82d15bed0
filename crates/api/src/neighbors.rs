//! `GET /v1/neighbors`: the systems at the other ends of the links, as announced by LLDP.
//!
//! Unprintable text from a neighbour is escaped: it is safe for a terminal.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::words::{
    ApplicationSelector, Coding, Mode, NeighborKind, SystemCapability, WithoutCredits,
};

/// One neighbour. A port has at most one, or several if several systems send on one link.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Neighbor {
    /// Our port.
    pub port: String,
    /// The neighbour's system: a MAC address, a network address or a name.
    pub chassis_id: String,
    /// Type of that identifier: the subtype of IEEE 802.1AB table 8-2.
    pub chassis_id_subtype: u8,
    /// The neighbour's port.
    pub port_id: String,
    /// Type of that identifier: the subtype of IEEE 802.1AB table 8-3.
    pub port_id_subtype: u8,
    /// Description of its port.
    pub port_description: Option<String>,
    /// Its name.
    pub system_name: Option<String>,
    /// Description of its hardware and software.
    pub system_description: Option<String>,
    /// Its enabled capabilities.
    pub capabilities: Vec<SystemCapability>,
    /// Time since it was first heard.
    pub known_seconds: f64,
    /// Lifetime of each announcement.
    pub ttl_seconds: u16,
    /// The remainder of that.
    pub ttl_left_seconds: f64,
    /// Kind of neighbour assumed by the port.
    pub kind: NeighborKind,
    /// Priorities that it pauses (802.1Qbb); absent if not announced.
    pub pfc: Option<NeighborPfc>,
    /// Its sharing of bandwidth (802.1Qaz); absent if not announced.
    pub ets: Option<NeighborEts>,
    /// Its priorities of applications (802.1Qaz).
    pub applications: Vec<NeighborApplication>,
    /// Its announcement as a Weir switch; absent for others.
    pub weir: Option<NeighborWeir>,
    /// Its announcement of credits; absent if it announces none.
    pub credits: Option<NeighborCredits>,
    /// Mismatches between the port and its neighbours, one sentence each.
    pub mismatches: Vec<String>,
}

/// PFC of a neighbour.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct NeighborPfc {
    /// It adopts our configuration.
    pub willing: bool,
    /// Priorities with PFC.
    pub priorities: Vec<u8>,
}

/// ETS of a neighbour.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct NeighborEts {
    /// It adopts our recommendation.
    pub willing: bool,
    /// By priority: its traffic class.
    pub traffic_classes: Vec<u8>,
    /// By traffic class: its share of the bandwidth.
    pub bandwidth_percent: Vec<u8>,
}

/// One entry of a neighbour's application priorities.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct NeighborApplication {
    /// Type of `id`.
    pub selector: ApplicationSelector,
    /// The EtherType, port or DSCP.
    pub id: u16,
    /// Priority of the application.
    pub priority: u8,
}

/// Announcement between Weir switches.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct NeighborWeir {
    /// Version of the TLV and of the Level protocol. If unknown here, the other fields are empty.
    pub version: u8,
    /// It takes part in CLCM elections.
    #[serde(default)]
    pub clcm: bool,
    /// It hears a neighbour with the same Levels, which it assumes to be us.
    #[serde(default)]
    pub hears: bool,
    /// Its configured coding of Feedback; absent if not announced.
    #[serde(default)]
    pub feedback: Option<Coding>,
    /// By priority: reaction to congestion.
    #[serde(default)]
    pub modes: Vec<Mode>,
    /// By priority: D of a class with Levels in links, otherwise zero.
    #[serde(default)]
    pub depths: Vec<u8>,
}

/// Credits announced by a Weir switch. The messages about credits, not this announcement, decide which are given.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct NeighborCredits {
    /// Version of the announcement. If unknown here, the other fields are empty.
    pub version: u8,
    /// Its port gives credits.
    #[serde(default)]
    pub gives: bool,
    /// Longest frame that it sends; absent if not announced.
    #[serde(default)]
    pub longest_frame_bytes: Option<u16>,
    /// Its classes with credits, one for each priority.
    #[serde(default)]
    pub classes: Vec<NeighborCreditClass>,
}

/// Credits of one priority at a neighbour.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct NeighborCreditClass {
    /// The priority, 0 to 7.
    pub priority: u8,
    /// Maximum number of credits that it gives.
    pub limit: u32,
    /// Bytes per credit.
    pub size_bytes: u16,
    /// Bytes added to each frame.
    pub overhead_bytes: i8,
    /// Its treatment of a neighbour that does not use credits.
    pub fallback: WithoutCredits,
}
