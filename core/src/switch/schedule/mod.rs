//! The way of a frame out: which port is worth asking, which priority has its turn, when the line is free.

mod choice;
mod egress;
mod eligibility;
mod priority_turn;
mod ready;
mod shaper;
mod transmit;

pub(in crate::switch) use egress::{EgressState, ReleaseRule, WatchChange};
pub(in crate::switch) use priority_turn::PriorityTurn;
pub(in crate::switch) use ready::Ready;
pub(in crate::switch) use shaper::Shaper;
