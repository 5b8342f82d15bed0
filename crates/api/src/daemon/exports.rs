//! `GET /v1/exports`.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// Streams to collectors; disabled ones are omitted.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Exports {
    /// The sFlow agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sflow: Option<Sflow>,
    /// The IPFIX stream.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ipfix: Option<Ipfix>,
}

/// The sFlow agent: settings in force, and counters.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Sflow {
    /// Address and port of the collector.
    pub collector: String,
    /// Address by which the collector knows the switch; `null` if none is set and there was no route at the start.
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

/// The IPFIX stream: settings in force, and counts of sent messages.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Ipfix {
    /// Address and port of the collector.
    pub collector: String,
    /// Time between two readings.
    pub interval_seconds: f64,
    /// The switch's number in messages.
    pub observation_domain: u32,
    /// Private enterprise number of the stream's own elements.
    pub enterprise: u32,
    /// The last error of sending, until a minute has passed without another one.
    pub error: Option<String>,
    /// Messages that the kernel accepted.
    pub messages_sent_total: u64,
    /// Errors returned for earlier messages.
    pub messages_refused_total: u64,
    /// Messages that the kernel did not accept.
    pub messages_lost_total: u64,
    /// Records sent.
    pub records_sent_total: u64,
    /// Records withheld because nothing had changed.
    pub records_unchanged_total: u64,
    /// Records lost with their message; later ones have their increases.
    pub records_lost_total: u64,
    /// Readings that were exported.
    pub readings_exported_total: u64,
    /// Readings whose time the dataplane thread missed.
    pub readings_late_total: u64,
    /// Readings for which the exporter had left no memory.
    pub readings_no_memory_total: u64,
}
