//! Captures: how what was seen is written down.
//!
//! The dataplane shows frames to [taps](crate::dataplane::tap); what stands here runs beside it.

pub mod describe;
pub mod pcapng;
