//! Frames as they are shown, read and filtered: what captures, impairments and the faults of scenarios have in common.

pub mod filter;
pub mod headers;
pub mod sight;

/// Frames that impairments of one switch delay at a time at most; what is beyond is dropped.
pub const DELAYED_MAX: usize = 1024;
/// The largest N of an impairment that meets one frame in N.
pub const ONE_IN_MAX: u64 = 1_000_000_000;
