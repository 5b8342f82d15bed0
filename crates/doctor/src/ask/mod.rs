//! Queries to the kernel: one module for each interface.

#[allow(unsafe_code)] // ioctl(2)
pub mod ethtool;
pub mod link;
pub mod namespace;
pub mod nature;
pub mod netdev;
#[allow(unsafe_code)] // adjtimex(2)
pub mod time;
