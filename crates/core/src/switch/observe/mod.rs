//! State that the switch exposes: gauges and recent flows.
//!
//! Owns the recent-flow monitor. Frames do not depend on this module, but a reroute moves the
//! flows recorded here.
//!
//! Design: docs/src/internals/design/core.md.

mod explain;
mod flows;
mod gauges;

pub use explain::{Explanation, Outlook};
pub(in crate::switch) use flows::Flows;
pub use flows::{FlowRecord, HALVINGS, WAYS};
pub use gauges::{CableGauges, LevelEntry, LevelGauges, PoolGauges, PriorityGauges, StormGauges};
