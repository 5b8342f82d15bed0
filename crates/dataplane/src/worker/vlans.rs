//! VLANs: the tag of a received frame, the form in which it is sent, and copies of frames flooded in two forms.
//!
//! A frame gets its form in place as soon as the switch has admitted it, before any copy is sent. If a flooded frame is sent
//! both with and without a tag, the copies of one kind use separate chunks, of which there are [a number](VLAN_COPIES)
//! besides those that back the buffers.

use weir_config::daemon::VLAN_COPIES;
use weir_core::{Admitted, DropReason, Frame, FrameHandle, Instant, PortId, Tagged, VlanTag};

use super::Worker;
use crate::memory::pool::Chunk;
use crate::rings::io::Io;

/// Maximum number of chunks of a frame, with some reserve.
const PARTS_MAX: usize = 64;
/// Offset of a tag's EtherType, behind the addresses.
const TAG_AT: usize = 12;

/// State of the frames' forms.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Forms {
    /// Form of the last received frame.
    due: Option<Tagged>,
    /// Number of chunks with copies of frames.
    copies: usize,
}

impl Forms {
    /// Returns true if any chunk holds a copy.
    pub(super) const fn has_copies(&self) -> bool {
        self.copies > 0
    }
}

/// Returns the first tag of a frame, if it is a C-tag. An S-tag counts as payload.
///
/// # Errors
///
/// When the frame ends within its tag. Here it would count as untagged, but a device that pads it would turn it into a frame
/// with a tag chosen by its sender.
pub(super) fn tag_of(bytes: &[u8]) -> Result<Option<VlanTag>, DropReason> {
    match bytes.get(TAG_AT..).unwrap_or_default() {
        [0x81, 0x00, high, low, _, _, ..] => {
            Ok(Some(VlanTag::from_bits(u16::from_be_bytes([*high, *low]))))
        }
        [0x81, 0x00, ..] => Err(DropReason::BadLength),
        _ => Ok(None),
    }
}

/// Returns true if a frame's first tag is an S-tag, or any VLAN tag follows its C-tag.
pub(super) fn is_nested(bytes: &[u8]) -> bool {
    match bytes.get(TAG_AT..).unwrap_or_default() {
        [0x88, 0xa8, ..] => true,
        [0x81, 0x00, _, _, second @ ..] => {
            second.starts_with(&[0x81, 0x00]) || second.starts_with(&[0x88, 0xa8])
        }
        _ => false,
    }
}

impl<I: Io> Worker<I> {
    /// Receives a data frame on a port with VLANs. If it is admitted, [`give_form`](Self::give_form) must follow.
    #[inline(never)]
    pub(super) fn receive_in_vlan(
        &mut self,
        now: Instant,
        port: PortId,
        frame: Frame,
    ) -> Result<Admitted, DropReason> {
        let chunk = frame.handle.0;
        if !self.io.has_room_for_tag(chunk) {
            // No driver that leaves room for the record leaves so little.
            self.switch
                .count_data_drop(port, frame.priority, DropReason::Unclassified);
            return Err(DropReason::Unclassified);
        }
        let tag = tag_of(self.io.frame(chunk).1);
        if let Err(reason) = tag {
            self.switch.count_data_drop(port, frame.priority, reason);
        }
        let tag = tag?;
        if is_nested(self.io.frame(chunk).1) {
            self.switch.check_nested_tag(port, frame.priority, tag)?;
        }
        let tagged = self.switch.receive_tagged(now, port, frame, tag)?;
        self.forms.due = Some(tagged);
        Ok(tagged.admitted)
    }

    /// Gives the last received frame the form in which it is sent.
    #[inline(never)]
    pub(super) fn give_form(&mut self, now: Instant, first: Chunk) {
        let Some(tagged) = self.forms.due.take() else {
            return;
        };
        if tagged.has_other {
            self.copy_for_others(now, first);
        }
        let is_done = self.io.reform(first, tagged.form);
        debug_assert!(is_done, "room was checked");
    }

