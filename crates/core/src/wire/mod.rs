//! Wire formats: a checked view of the bytes, and a representation that holds only valid states.
//!
//! No parser here panics on any input.

pub mod checksum;
pub mod clcm;
pub mod credit;
pub mod echo;
pub mod ecn;
pub mod ethernet;
pub mod lldp;
pub mod loop_probe;
pub mod mac_control;
mod message;
pub mod reflection;
pub mod resolution;
pub mod seal;

use crate::units::MacAddress;

/// Length in bytes of the longest control frame that [`ControlFrame::emit`] writes.
pub const CONTROL_FRAME_LENGTH_MAX: usize = clcm::FRAME_LENGTH_MAX + seal::SEAL_LENGTH;

/// Reason why bytes are not a frame of the expected kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WireError {
    /// Fewer bytes than the format's fixed part, or than its length field states.
    #[error("frame too short")]
    TooShort,
    /// Another protocol.
    #[error("not this protocol's EtherType or destination")]
    WrongProtocol,
    /// A MAC control opcode other than PAUSE and PFC.
    #[error("unknown MAC control opcode {0:#06x}")]
    UnknownOpcode(u16),
    /// An unsupported version, subtype or kind.
    #[error("unknown version, subtype or kind")]
    UnknownVersion,
    /// A field with an invalid value.
    #[error("field {0} has an invalid value")]
    BadField(&'static str),
}

/// A control frame that a switch sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(clippy::large_enum_variant)] // copied, and kept in bounded queues
pub enum ControlFrame {
    /// PAUSE or PFC.
    Mac(mac_control::MacControl),
    /// Credit Loop Control Message.
    Clcm(clcm::Clcm),
    /// Measures the link's round trip time.
    Echo(echo::Echo),
    /// Credits given or consumed.
    Credit(credit::CreditUpdate),
    /// CLCM, echo, credit update or greeting, with proof of sender and time.
    Sealed(seal::Sealed),
    /// A probe for loops, with a separate source address.
    Probe(loop_probe::LoopProbe, loop_probe::ProbeForm),
}

impl ControlFrame {
    /// Writes the whole frame with `source` as its source address, padded to 60 B, and returns its length in bytes.
    /// `None` if `buffer` is smaller than needed ([`CONTROL_FRAME_LENGTH_MAX`] always suffices).
    pub fn emit(&self, source: MacAddress, buffer: &mut [u8]) -> Option<usize> {
        match self {
            Self::Mac(frame) => frame.emit(source, buffer),
            Self::Clcm(message) => message.emit(source, buffer),
            Self::Echo(message) => message.emit(source, buffer),
            Self::Credit(message) => message.emit(source, buffer),
            Self::Sealed(sealed) => sealed.emit(source, buffer),
            Self::Probe(probe, form) => probe.emit(*form, buffer),
        }
    }
}
