//! In-band network telemetry that switches add to frames.

use weir_core::{BitRate, Instant};

/// Switches that a frame notes at most; what is behind them goes unnoted.
pub const HOPS_MAX: usize = 64;

/// Bytes that the telemetry of HPCC takes in an acknowledgement: its header for five hops. In the frames of a flow it is a
/// part of their length.
pub const TELEMETRY_LENGTH_BYTES: u64 = 42;

/// Values that one switch writes when the frame begins to leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hop {
    /// By which line it leaves.
    pub line: u32,
    /// ts: when.
    pub at: Instant,
    /// txBytes: what the line has carried before, with preamble, gap and FCS.
    pub sent_bytes: u64,
    /// qlen: what still waits for that line.
    pub queue_bytes: u64,
    /// B.
    pub rate: BitRate,
}
