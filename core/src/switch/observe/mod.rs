//! What the switch shows of itself and changes nothing: gauges, recent flows.

mod events;
mod flows;
mod gauges;

pub(in crate::switch) use events::Events;
pub use events::EVENT_CAPACITY;
pub(in crate::switch) use flows::Flows;
pub use flows::{FlowRecord, HALVINGS, WAYS};
pub use gauges::{LevelEntry, LevelGauges, PriorityGauges};
