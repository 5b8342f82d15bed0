//! State that the switch exposes: gauges, recent flows, events.
//!
//! Owns the queue of events and the recent-flow monitor. Frames do not depend on this module, but a reroute moves the
//! flows recorded here.
//!
//! Design: docs/src/internals/design/core.md.

mod events;
mod explain;
mod flows;
mod gauges;

pub(in crate::switch) use events::Events;
pub use events::EVENT_CAPACITY;
pub use explain::{Explanation, Outlook};
pub(in crate::switch) use flows::Flows;
pub use flows::{FlowRecord, HALVINGS, WAYS};
pub use gauges::{CableGauges, LevelEntry, LevelGauges, PoolGauges, PriorityGauges, StormGauges};
