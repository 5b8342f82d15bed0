//! Departure of frames: ports to poll, frames that may leave, turns, and free lines.
//!
//! Owns the backlog of each (egress, priority) with the rules of releases, the turns between priorities and between
//! ingress ports, the precedence over them, the shapers, and the ports worth polling (`Ready`). Code that enables a transmission notes the
//! port or the timers there.
//!
//! Design: docs/src/internals/design/core.md.

mod choice;
mod egress;
mod eligibility;
mod express;
mod port_turns;
mod precedence;
mod priority_turn;
mod ready;
mod shaper;
mod transmit;

use choice::Offer;

pub(in crate::switch) use egress::{EgressState, ReleaseRule, WatchChange};
pub(in crate::switch) use port_turns::PortTurns;
pub(in crate::switch) use precedence::Precedence;
pub(in crate::switch) use priority_turn::PriorityTurn;
pub(in crate::switch) use ready::Ready;
pub(in crate::switch) use shaper::Shaper;
