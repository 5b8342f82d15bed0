//! Captures: recording of frames.
//!
//! The dataplane shows frames to [taps](crate::dataplane::tap); this module runs beside it.

pub mod describe;
pub mod pcapng;
