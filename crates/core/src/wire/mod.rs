//! Wire formats: a checked view of bytes, and a representation that holds only legal states.
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

/// Why bytes are not the frame that they were taken for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WireError {
    /// Fewer bytes than the format's fixed part, or than its own length field.
    #[error("frame too short")]
    TooShort,
    /// Another protocol.
    #[error("not this protocol's EtherType or destination")]
    WrongProtocol,
    /// A MAC control opcode other than PAUSE and PFC.
    #[error("unknown MAC control opcode {0:#06x}")]
    UnknownOpcode(u16),
    /// A version, subtype or kind that this implementation does not speak.
    #[error("unknown version, subtype or kind")]
    UnknownVersion,
    /// A field with a value that has no meaning.
    #[error("field {0} has an invalid value")]
    BadField(&'static str),
}

/// A control frame that a switch sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(clippy::large_enum_variant)] // Copy values that live in bounded queues
pub enum ControlFrame {
    /// PAUSE or PFC.
    Mac(mac_control::MacControl),
    /// Credit Loop Control Message.
    Clcm(clcm::Clcm),
    /// The link's round trip time.
    Echo(echo::Echo),
    /// Credits given or consumed.
    Credit(credit::CreditUpdate),
    /// CLCM, echo, credit update or greeting, with proof of who sent it and when.
    Sealed(seal::Sealed),
    /// For who floods; it has a source address of its own.
    Probe(loop_probe::LoopProbe, loop_probe::ProbeForm),
}

impl ControlFrame {
    /// Writes the whole frame with `source` as its source address, padded to 60 B, and gives its
    /// length in bytes. `None` when `buffer` is too small ([`CONTROL_FRAME_LENGTH_MAX`] always does).
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
