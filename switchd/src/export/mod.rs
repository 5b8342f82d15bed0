//! Streams to collectors. They run beside the dataplane, which never waits for them.
//!
//! Design: docs/src/internals/design/api.md.

pub mod sflow;
