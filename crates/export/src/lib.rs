//! Messages that a switch sends to collectors: [sFlow version 5](sflow) with discarded packets, and [IPFIX](ipfix).
//!
//! The encoders do no I/O and read no clock; the caller sends the messages. Every message fits a UDP payload of
//! [`PAYLOAD_MAX`] bytes.

pub mod ipfix;
pub mod sflow;
mod writer;

/// Maximum length of a message in bytes: with IPv6 and UDP headers it fits an Ethernet frame with 1500 bytes of
/// payload.
pub const PAYLOAD_MAX: usize = 1400;
