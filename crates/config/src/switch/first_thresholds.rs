//! Initial thresholds in configurations written by programs.

use weir_core::{BitRate, Bytes};

/// Thresholds of the shipped configuration, which is for 10 Gbit/s, in bytes for each Gbit/s.
const XOFF_PER_GBIT: u64 = 6 * 1024;
const HEADROOM_PER_GBIT: u64 = 372 * 1024;
/// Minimum xoff for any rate: some frames must fit.
const XOFF_MIN: u64 = 60 * 1024;
/// Distance of xon below xoff.
const XON_BELOW: u64 = 8 * 1024;
const STEP: Bytes = Bytes::new(1024);

/// Rule of thumb for the needs of a lossless class at a line, with a neighbour that obeys within 1 ms. The planner
/// computes exact values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FirstThresholds {
    /// Occupancy in bytes from which the neighbour is paused.
    pub xoff: Bytes,
    /// Occupancy in bytes above which it stays paused.
    pub xon: Bytes,
    /// Bytes that may still arrive after that.
    pub headroom: Bytes,
}

impl FirstThresholds {
    /// Thresholds for the rate of a switch's fastest port.
    pub fn for_rate(rate: BitRate) -> Self {
        let gbit = rate.get().div_ceil(1_000_000_000);
        let xoff = (gbit * XOFF_PER_GBIT).max(XOFF_MIN);
        Self {
            xoff: Bytes::new(xoff),
            xon: Bytes::new(xoff - XON_BELOW),
            headroom: Bytes::new(gbit * HEADROOM_PER_GBIT).round_up_to(STEP),
        }
    }
}
