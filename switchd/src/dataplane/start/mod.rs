//! From a configuration to threads that run: the programs of the ports, the sockets on one memory, the threads, and what of it can
//! be made before there is a place for it.
//!
//! Design: docs/src/internals/design/devices.md.

mod allowed;
pub(in crate::dataplane) mod attach;
pub(in crate::dataplane) mod binding;
pub(in crate::dataplane) mod launch;
pub(in crate::dataplane) mod programs;
pub(in crate::dataplane) mod reserve;
