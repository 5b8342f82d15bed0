//! Proof that a CLCM, echo or credit frame comes from a switch that has the fabric's key, and is current. It is a
//! trailer after the message and its padding, which switches without authentication treat as padding.
//!
//! | offset from the end | length | field |
//! |---|---|---|
//! | 28 | 2 | mark 0x5753 ("WS") |
//! | 26 | 1 | version 1 |
//! | 25 | 1 | reserved, zero |
//! | 24 | 8 | sequence number of the sender at this port, above all earlier ones |
//! | 16 | 16 | HMAC-SHA-256 (RFC 2104) with the fabric's key, its first 128 bits |
//!
//! The HMAC covers all bytes before it, starting with the destination address, followed (except for greetings) by the
//! receiver's nonce (8 bytes, not sent). A greeting contains the nonce:
//!
//! | offset | length | field |
//! |---|---|---|
//! | 0 | 6 | destination 01-80-C2-00-00-0E |
//! | 6 | 6 | source |
//! | 12 | 2 | EtherType 0x88B5 |
//! | 14 | 2 | subtype 0x5747 ("WG") |
//! | 16 | 1 | version 1 |
//! | 17 | 3 | reserved, zero |
//! | 20 | 8 | nonce of the sender for this link, not zero |
//! | 28 | 8 | nonce of the neighbour as received by the sender; zero for none |
//! | 36 | 24 | padding |

use hmac::{Hmac, Mac};
use sha2::Sha256;

use super::ethernet::{FRAME_LENGTH_MIN, HEADER_LENGTH};
use super::message::Protocol;
use super::{clcm::Clcm, credit::CreditUpdate, echo::Echo, WireError};
use crate::config::FabricKey;
use crate::units::MacAddress;

/// Length in bytes of the trailer.
pub const SEAL_LENGTH: usize = 28;

const MARK: [u8; 4] = [0x57, 0x53, 1, 0];
const TAG_LENGTH: usize = 16;
const PROTOCOL: Protocol = Protocol {
    subtype: 0x5747,
    version: 1,
};
const BODY_LENGTH: usize = 22;

/// Contents of a sealed frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(clippy::large_enum_variant)] // as ControlFrame
pub enum Sealable {
    /// Credit Loop Control Message.
    Clcm(Clcm),
    /// Measures the link's round trip time.
    Echo(Echo),
    /// Credits given or consumed.
    Credit(CreditUpdate),
    /// Nonces.
    Greeting(Greeting),
}

/// The nonces of the two ends of a link, as one of them knows them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Greeting {
    /// The sender's, used to seal messages to it. Not zero.
    pub own: u64,
    /// The neighbour's; zero if unknown.
    pub heard: u64,
}

impl Greeting {
    /// Returns true for a frame of this protocol of any version.
    pub fn is_greeting(frame: &[u8]) -> bool {
        PROTOCOL.is_of(frame)
    }

    /// Parses a whole frame.
    ///
    /// # Errors
    ///
    /// See [`WireError`].
    pub fn parse(frame: &[u8]) -> Result<Self, WireError> {
        let (body, _) = PROTOCOL.split::<BODY_LENGTH>(frame)?;
        if body[3..6] != [0; 3] {
            return Err(WireError::BadField("reserved"));
        }
        let own = number(&body[6..14]);
        if own == 0 {
            return Err(WireError::BadField("nonce"));
        }
        Ok(Self {
            own,
            heard: number(&body[14..]),
        })
    }

    /// Writes the whole frame, padded to 60 B, and returns its length in bytes; `None` if `buffer` is too small.
    pub fn emit(&self, source: MacAddress, buffer: &mut [u8]) -> Option<usize> {
        let frame = PROTOCOL.start(buffer, FRAME_LENGTH_MIN, source)?;
        let body = &mut frame[HEADER_LENGTH..];
        body[6..14].copy_from_slice(&self.own.to_be_bytes());
        body[14..BODY_LENGTH].copy_from_slice(&self.heard.to_be_bytes());
        Some(frame.len())
    }
}

/// A message with the inputs of its trailer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sealed {
    /// The message.
    pub message: Sealable,
    /// The fabric's key.
    pub key: FabricKey,
    /// The receiver's nonce; unused for a greeting.
    pub nonce: u64,
    /// Must exceed that of the previous frame.
    pub sequence: u64,
}

impl Sealed {
    /// Writes the whole frame and returns its length in bytes; `None` if `buffer` is too small.
    pub fn emit(&self, source: MacAddress, buffer: &mut [u8]) -> Option<usize> {
        let (length, nonce) = match &self.message {
            Sealable::Clcm(message) => (message.emit(source, buffer)?, Some(self.nonce)),
            Sealable::Echo(message) => (message.emit(source, buffer)?, Some(self.nonce)),
            Sealable::Credit(message) => (message.emit(source, buffer)?, Some(self.nonce)),
            Sealable::Greeting(message) => (message.emit(source, buffer)?, None),
        };
        let frame = buffer.get_mut(..length + SEAL_LENGTH)?;
        let (signed, tag) = frame.split_at_mut(length + SEAL_LENGTH - TAG_LENGTH);
        signed[length..length + 4].copy_from_slice(&MARK);
        signed[length + 4..].copy_from_slice(&self.sequence.to_be_bytes());
        let code = code(&self.key, signed, nonce)?.finalize().into_bytes();
        tag.copy_from_slice(&code[..TAG_LENGTH]);
        Some(frame.len())
    }
}

/// The sequence number of a whole frame sealed with `key`, and with `nonce` unless it is a greeting; `None` if it was
/// not.
pub fn sequence_of(frame: &[u8], key: &FabricKey, nonce: Option<u64>) -> Option<u64> {
    let (signed, tag) = frame.split_last_chunk::<TAG_LENGTH>()?;
    let trailer = signed.last_chunk::<{ SEAL_LENGTH - TAG_LENGTH }>()?;
    if !trailer.starts_with(&MARK) {
        return None;
    }
    // Constant time, whether the code is nearly right or not.
    code(key, signed, nonce)?.verify_truncated_left(tag).ok()?;
    Some(number(&trailer[4..]))
}

/// Never `None`: a key may have any length.
fn code(key: &FabricKey, signed: &[u8], nonce: Option<u64>) -> Option<Hmac<Sha256>> {
    let mut code = <Hmac<Sha256> as Mac>::new_from_slice(key.bytes()).ok()?;
    code.update(signed);
    if let Some(nonce) = nonce {
        code.update(&nonce.to_be_bytes());
    }
    Some(code)
}

fn number(bytes: &[u8]) -> u64 {
    bytes
        .iter()
        .fold(0, |number, byte| number << 8 | u64::from(*byte))
}
