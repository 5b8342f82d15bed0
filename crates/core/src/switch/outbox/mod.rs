//! Pending notifications: events, messages due to a neighbour, ports to poll and timers to check.
//!
//! It knows neither frames nor rules. The room that changes something makes a note here; the room that passes it on
//! removes the note.
//!
//! Design: docs/src/internals/design/core.md.

mod due;
mod events;
mod ready;

pub(in crate::switch) use due::Due;
pub(in crate::switch) use events::Events;
pub use events::EVENT_CAPACITY;
pub(in crate::switch) use ready::Ready;
