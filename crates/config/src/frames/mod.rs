//! Display, parsing and filtering of frames, for captures, impairments and the faults of scenarios.

pub mod filter;
pub mod headers;
pub mod sight;

/// Maximum number of frames delayed by the impairments of a switch; further frames are dropped.
pub const DELAYED_MAX: usize = 1024;
/// Maximum N of an impairment that affects one frame in N.
pub const ONE_IN_MAX: u64 = 1_000_000_000;
