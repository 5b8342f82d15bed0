//! `GET /v1/overview`, and the data of the live page: the whole switch at one moment, bounded.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::daemon::{Deadlocks, Event, Levels, Pfc, Port, Status};

/// Header of answers over TCP with the machine's monotonic clock at the time of sending, in nanoseconds. The overview
/// in the answer may be older: use this header to compare clocks.
pub const CLOCK_HEADER: &str = "weir-clock";

/// The whole switch at one moment.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Overview {
    /// Time by the machine's wall clock, RFC 3339 in UTC.
    pub time: String,
    /// Time on the machine's monotonic clock: rates are differences of totals divided by differences of this.
    pub monotonic_nanos: u64,
    /// As in `GET /v1/status`.
    pub status: Status,
    /// As in `GET /v1/ports`.
    pub ports: Vec<Port>,
    /// By port: name of the neighbour, if known from LLDP.
    pub neighbors: BTreeMap<String, String>,
    /// As in `GET /v1/pfc`.
    pub pfc: Vec<Pfc>,
    /// As in `GET /v1/levels`, with fewer destinations.
    pub levels: Levels,
    /// As in `GET /v1/deadlocks`, with fewer past ones.
    pub deadlocks: Deadlocks,
    /// The newest events, newest first, without CLCM messages, which may be very many.
    pub events: Vec<Event>,
    /// Number of the newest event of all.
    pub last_event: u64,
}

/// `GET /curves` of the live page: recent traffic of each port, so that curves of rates have a past when the page is
/// opened. Bounded: some samples of the history at equal distances.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Curves {
    /// Times of the samples, on the machine's monotonic clock, oldest first.
    pub monotonic_nanos: Vec<u64>,
    /// By port.
    pub ports: BTreeMap<String, Passed>,
}

/// Traffic of a port, for each sample of [`Curves`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Passed {
    /// Bytes admitted since the start.
    pub rx_bytes_total: Vec<u64>,
    /// Bytes sent since the start.
    pub tx_bytes_total: Vec<u64>,
}