    fn copy_for_others(&mut self, now: Instant, first: Chunk) {
        let Some(copy) = self.copy_of(first) else {
            self.switch.drop_other();
            return;
        };
        self.accounts.note_copy(copy);
        match self.switch.receive_other(now, FrameHandle(copy)) {
            Ok(form) => {
                let is_done = self.io.reform(copy, form);
                debug_assert!(is_done, "it lies where the frame lay");
            }
            Err(_) => self.give_back_copy(copy),
        }
    }

    /// Copies a frame into new chunks; returns `None` when there are too few.
    fn copy_of(&mut self, first: Chunk) -> Option<Chunk> {
        let (mut parts, mut count) = ([first; PARTS_MAX], 0);
        let mut at = Some(first);
        let mut is_whole = true;
        while let (Some(part), true) = (at, is_whole) {
            at = self.io.next(part);
            is_whole = self.copy_part(part, parts.get_mut(count));
            count += usize::from(is_whole);
        }
        let copied = parts.get(..count).unwrap_or(&[]);
        if !is_whole {
            copied.iter().for_each(|chunk| self.pool.give_back(*chunk));
            return None;
        }
        self.io.chain(copied);
        let (copy, further) = copied.split_first()?;
        for part in further {
            self.accounts.note_copy_goes_on(*part);
        }
        self.forms.copies += count;
        Some(*copy)
    }

    /// Copies one chunk; returns false without any change when no chunk or no place is free.
    fn copy_part(&mut self, part: Chunk, place: Option<&mut Chunk>) -> bool {
        if self.forms.copies >= VLAN_COPIES {
            return false;
        }
        let Some((place, chunk)) = place.zip(self.pool.take_for_receive()) else {
            return false;
        };
        if !self.io.copy(part, chunk) {
            self.pool.give_back(chunk);
            return false;
        }
        *place = chunk;
        true
    }

    /// Frees copies that were sent, or never will be.
    pub(super) fn give_back_copy(&mut self, first: Chunk) {
        let mut part = Some(first);
        while let Some(chunk) = part {
            part = self.io.next(chunk);
            self.accounts.unload_further(chunk);
            self.forms.copies = self.forms.copies.saturating_sub(1);
            self.pool.give_back(chunk);
        }
    }

    /// Prepares a waiting frame for the next switch: restores a form that its ingress port assigns to the same VLAN. Returns
    /// false for copies, which are not handed over, since the frame itself is flooded again.
    pub(super) fn give_back_form(&mut self, ingress: PortId, first: Chunk) -> bool {
        if !self.switch.is_vlan_aware() {
            return true;
        }
        let form = self.switch.form_to_come_in(ingress, FrameHandle(first));
        !self.accounts.is_copy(first) && form.is_none_or(|form| self.io.reform(first, form))
    }

    /// Receives a frame from the previous switch, with the tag that it has.
    pub(super) fn receive_handed_on(
        &mut self,
        now: Instant,
        ingress: PortId,
        frame: Frame,
    ) -> Result<(), DropReason> {
        let first = frame.handle.0;
        if self.switch.is_vlan_aware() {
            self.switch.take_left(true);
            let taken = self.receive_in_vlan(now, ingress, frame);
            self.switch.take_left(false);
            let _marked_when_it_arrived = taken?;
            self.give_form(now, first);
            return Ok(());
        }
        self.switch.receive_left(now, ingress, frame).map(|_| ())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_whole_c_tag_is_one() {
        let frame = |behind: &[u8]| [&[2; 12], behind].concat();
        let tag = Ok(Some(VlanTag::from_bits(0x6007)));
        let cut = Err(DropReason::BadLength);
        assert_eq!(tag_of(&frame(&[0x81, 0, 0x60, 7, 8, 0])), tag);
        assert_eq!(tag_of(&frame(&[0x81, 0, 0x60, 7, 8])), cut);
        assert_eq!(tag_of(&frame(&[0x81, 0])), cut);
        assert_eq!(tag_of(&frame(&[0x88, 0xa8, 0x60, 7, 8, 0])), Ok(None));
        assert_eq!(tag_of(&frame(&[8, 0])), Ok(None));
        let double = [0x81, 0, 0x60, 7, 0x81, 0, 0, 9, 8, 0];
        assert_eq!(tag_of(&frame(&double)), tag);
    }
}
