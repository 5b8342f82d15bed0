//! Charges of frames: the ingress buffer that a frame is charged to, until its last copy has left.

use super::PauseChange;
use crate::frame::FrameHandle;
use crate::switch::levels::ShareId;
use crate::switch::records::Records;
use crate::switch::Switch;
use crate::units::{Bytes, PortId, Priority};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::switch) struct Charge {
    pub(in crate::switch) cells: Bytes,
    pub(in crate::switch) ingress: PortId,
    pub(in crate::switch) priority: Priority,
    pub(in crate::switch) share: ShareId,
}

/// A [`Charge`], and the number of copies that have not left: sixteen bytes, four to a cache line.
#[derive(Clone, Copy, Debug)]
struct Slot {
    cells: Bytes,
    share: ShareId,
    ingress: PortId,
    priority: Priority,
    copies: u16,
}

/// Charges by frame handle. A handle with no copies left belongs to the caller.
#[derive(Debug)]
#[cfg_attr(feature = "testing", derive(Clone))]
pub(in crate::switch) struct Charges {
    by_handle: Records<Slot>,
    held: usize,
}

impl Charges {
    pub(in crate::switch) fn new(frame_count: usize) -> Self {
        let empty = Slot {
            cells: Bytes::ZERO,
            share: ShareId::NONE,
            ingress: PortId::new(0),
            priority: Priority::ALL[0],
            copies: 0,
        };
        Self {
            by_handle: Records::new(frame_count, empty),
            held: 0,
        }
    }

    pub(in crate::switch) fn touch(&mut self) {
        self.by_handle.touch();
    }

    /// Number of frames with at least one copy in the switch.
    pub(in crate::switch) fn held(&self) -> usize {
        self.held
    }

    /// Returns true if the handle exists and is not in the switch.
    pub(in crate::switch) fn is_free(&self, handle: FrameHandle) -> bool {
        match self.by_handle.get(handle.index()) {
            Some(slot) => slot.copies == 0,
            None => handle.index() < self.by_handle.capacity(),
        }
    }

    #[inline]
    pub(in crate::switch) fn origin(&self, handle: FrameHandle) -> Option<(PortId, Priority)> {
        let slot = self.by_handle.get(handle.index())?;
        (slot.copies > 0).then_some((slot.ingress, slot.priority))
    }

    /// Returns true if only one copy has not been sent or dropped.
    pub(in crate::switch) fn is_last_copy(&self, handle: FrameHandle) -> bool {
        self.by_handle
            .get(handle.index())
            .is_some_and(|slot| slot.copies == 1)
    }

    /// Returns the charge of a frame in the switch.
    pub(in crate::switch) fn get(&self, handle: FrameHandle) -> Option<Charge> {
        let slot = self.by_handle.get(handle.index())?;
        (slot.copies > 0).then_some(Charge {
            cells: slot.cells,
            ingress: slot.ingress,
            priority: slot.priority,
            share: slot.share,
        })
    }

    /// Charges a frame in the switch to another buffer, without a share.
    pub(in crate::switch) fn transfer(
        &mut self,
        handle: FrameHandle,
        port: PortId,
        priority: Priority,
    ) {
        if let Some(slot) = self.by_handle.get_mut(handle.index()) {
            (slot.ingress, slot.priority, slot.share) = (port, priority, ShareId::NONE);
        }
    }

    /// Accounts for `copies` copies (at least one) of a [free](Self::is_free) handle.
    #[inline(always)]
    pub(in crate::switch) fn open(&mut self, handle: FrameHandle, charge: Charge, copies: u16) {
        debug_assert!(copies > 0 && self.is_free(handle));
        if let Some(slot) = self.by_handle.reach(handle.index()) {
            let Charge {
                cells,
                ingress,
                priority,
                share,
            } = charge;
            *slot = Slot {
                cells,
                share,
                ingress,
                priority,
                copies,
            };
            self.held += 1;
        }
    }

    /// Removes one copy. With the last one, returns the charge to discharge.
    pub(in crate::switch) fn close_one(&mut self, handle: FrameHandle) -> Option<Charge> {
        let slot = self.by_handle.get_mut(handle.index())?;
        if slot.copies == 0 {
            debug_assert!(false, "completion of a frame that the switch does not hold");
            return None;
        }
        slot.copies -= 1;
        if slot.copies > 0 {
            return None;
        }
        self.held -= 1;
        Some(Charge {
            cells: slot.cells,
            ingress: slot.ingress,
            priority: slot.priority,
            share: slot.share,
        })
    }
}

impl Switch {
    /// Reports that a data frame of [`transmit`](Self::transmit) has left, or never will. With its last copy the handle
    /// is the caller's again, and its ingress buffer is discharged.
    ///
    /// Call once for each [`Transmission::Data`], in any order, as soon as the device has completed the frame: until
    /// then its buffer stays charged, and its neighbour may be paused for it.
    #[must_use = "the handle of a last copy is the caller's again"]
    pub fn complete(&mut self, handle: FrameHandle) -> Option<FrameHandle> {
        let charge = self.charges.close_one(handle)?;
        if self.ages.is_on() {
            self.ages.leave(handle);
        }
        self.discharge(&charge);
        Some(handle)
    }

    #[inline(always)]
    pub(in crate::switch) fn discharge(&mut self, charge: &Charge) {
        let (ingress, priority, cells) = (charge.ingress, charge.priority, charge.cells);
        let change =
            self.ports[ingress.index()].ingress[priority.index()].discharge(cells, &mut self.pools);
        if change != PauseChange::None {
            self.note_discharge(ingress, priority, change);
        }
        if charge.share != ShareId::NONE {
            self.leave_level(ingress, priority, charge.share, cells);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_copy_returns_the_charge() {
        let mut charges = Charges::new(4);
        let handle = FrameHandle(2);
        let charge = Charge {
            cells: Bytes::new(512),
            ingress: PortId::new(1),
            priority: Priority::ALL[3],
            share: ShareId::NONE,
        };
        charges.open(handle, charge, 2);
        assert!(!charges.is_free(handle));
        assert_eq!(charges.close_one(handle), None);
        assert_eq!(charges.held(), 1);
        assert_eq!(charges.close_one(handle), Some(charge));
        assert!(charges.is_free(handle));
        assert_eq!(charges.held(), 0);
        assert!(!charges.is_free(FrameHandle(4)), "beyond the pool");
    }
}
