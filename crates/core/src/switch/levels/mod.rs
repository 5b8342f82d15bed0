//! Protocol P in one switch (Karol, Golestani and Lee, section III, with the round trips of section V).
//!
//! Owns the Level Table, and for each link and class the bytes stored by Level and the Feedback sent and received.
//! Admission calls the rules (`rules.rs`) before and after a frame is charged, and when it has left. They lift waiting
//! frames and note the resulting Feedback; the link sends it.
//!
//! Design: docs/src/internals/design/levels.md.

mod budget;
mod feedback;
mod grants;
mod loans;
mod received;
mod rules;
mod state;
mod table;
mod told;

pub(super) use budget::Budget;
pub(super) use feedback::{FeedbackSent, Manner};
pub(super) use grants::{GrantsGiven, GrantsTaken};
pub(super) use received::FeedbackReceived;
pub(super) use rules::Assignment;
pub(super) use state::LevelState;
pub(super) use table::{EntryId, LevelTable, ShareId};
pub(super) use told::Told;
