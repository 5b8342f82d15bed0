//! Ethernet II framing (IEEE 802.3 clause 3) for control frames.

use super::WireError;
use crate::units::MacAddress;

/// Destination, source and EtherType.
pub const HEADER_LENGTH: usize = 14;
/// The shortest frame without its FCS.
pub const FRAME_LENGTH_MIN: usize = 60;
/// EtherType of MAC control frames.
pub const ETHERTYPE_MAC_CONTROL: u16 = 0x8808;
/// EtherType of CLCM: local experimental EtherType 1 (IEEE 802).
pub const ETHERTYPE_CLCM: u16 = 0x88b5;
/// Destination of PAUSE and PFC frames.
pub const MAC_CONTROL_ADDRESS: MacAddress = MacAddress([0x01, 0x80, 0xc2, 0x00, 0x00, 0x01]);
/// Destination of CLCM frames: nearest bridge, never forwarded (IEEE 802.1Q table 8-1).
pub const NEAREST_BRIDGE_ADDRESS: MacAddress = MacAddress([0x01, 0x80, 0xc2, 0x00, 0x00, 0x0e]);

/// Returns true for 01-80-C2-00-00-00 to -0F, which a bridge never forwards (IEEE 802.1Q table 8-1).
pub fn is_link_local(address: MacAddress) -> bool {
    matches!(address.0, [0x01, 0x80, 0xc2, 0x00, 0x00, last] if last < 0x10)
}

/// A frame with a complete header.
#[derive(Clone, Copy, Debug)]
pub struct EthernetView<'a>(&'a [u8]);

impl<'a> EthernetView<'a> {
    /// Checks that the header is complete.
    ///
    /// # Errors
    ///
    /// [`WireError::TooShort`].
    pub fn new_checked(bytes: &'a [u8]) -> Result<Self, WireError> {
        if bytes.len() < HEADER_LENGTH {
            return Err(WireError::TooShort);
        }
        Ok(Self(bytes))
    }

    /// Destination address.
    pub fn destination(&self) -> MacAddress {
        self.address(0)
    }

    /// Source address.
    pub fn source(&self) -> MacAddress {
        self.address(6)
    }

    /// EtherType, or length.
    pub fn ethertype(&self) -> u16 {
        u16::from_be_bytes([self.0[12], self.0[13]])
    }

    /// Returns the bytes after the header.
    pub fn payload(&self) -> &'a [u8] {
        &self.0[HEADER_LENGTH..]
    }

    fn address(&self, at: usize) -> MacAddress {
        let mut bytes = [0; 6];
        bytes.copy_from_slice(&self.0[at..at + 6]);
        MacAddress(bytes)
    }
}

/// Zeroes `length` bytes (at least [`FRAME_LENGTH_MIN`]) of `buffer` and writes a header. Returns the frame with its
/// padding, `None` if it does not fit.
pub(super) fn start_frame(
    buffer: &mut [u8],
    length: usize,
    destination: MacAddress,
    source: MacAddress,
    ethertype: u16,
) -> Option<&mut [u8]> {
    let frame = buffer.get_mut(..length.max(FRAME_LENGTH_MIN))?;
    frame.fill(0);
    frame[..6].copy_from_slice(&destination.0);
    frame[6..12].copy_from_slice(&source.0);
    frame[12..14].copy_from_slice(&ethertype.to_be_bytes());
    Some(frame)
}
