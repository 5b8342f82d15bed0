//! Captures: how what was seen is written down.
//!
//! The dataplane shows frames to [taps](crate::dataplane::tap); what stands here runs beside it.
//!
//! Design: docs/src/internals/design/api.md.

pub mod describe;
pub mod pcapng;
