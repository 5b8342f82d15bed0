//! Frames whose first byte moves: a VLAN tag is inserted or removed in place, and the bytes behind it stay where they are.
//!
//! xsk-rs supports descriptors whose frame an XDP program has moved, but has no function to set the address. This module
//! writes the address in the descriptor; its offset is determined at the start, and checked.

use xsk_rs::FrameDesc;

/// Offset of the address in a descriptor, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct AddressField(usize);

/// An address and options that are unique in an empty descriptor.
const PROBE: (usize, u32) = (0x1234_5678, 0x55);

impl AddressField {
    /// Returns `None` when descriptors have an unknown layout.
    pub(super) fn find() -> Option<Self> {
        let word = size_of::<usize>();
        if !align_of::<FrameDesc>().is_multiple_of(align_of::<usize>()) {
            return None;
        }
        (0..size_of::<FrameDesc>() / word)
            .map(|index| Self(index * word))
            .find(|field| field.is_right())
    }

    fn is_right(self) -> bool {
        let mut probe = FrameDesc::default();
        probe.set_options(PROBE.1);
        self.set(&mut probe, PROBE.0);
        let lengths = probe.lengths();
        (
            probe.addr(),
            probe.options(),
            lengths.data(),
            lengths.headroom(),
        ) == (PROBE.0, PROBE.1, 0, 0)
    }

    pub(super) fn set(self, descriptor: &mut FrameDesc, address: usize) {
        let at: *mut FrameDesc = descriptor;
        // SAFETY: `find` has checked that the word lies in the descriptor and is aligned. A descriptor consists of an
        // address, options and two lengths: integers, for which any bits are valid. Only a probe is ever written at an
        // offset other than the address's.
        unsafe { at.cast::<u8>().add(self.0).cast::<usize>().write(address) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_descriptor_is_as_it_is_known_to_be() {
        let field = AddressField::find().expect("xsk-rs has changed its descriptors");
        let mut descriptor = FrameDesc::default();
        descriptor.set_options(7);
        field.set(&mut descriptor, 4096 + 260);
        assert_eq!((descriptor.addr(), descriptor.options()), (4096 + 260, 7));
        assert_eq!(descriptor.lengths().data(), 0);
    }
}
