//! In-band network telemetry that switches add to frames.

use weir_core::{BitRate, Instant};

/// Maximum number of switches recorded in a frame; later ones are ignored.
pub const HOPS_MAX: usize = 64;

/// Size in bytes of HPCC's telemetry in an acknowledgement: its header for five hops. In a flow's frames it is part of their
/// length.
pub const TELEMETRY_LENGTH_BYTES: u64 = 42;

/// Values written by one switch when the frame begins to leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hop {
    /// Line by which the frame leaves.
    pub line: u32,
    /// ts: time of departure.
    pub at: Instant,
    /// txBytes: bytes carried by the line before, with preamble, gap and FCS.
    pub sent_bytes: u64,
    /// qlen: bytes still waiting for that line.
    pub queue_bytes: u64,
    /// B: rate of the line.
    pub rate: BitRate,
}
