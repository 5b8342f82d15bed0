//! Captures: recording of frames.
//!
//! The dataplane shows frames to [taps](crate::dataplane::tap); this module runs beside it.
//!
//! Design: docs/src/internals/design/api.md.

pub mod describe;
pub mod pcapng;
