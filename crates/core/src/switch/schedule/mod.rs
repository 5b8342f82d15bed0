//! Departure of frames: frames that may leave, turns, and free lines.
//!
//! Owns the turns between priorities and between ingress ports, the precedence over them, and the shapers. Code that
//! enables a transmission notes the port or the timers in `Ready`.
//!
//! Design: docs/src/internals/design/core.md.

mod choice;
mod eligibility;
mod express;
mod port_turns;
mod precedence;
mod priority_turn;
mod shaper;
mod transmit;

use choice::Offer;

pub(in crate::switch) use port_turns::PortTurns;
pub(in crate::switch) use precedence::Precedence;
pub(in crate::switch) use priority_turn::PriorityTurn;
pub(in crate::switch) use shaper::Shaper;
