//! Thresholds that a configuration begins with which a program writes.

use weir_core::{BitRate, Bytes};

/// Thresholds of the shipped configuration, which is for 10 Gbit/s, in bytes for each Gbit/s.
const XOFF_PER_GBIT: u64 = 6 * 1024;
const HEADROOM_PER_GBIT: u64 = 372 * 1024;
/// The smallest xoff, whatever the rate: some frames have to fit.
const XOFF_MIN: u64 = 60 * 1024;
/// xon is so far below xoff.
const XON_BELOW: u64 = 8 * 1024;
const STEP: Bytes = Bytes::new(1024);

/// What a lossless class needs at a line by a rule of thumb, for a neighbour that obeys within 1 ms. The planner has the last
/// word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FirstThresholds {
    /// Bytes from which on the neighbour is paused.
    pub xoff: Bytes,
    /// Bytes down to which it stays paused.
    pub xon: Bytes,
    /// Bytes that may still come then.
    pub headroom: Bytes,
}

impl FirstThresholds {
    /// For the fastest of a switch's ports.
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
