//! A host's network card: flows take turns on one line, pauses hold them.

use weir_core::units::PRIORITY_COUNT;
use weir_core::{Instant, Priority};

use super::flow::Flow;

/// One host's side of its link.
#[derive(Debug)]
pub(super) struct Nic {
    /// Its line.
    pub(super) line: u32,
    /// Where its events happen.
    pub(super) place: u32,
    pub(super) obeys_pfc: bool,
    pub(super) paused_until: [Instant; PRIORITY_COUNT],
    /// Priorities that it asks its switch to pause, again and again, as bits.
    pub(super) storm: u8,
    /// A control frame that goes first.
    pub(super) control: Option<Vec<u8>>,
    /// Flows that have begun and are not over.
    pub(super) active: Vec<u32>,
    /// Whose turn it is.
    pub(super) turn: usize,
}

/// What a card does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Next {
    /// A frame of this flow.
    Send(u32),
    /// Nothing before this moment.
    Wait(Instant),
    /// Nothing, until something else happens.
    Idle,
}

impl Nic {
    pub(super) fn new(line: u32, place: u32, obeys_pfc: bool) -> Self {
        Self {
            line,
            place,
            obeys_pfc,
            paused_until: [Instant::ZERO; PRIORITY_COUNT],
            storm: 0,
            control: None,
            active: Vec::new(),
            turn: 0,
        }
    }

    pub(super) fn pause(&mut self, priority: Priority, until: Instant) {
        if self.obeys_pfc {
            self.paused_until[priority.index()] = until;
        }
    }

    /// Whose turn it is, round robin. Forgets flows that are over. O(active flows).
    pub(super) fn next(&mut self, now: Instant, flows: &[Flow]) -> Next {
        let mut wait = Instant::FAR_FUTURE;
        let mut looked_at = 0;
        while looked_at < self.active.len() {
            if self.turn >= self.active.len() {
                self.turn = 0;
            }
            let flow = self.active[self.turn];
            let state = &flows[flow as usize];
            if state.is_over() {
                self.active.remove(self.turn);
                continue;
            }
            let paused = self.paused_until[state.plan.priority.index()];
            let ready = state.next_at.max(paused);
            self.turn += 1;
            if ready <= now {
                return Next::Send(flow);
            }
            wait = wait.min(ready);
            looked_at += 1;
        }
        if wait == Instant::FAR_FUTURE {
            Next::Idle
        } else {
            Next::Wait(wait)
        }
    }
}
