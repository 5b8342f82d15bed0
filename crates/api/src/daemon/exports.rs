//! `GET /v1/exports`.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// Streams to collectors; what is off is left out.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Exports {
    /// The sFlow agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sflow: Option<Sflow>,
}

/// The sFlow agent: settings in force, and what it has sent.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Sflow {
    /// Address and port of the collector.
    pub collector: String,
    /// Address by which the collector knows the switch; `null` until it can be reached.
    pub agent: Option<String>,
    /// Time between two counter samples of a port.
    pub interval_seconds: f64,
    /// One in this many received frames is sampled; `null` for none.
    pub sampling: Option<u32>,
    /// The most reports of dropped frames a second; `null` for none.
    pub drops_per_second: Option<u32>,
    /// Bytes of a frame in a sample or report.
    pub header_bytes: u64,
    /// The last error of sending, until a minute has passed without another one.
    pub error: Option<String>,
    /// Datagrams that the kernel took.
    pub datagrams_sent_total: u64,
    /// Errors that came back for datagrams sent before.
    pub datagrams_refused_total: u64,
    /// Datagrams that the kernel did not take.
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
