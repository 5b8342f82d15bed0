//! Effects of a changed ingress buffer, and thresholds raised by a release.

use crate::counters::DropReason;
use crate::switch::Switch;
use crate::units::{Bytes, Instant, PortId, Priority};

#[derive(Clone, Copy, Debug)]
pub(super) enum Raise {
    None,
    /// To these values, until the given time.
    Active {
        xoff: Bytes,
        xon: Bytes,
        until: Instant,
    },
    /// The release is over, but its frames may still exceed the normal limit: `xoff` applies only to the limit until
    /// the occupancy is below the normal xoff.
    Draining {
        xoff: Bytes,
    },
}

/// Message to the neighbour after a change of occupancy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::switch) enum PauseChange {
    None,
    Xoff,
    Xon,
    /// A departure from a buffer filled by credits: there is room for more.
    Freed,
    /// A departure from a pool: check this buffer and the next paused ones.
    Pool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::switch) struct Admission {
    pub(in crate::switch) change: PauseChange,
    pub(in crate::switch) mark: bool,
}

/// Reason for refusing a frame, and true if this is the first refusal of its span.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::switch) struct Refusal {
    pub(in crate::switch) reason: DropReason,
    pub(in crate::switch) first: bool,
    /// The neighbour is paused although the frame is refused: the pool has no headroom left.
    pub(in crate::switch) change: PauseChange,
}

impl Switch {
    /// Notes a change that the neighbour of `port` must be notified of.
    #[inline(never)]
    pub(in crate::switch) fn note_pause_change(
        &mut self,
        port: PortId,
        priority: Priority,
        change: PauseChange,
    ) {
        if change != PauseChange::None {
            if let Some(state) = self.ports.get_mut(port.index()) {
                state.due.pfc.insert(priority);
                self.ready.note_port(port);
            }
        }
    }

    /// Promises the neighbour the room that the buffer of (`port`, `priority`) has now.
    pub(in crate::switch) fn promise_credits(&mut self, port: PortId, priority: Priority) {
        let Some(state) = self.ports.get_mut(port.index()) else {
            return;
        };
        let Some(credits) = &mut state.credits else {
            return;
        };
        let room = state.ingress[priority.index()].room_for_credits();
        let is_earlier = credits.receiver.promise(&credits.times, priority, room);
        if credits.receiver.is_due() {
            credits.is_noted = true;
            state.due.seldom.set_credits(true);
            self.ready.note_port(port);
        }
        if is_earlier {
            self.ready.note_timer(port);
        }
    }
}
