//! Sets of ports, of priorities and of VLANs: a bit each; and what a VLAN is.

mod ports;
mod priorities;
pub(crate) mod vlans;

pub use ports::PortSet;
pub(crate) use priorities::PrioritySet;
