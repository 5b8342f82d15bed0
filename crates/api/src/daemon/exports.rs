//! `GET /v1/exports`.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// Streams to collectors; disabled ones are omitted.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Exports {
    /// The sFlow agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sflow: Option<Sflow>,
}

/// The sFlow agent: settings in force, and counters.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Sflow {
    /// Address and port of the collector.
    pub collector: String,
    /// Address that identifies the switch to the collector; `null` until the collector can be reached.
    pub agent: Option<String>,
    /// Interval between two counter samples of a port.
    pub interval_seconds: f64,
    /// One in this many received frames is sampled; `null` for none.
    pub sampling: Option<u32>,
    /// Maximum number of reports of dropped frames per second; `null` for none.
    pub drops_per_second: Option<u32>,
    /// Bytes of a frame in a sample or report.
    pub header_bytes: u64,
    /// Last error of sending, for one minute.
    pub error: Option<String>,
    /// Datagrams accepted by the kernel.
    pub datagrams_sent_total: u64,
    /// Errors returned for datagrams sent earlier.
    pub datagrams_refused_total: u64,
    /// Datagrams refused by the kernel.
    pub datagrams_lost_total: u64,
    /// Counter samples sent.
    pub counters_sent_total: u64,
    /// Counter samples lost with their datagram.
    pub counters_lost_total: u64,
    /// Frames from which samples were chosen.
    pub packets_seen_total: u64,
    /// Packet samples sent.
    pub packets_sent_total: u64,
    /// Packet samples lost.
    pub packets_lost_total: u64,
    /// Dropped frames.
    pub drops_seen_total: u64,
    /// Reports of dropped frames sent.
    pub drops_sent_total: u64,
    /// Dropped frames beyond the rate limit.
    pub drops_withheld_total: u64,
    /// Reports of dropped frames lost.
    pub drops_lost_total: u64,
}
