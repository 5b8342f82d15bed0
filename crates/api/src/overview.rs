//! `GET /v1/overview`, and what the live page shows: the whole switch at one moment, bounded.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::daemon::{Deadlocks, Event, Levels, Pfc, Port, Status};

/// The header of an answer by TCP that has what the machine's monotonic clock said when the answer was sent, in nanoseconds.
/// The overview in the answer may be older: whoever compares clocks takes this one.
pub const CLOCK_HEADER: &str = "weir-clock";

/// The whole switch at one moment.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Overview {
    /// When, by the machine's wall clock, RFC 3339 in UTC.
    pub time: String,
    /// When, on the machine's monotonic clock: rates are differences of totals by differences of this.
    pub monotonic_nanos: u64,
    /// As `GET /v1/status`.
    pub status: Status,
    /// As `GET /v1/ports`.
    pub ports: Vec<Port>,
    /// By port: who is at the other end, where LLDP tells.
    pub neighbors: BTreeMap<String, String>,
    /// As `GET /v1/pfc`.
    pub pfc: Vec<Pfc>,
    /// As `GET /v1/levels`, with fewer destinations.
    pub levels: Levels,
    /// As `GET /v1/deadlocks`, with fewer past ones.
    pub deadlocks: Deadlocks,
    /// The newest events, newest first, without CLCM messages, of which there may be very many.
    pub events: Vec<Event>,
    /// The number of the newest event of all.
    pub last_event: u64,
}

/// `GET /curves` of the live page: what has gone through each port of late, so that curves of rates have a past when the page is
/// opened. Bounded: some moments of the history, evenly apart.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Curves {
    /// When each was taken, on the machine's monotonic clock, oldest first.
    pub monotonic_nanos: Vec<u64>,
    /// By port.
    pub ports: BTreeMap<String, Passed>,
}

/// What has gone through a port, at each moment of [`Curves`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Passed {
    /// Bytes admitted since the start.
    pub rx_bytes_total: Vec<u64>,
    /// Bytes sent since the start.
    pub tx_bytes_total: Vec<u64>,
}
