//! Who pays for each frame: the ingress buffer it is charged to, until its last copy has left.

use crate::frame::FrameHandle;
use crate::units::{Bytes, PortId, Priority};

#[derive(Clone, Copy, Debug, Default)]
struct Charge {
    cells: Bytes,
    ingress: PortId,
    priority: Priority,
    copies: u16,
}

/// By frame handle. A handle with no copies left is the caller's.
#[derive(Debug)]
pub(super) struct Charges {
    by_handle: Vec<Charge>,
    held: usize,
}

impl Charges {
    pub(super) fn new(frame_count: usize) -> Self {
        Self {
            by_handle: vec![Charge::default(); frame_count],
            held: 0,
        }
    }

    /// Frames with at least one copy in the switch.
    pub(super) fn held(&self) -> usize {
        self.held
    }

    /// True when the handle exists and is not in the switch.
    pub(super) fn is_free(&self, handle: FrameHandle) -> bool {
        self.by_handle
            .get(handle.index())
            .is_some_and(|charge| charge.copies == 0)
    }

    /// Books `copies` copies (at least one) of a [free](Self::is_free) handle.
    pub(super) fn open(
        &mut self,
        handle: FrameHandle,
        ingress: PortId,
        priority: Priority,
        cells: Bytes,
        copies: u16,
    ) {
        debug_assert!(copies > 0 && self.is_free(handle));
        if let Some(charge) = self.by_handle.get_mut(handle.index()) {
            *charge = Charge {
                cells,
                ingress,
                priority,
                copies,
            };
            self.held += 1;
        }
    }

    /// One copy has left. With the last one, says what is paid back to whom.
    pub(super) fn close_one(&mut self, handle: FrameHandle) -> Option<(PortId, Priority, Bytes)> {
        let charge = self.by_handle.get_mut(handle.index())?;
        if charge.copies == 0 {
            debug_assert!(false, "completion of a frame that the switch does not hold");
            return None;
        }
        charge.copies -= 1;
        if charge.copies > 0 {
            return None;
        }
        self.held -= 1;
        Some((charge.ingress, charge.priority, charge.cells))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_copy_pays_back() {
        let mut charges = Charges::new(4);
        let handle = FrameHandle(2);
        let (port, priority) = (PortId::new(1), Priority::ALL[3]);
        charges.open(handle, port, priority, Bytes::new(512), 2);
        assert!(!charges.is_free(handle));
        assert_eq!(charges.close_one(handle), None);
        assert_eq!(charges.held(), 1);
        assert_eq!(
            charges.close_one(handle),
            Some((port, priority, Bytes::new(512)))
        );
        assert!(charges.is_free(handle));
        assert_eq!(charges.held(), 0);
        assert!(!charges.is_free(FrameHandle(4)), "beyond the pool");
    }
}
