//! State that the switch exposes: gauges, and the treatment that a frame would get.
//!
//! Owns nothing and changes nothing but the peaks of gauges.
//!
//! Design: docs/src/internals/design/core.md.

mod explain;
mod gauges;

pub use explain::{Explanation, Outlook};
pub use gauges::{CableGauges, LevelEntry, LevelGauges, PoolGauges, PriorityGauges};
