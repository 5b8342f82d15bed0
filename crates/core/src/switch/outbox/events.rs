//! Events for the control plane: a queue of fixed size.

use std::collections::VecDeque;

use crate::event::{Event, EventKind};
use crate::switch::Switch;
use crate::units::Instant;

/// Maximum number of events that wait to be polled; lost ones are counted in [`Switch::events_lost`].
pub const EVENT_CAPACITY: usize = 1024;

/// Room in the queue that bulk events cannot use.
const EVENT_RESERVE: usize = 128;

#[derive(Debug, Default)]
#[cfg_attr(feature = "testing", derive(Clone))]
pub(in crate::switch) struct Events {
    waiting: VecDeque<Event>,
    lost: u64,
}

impl Events {
    pub(in crate::switch) fn touch(&mut self) {
        self.waiting.reserve_exact(EVENT_CAPACITY);
    }

    pub(in crate::switch) fn last(&self) -> Option<&Event> {
        self.waiting.back()
    }
}

impl Switch {
    /// The next event, oldest first.
    pub fn poll_event(&mut self) -> Option<Event> {
        let event = self.events.waiting.pop_front()?;
        if self.events.waiting.is_empty() {
            // Restarts at the same place, so that few events need little memory.
            self.events.waiting.clear();
        }
        Some(event)
    }

    /// Number of events lost because [`EVENT_CAPACITY`] others were waiting.
    pub fn events_lost(&self) -> u64 {
        self.events.lost
    }

    pub(in crate::switch) fn push_event(&mut self, at: Instant, kind: EventKind) {
        self.push_event_within(EVENT_CAPACITY, at, kind);
    }

    /// Pushes one of many events that a command causes at once: they leave room for others.
    pub(in crate::switch) fn push_detail(&mut self, at: Instant, kind: EventKind) {
        self.push_event_within(EVENT_CAPACITY - EVENT_RESERVE, at, kind);
    }

    fn push_event_within(&mut self, capacity: usize, at: Instant, kind: EventKind) {
        if self.events.waiting.len() < capacity {
            self.events.waiting.push_back(Event { at, kind });
        } else {
            self.events.lost += 1;
        }
    }
}
