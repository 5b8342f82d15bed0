//! Echo messages: measure the round trip time to the neighbour (T of Karol, section V).
//!
//! | offset | length | field |
//! |---|---|---|
//! | 0 | 6 | destination 01-80-C2-00-00-0E |
//! | 6 | 6 | source |
//! | 12 | 2 | EtherType 0x88B5 |
//! | 14 | 2 | subtype 0x5745 ("WE") |
//! | 16 | 1 | version 1 |
//! | 17 | 1 | kind: 1 request, 2 reply |
//! | 18 | 2 | reserved, zero |
//! | 20 | 4 | identifier; a reply has its request's |
//! | 24 | 16 | request: frames sent so far by priority (8 × 2), modulo 65536; reply: zero |
//! | 40 | 20 | padding |

use super::ethernet::{FRAME_LENGTH_MIN, HEADER_LENGTH};
use super::message::Protocol;
use super::WireError;
use crate::units::{MacAddress, PRIORITY_COUNT};

const PROTOCOL: Protocol = Protocol {
    subtype: 0x5745,
    version: 1,
};
const KIND_REQUEST: u8 = 1;
const KIND_REPLY: u8 = 2;
const BODY_LENGTH: usize = 26;

/// One echo message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Echo {
    /// Must be answered at once, outside the data priorities.
    Request {
        /// Returned in the reply.
        id: u32,
        /// Data frames that the sender has sent on this link so far, by priority, modulo 65536. All of them have
        /// arrived before this message, or never will.
        sent: [u16; PRIORITY_COUNT],
    },
    /// The reply.
    Reply {
        /// The request's.
        id: u32,
    },
}

impl Echo {
    /// Returns true for a frame of this protocol of any version.
    pub fn is_echo(frame: &[u8]) -> bool {
        PROTOCOL.is_of(frame)
    }

    /// Parses a whole frame.
    ///
    /// # Errors
    ///
    /// See [`WireError`].
    pub fn parse(frame: &[u8]) -> Result<Self, WireError> {
        let (body, _) = PROTOCOL.split::<BODY_LENGTH>(frame)?;
        if body[4..6] != [0, 0] {
            return Err(WireError::BadField("reserved"));
        }
        let id = u32::from_be_bytes([body[6], body[7], body[8], body[9]]);
        let mut sent = [0; PRIORITY_COUNT];
        for (count, bytes) in sent.iter_mut().zip(body[10..].chunks_exact(2)) {
            *count = u16::from_be_bytes([bytes[0], bytes[1]]);
        }
        match body[3] {
            KIND_REQUEST => Ok(Self::Request { id, sent }),
            KIND_REPLY if sent == [0; PRIORITY_COUNT] => Ok(Self::Reply { id }),
            KIND_REPLY => Err(WireError::BadField("frames sent")),
            _ => Err(WireError::UnknownVersion),
        }
    }

    /// Writes the whole frame, padded to 60 B, and returns its length in bytes; `None` if `buffer` is too small.
    pub fn emit(&self, source: MacAddress, buffer: &mut [u8]) -> Option<usize> {
        let frame = PROTOCOL.start(buffer, FRAME_LENGTH_MIN, source)?;
        let body = &mut frame[HEADER_LENGTH..];
        let (kind, id, sent) = match *self {
            Self::Request { id, sent } => (KIND_REQUEST, id, sent),
            Self::Reply { id } => (KIND_REPLY, id, [0; PRIORITY_COUNT]),
        };
        body[3] = kind;
        body[6..10].copy_from_slice(&id.to_be_bytes());
        for (bytes, count) in body[10..].chunks_exact_mut(2).zip(sent) {
            bytes.copy_from_slice(&count.to_be_bytes());
        }
        Some(frame.len())
    }
}
