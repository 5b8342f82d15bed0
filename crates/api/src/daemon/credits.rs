//! Body of `/v1/credits`: credits in both directions of each link.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::words::CreditState;

/// One (port, priority) of a class with credits, `GET /v1/credits`. Credit counters are cyclic, modulo 2^32.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Credits {
    /// The port.
    pub port: String,
    /// The priority, 0 to 7.
    pub priority: u8,
    /// Slots of the port's RX ring reserved for frames with a credit, for all its classes.
    pub slots: u32,
    /// True if a neighbour announces credits of the priority by LLDP, false if none does; absent if none is heard.
    pub announced: Option<bool>,
    /// Frames that the switch sends by the neighbour's credits.
    pub sending: SendingCredits,
    /// Frames that the neighbour sends by the switch's credits.
    pub receiving: ReceivingCredits,
    /// Messages of the whole port.
    pub messages: CreditMessages,
}

/// Credits given by the neighbour.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct SendingCredits {
    /// State at the neighbour.
    pub state: CreditState,
    /// Credits consumed by frames.
    pub consumed: u32,
    /// Credits freed by the neighbour.
    pub freed: u32,
    /// Credits used: consumed and not freed. No frame is sent beyond the limit.
    pub used: u32,
    /// Highest number of credits used.
    pub watermark: u32,
    /// Maximum number of credits; 0 until the neighbour has answered.
    pub limit: u32,
}

/// Credits given to the neighbour.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ReceivingCredits {
    /// State at the neighbour.
    pub state: CreditState,
    /// Credits of the frames that have arrived.
    pub arrived: u32,
    /// Credits freed.
    pub freed: u32,
    /// Credits given whose frames have not arrived.
    pub outstanding: u32,
    /// Maximum number of credits.
    pub limit: u32,
    /// Credits returned for lost frames.
    pub returned_total: u64,
}

/// Messages about credits at one port.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct CreditMessages {
    /// CF_Updates sent: credits freed for the neighbour.
    pub cf_updates_sent_total: u64,
    /// CF_Updates received.
    pub cf_updates_received_total: u64,
    /// CC_Updates sent: consumption of the neighbour's credits.
    pub cc_updates_sent_total: u64,
    /// CC_Updates received.
    pub cc_updates_received_total: u64,
    /// Received ones that were late, or of another epoch.
    pub ignored_total: u64,
    /// Received ones that no working neighbour can have sent: corrupted.
    pub implausible_total: u64,
}
