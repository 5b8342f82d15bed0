//! Explicit Congestion Notification by the backlog at a frame's egress.

use crate::config::{MarkAt, SwitchConfig};
use crate::frame::FrameHandle;
use crate::sets::PortSet;
use crate::sets::PrioritySet;
use crate::switch::Switch;
use crate::units::{PortId, Priority};

pub(in crate::switch) fn classes_that_mark(config: &SwitchConfig, at: MarkAt) -> PrioritySet {
    let mut classes = PrioritySet::default();
    for priority in Priority::ALL {
        let red = config.classes[priority.index()].ecn;
        if red.is_some_and(|red| red.at == at) {
            classes.insert(priority);
        }
    }
    classes
}

impl Switch {
    /// Returns true if a frame about to wait at `egresses` must be marked at one of them at least. O(copies).
    ///
    /// Each copy has its own draw, but all share the frame's bytes. Out of line, so that classes without thresholds pay
    /// only for one branch.
    #[inline(never)]
    pub(in crate::switch) fn marks_by_backlog(
        &mut self,
        priority: Priority,
        egresses: &PortSet,
    ) -> bool {
        let Some(red) = self.config.classes[priority.index()].ecn else {
            return false;
        };
        let mut mark = false;
        for egress in egresses.iter() {
            let backlog = self.ports[egress.index()].egress[priority.index()].backlog();
            mark |= red.marks(backlog, || self.random.next_u32());
        }
        mark
    }

    /// Returns true if the frame that has just left the queue of (`port`, `priority`) must be marked. A frame with
    /// copies at other ports is not: a transmitter may be reading their common bytes. O(1).
    #[inline(never)]
    pub(in crate::switch) fn marks_departure(
        &mut self,
        port: PortId,
        priority: Priority,
        handle: FrameHandle,
    ) -> bool {
        let Some(red) = self.config.classes[priority.index()].ecn else {
            return false;
        };
        let backlog = self.ports[port.index()].egress[priority.index()].backlog();
        self.charges.is_last_copy(handle) && red.marks(backlog, || self.random.next_u32())
    }
}
