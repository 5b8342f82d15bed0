//! Captures: which frames, who has one, and how they are written down.
//!
//! The dataplane shows frames to [taps](crate::dataplane::tap); what stands here runs beside it.

pub mod describe;
pub mod filter;
pub mod headers;
pub mod hub;
pub mod pcapng;
