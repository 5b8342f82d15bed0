//! Kernel objects: devices, and the sockets on them.
//!
//! Design: docs/src/internals/design/devices.md.

pub(super) mod devices;
pub(super) mod express;
pub(super) mod long_frames;
pub(super) mod napi;
pub(super) mod offloads;
pub mod packet_socket;
pub(super) mod queueing;
mod refused;
pub(super) mod settings;
pub(super) mod socket;
pub(super) mod xdp_io;

pub(super) use weir_doctor::ethtool;
