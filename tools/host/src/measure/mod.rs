//! `weir-host measure`: how long a neighbour keeps sending after XOFF, seen from the other end of its cable.

pub mod load;
pub mod neighbour;
pub(crate) mod wire;

pub use neighbour::{measure, Plan, Reaction};
