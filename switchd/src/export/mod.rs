//! Streams to collectors. They run outside the dataplane, which never waits for them.
//!
//! Design: docs/src/internals/design/api.md.

pub mod sflow;
