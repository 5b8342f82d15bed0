//! Next hops of a whole network, and where they lead.

pub(super) mod compute;
mod next_hops;
mod walk;

pub(super) use next_hops::Builder;
pub use next_hops::{NextHops, NextHopsOf};
pub(super) use walk::{Stuck, Walk};
