//! Streams to collectors. They run outside the dataplane, which never waits for them.
//!
//! Design: docs/src/internals/design/api.md.

mod collector;
pub mod ipfix;
pub mod sflow;
