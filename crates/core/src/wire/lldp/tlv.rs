//! Framing of TLVs (IEEE 802.1AB clause 8.4), and their types (table 8-1).

use super::{LldpError, Mandatory};

pub(super) const CHASSIS_ID: u8 = 1;
pub(super) const PORT_ID: u8 = 2;
pub(super) const TIME_TO_LIVE: u8 = 3;
pub(super) const PORT_DESCRIPTION: u8 = 4;
pub(super) const SYSTEM_NAME: u8 = 5;
pub(super) const SYSTEM_DESCRIPTION: u8 = 6;
pub(super) const SYSTEM_CAPABILITIES: u8 = 7;
pub(super) const ORGANISATIONALLY_SPECIFIC: u8 = 127;

const END: u8 = 0;

/// Type and length.
pub(super) const TLV_HEADER_LENGTH: usize = 2;
/// OUI and subtype of an organisationally specific TLV (clause 8.6).
pub(super) const ORGANISATION_LENGTH: usize = 4;

const LENGTH_BITS: u32 = 9;
const LENGTH_MASK: u16 = (1 << LENGTH_BITS) - 1;

/// One TLV that ends within its frame.
pub(super) struct Tlv<'a> {
    pub(super) offset: usize,
    pub(super) kind: u8,
    pub(super) value: &'a [u8],
}

/// Iterates over TLVs until the End TLV, or the end of the frame if there is none.
pub(super) struct Tlvs<'a> {
    frame: &'a [u8],
    offset: usize,
}

impl<'a> Tlvs<'a> {
    pub(super) fn new(frame: &'a [u8], offset: usize) -> Self {
        Self { frame, offset }
    }

    pub(super) fn offset(&self) -> usize {
        self.offset
    }

    /// Returns the next TLV; `None` at the end, and on every later call.
    pub(super) fn step(&mut self) -> Result<Option<Tlv<'a>>, LldpError> {
        let offset = self.offset;
        let rest = self.frame.get(offset..).unwrap_or_default();
        if rest.is_empty() {
            return Ok(None);
        }
        let truncated = |needed: usize| LldpError::Truncated {
            offset,
            missing: needed - rest.len(),
        };
        let header = rest
            .first_chunk::<TLV_HEADER_LENGTH>()
            .ok_or_else(|| truncated(TLV_HEADER_LENGTH))?;
        let header = u16::from_be_bytes(*header);
        let length = usize::from(header & LENGTH_MASK);
        let kind = (header >> LENGTH_BITS) as u8;
        let end = TLV_HEADER_LENGTH + length;
        let value = rest
            .get(TLV_HEADER_LENGTH..end)
            .ok_or_else(|| truncated(end))?;
        if kind == END {
            if length > 0 {
                return Err(LldpError::Length {
                    offset,
                    tlv: Mandatory::End,
                    length,
                });
            }
            return Ok(None);
        }
        self.offset += end;
        Ok(Some(Tlv {
            offset,
            kind,
            value,
        }))
    }
}

/// Returns the mandatory TLV of this type. [`Tlvs`] never yields the End TLV.
pub(super) fn mandatory(kind: u8) -> Option<Mandatory> {
    match kind {
        CHASSIS_ID => Some(Mandatory::ChassisId),
        PORT_ID => Some(Mandatory::PortId),
        TIME_TO_LIVE => Some(Mandatory::TimeToLive),
        _ => None,
    }
}

/// Returns type and length as sent. All values written here fit a length of 9 bits.
pub(super) fn header(kind: u8, length: usize) -> [u8; TLV_HEADER_LENGTH] {
    debug_assert!(length <= usize::from(LENGTH_MASK));
    (u16::from(kind) << LENGTH_BITS | length as u16 & LENGTH_MASK).to_be_bytes()
}
