//! Sets of ports and of priorities: a bit each.

mod ports;
mod priorities;

pub use ports::PortSet;
pub(crate) use priorities::PrioritySet;
