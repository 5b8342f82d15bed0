//! Body of `/v1/credits`: credits in both directions of each link.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::words::CreditState;

/// One (port, priority) of a class with credits, `GET /v1/credits`. Counters of credits are cyclic, modulo 2^32.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Credits {
    /// The port.
    pub port: String,
    /// The priority, 0 to 7.
    pub priority: u8,
    /// Slots of the port's RX ring that are kept for frames with a credit, of all its classes.
    pub slots: u32,
    /// Frames that the switch sends by credits of the neighbour.
    pub sending: SendingCredits,
    /// Frames that the neighbour sends by credits of the switch.
    pub receiving: ReceivingCredits,
    /// Messages of the whole port.
    pub messages: CreditMessages,
}

/// Credits that the neighbour has given.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct SendingCredits {
    /// What the neighbour makes of it.
    pub state: CreditState,
    /// Credits that frames have consumed.
    pub consumed: u32,
    /// Credits that the neighbour has freed.
    pub freed: u32,
    /// Credits used: consumed and not freed. No frame is sent beyond the limit.
    pub used: u32,
    /// The highest number of credits used.
    pub watermark: u32,
    /// Credits at most; 0 until the neighbour has answered.
    pub limit: u32,
}

/// Credits that the neighbour is given.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ReceivingCredits {
    /// What the neighbour makes of it.
    pub state: CreditState,
    /// Credits of the frames that have arrived.
    pub arrived: u32,
    /// Credits freed.
    pub freed: u32,
    /// Credits given whose frames have not arrived.
    pub outstanding: u32,
    /// Credits at most.
    pub limit: u32,
    /// Credits of lost frames that were returned.
    pub returned_total: u64,
}

/// Messages about credits at one port.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct CreditMessages {
    /// CF_Updates sent: credits freed for the neighbour.
    pub cf_updates_sent_total: u64,
    /// CF_Updates received.
    pub cf_updates_received_total: u64,
    /// CC_Updates sent: credits consumed of the neighbour's.
    pub cc_updates_sent_total: u64,
    /// CC_Updates received.
    pub cc_updates_received_total: u64,
    /// Those received that were late, or of another epoch.
    pub ignored_total: u64,
    /// Those received that no neighbour in order can have sent: spoilt on their way.
    pub implausible_total: u64,
}
