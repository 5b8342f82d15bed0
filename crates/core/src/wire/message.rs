//! Common parts of CLCM, echo messages and greetings: EtherType and destination, then a subtype (2 bytes) and a version
//! (1 byte).

use super::ethernet::{
    start_frame, EthernetView, ETHERTYPE_CLCM, HEADER_LENGTH, NEAREST_BRIDGE_ADDRESS,
};
use super::WireError;
use crate::units::MacAddress;

/// Length in bytes of subtype and version.
const HEAD_LENGTH: usize = 3;

#[derive(Clone, Copy, Debug)]
pub(super) struct Protocol {
    pub(super) subtype: u16,
    pub(super) version: u8,
}

impl Protocol {
    const fn head(self) -> [u8; HEAD_LENGTH] {
        let [high, low] = self.subtype.to_be_bytes();
        [high, low, self.version]
    }

    pub(super) fn is_of(self, frame: &[u8]) -> bool {
        EthernetView::new_checked(frame).is_ok_and(|ethernet| {
            ethernet.ethertype() == ETHERTYPE_CLCM
                && ethernet.payload().starts_with(&self.subtype.to_be_bytes())
        })
    }

    /// Returns the first `N` bytes after the Ethernet header of a whole frame, including subtype and version, and the
    /// rest.
    ///
    /// # Errors
    ///
    /// See [`WireError`].
    pub(super) fn split<const N: usize>(
        self,
        frame: &[u8],
    ) -> Result<(&[u8; N], &[u8]), WireError> {
        let ethernet = EthernetView::new_checked(frame)?;
        if ethernet.ethertype() != ETHERTYPE_CLCM
            || ethernet.destination() != NEAREST_BRIDGE_ADDRESS
        {
            return Err(WireError::WrongProtocol);
        }
        let (fixed, rest) = ethernet
            .payload()
            .split_first_chunk()
            .ok_or(WireError::TooShort)?;
        if !fixed.starts_with(&self.head()) {
            return Err(WireError::UnknownVersion);
        }
        Ok((fixed, rest))
    }

    /// Begins a frame of `length` bytes, or the minimum length of a frame, in `buffer`: zero except for its header,
    /// subtype and version. `None` if it does not fit.
    pub(super) fn start(
        self,
        buffer: &mut [u8],
        length: usize,
        source: MacAddress,
    ) -> Option<&mut [u8]> {
        let frame = start_frame(
            buffer,
            length,
            NEAREST_BRIDGE_ADDRESS,
            source,
            ETHERTYPE_CLCM,
        )?;
        frame[HEADER_LENGTH..HEADER_LENGTH + HEAD_LENGTH].copy_from_slice(&self.head());
        Some(frame)
    }
}
