//! Start of the dataplane: the ports' programs, the sockets on one memory, the threads, and a reserve of parts that can be
//! prepared in advance.
//!
//! Design: docs/src/internals/design/devices.md.

mod allowed;
pub(in crate::dataplane) mod attach;
pub(in crate::dataplane) mod binding;
pub(in crate::dataplane) mod launch;
pub(in crate::dataplane) mod programs;
pub(in crate::dataplane) mod reserve;
