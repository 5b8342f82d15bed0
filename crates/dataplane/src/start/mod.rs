//! Start of the dataplane: the ports' programs, the sockets on one memory, the threads, and a reserve of parts that can be
//! prepared in advance.
//!
//! Design: docs/src/internals/design/devices.md.

mod allowed;
pub(crate) mod attach;
pub(crate) mod binding;
mod fabric_key;
pub(crate) mod launch;
pub(crate) mod programs;
pub(crate) mod reserve;
