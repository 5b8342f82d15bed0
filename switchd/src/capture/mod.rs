//! Captures: recording of frames.
//!
//! The dataplane copies frames to [taps](weir_dataplane::tap); this module encodes them outside it.
//!
//! Design: docs/src/internals/design/api.md.

pub mod describe;
pub mod pcapng;
