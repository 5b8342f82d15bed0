//! Protocol P at one switch (Karol, Golestani and Lee, section III, with the round trips of section V).

mod budget;
mod feedback;
mod grants;
mod loans;
mod rules;
mod state;
mod table;
mod told;

pub(super) use budget::Budget;
pub(super) use feedback::{FeedbackReceived, FeedbackSent, Manner};
pub(super) use grants::{GrantsGiven, GrantsTaken};
pub(super) use rules::Assignment;
pub(super) use state::LevelState;
pub(super) use table::{EntryId, LevelTable, ShareId};
pub(super) use told::Told;
