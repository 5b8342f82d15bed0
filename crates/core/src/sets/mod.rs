//! Bitmaps of ports, priorities and VLANs, and the types of a VLAN.

mod ports;
mod priorities;
pub(crate) mod vlans;

pub use ports::PortSet;
pub(crate) use priorities::PrioritySet;
