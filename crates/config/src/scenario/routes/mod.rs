//! Next hops of a whole network, the paths that they form, and the tree of frames without a next hop.

mod balancing;
pub(super) mod compute;
pub(super) mod multicast;
mod next_hops;
mod walk;

pub use balancing::{Balancing, Spread, SwitchSpread, FLOWLET_TABLE_DEFAULT, FLOWLET_TABLE_MAX};
pub(super) use next_hops::Builder;
pub use next_hops::{NextHops, NextHopsOf};
pub(super) use walk::{Stuck, Walk};
