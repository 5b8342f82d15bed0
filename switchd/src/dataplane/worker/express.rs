//! The core's side of the hand-over to the express path: which frames of the slow path are still inside, and when an egress is
//! open. The argument is in the book (`docs/src/internals/express.md`).

use std::fmt::Debug;

use weir_core::{Instant, PortId};

use super::Worker;
use crate::dataplane::memory::pool::Chunk;
use crate::dataplane::rings::io::Io;

/// The words that the programs of all ports share with this thread.
pub(in crate::dataplane) trait Words: Debug + Send {
    /// The gate of an egress.
    fn gate(&self, port: u8) -> u64;
    /// Pauses that its program has seen, of a gate.
    fn seen(&self, gate: u64) -> u32;
    /// Opens an egress for priorities unless something has happened since its gate was this.
    fn open(&self, port: u8, gate: u64, priorities: u8) -> bool;
    /// Shuts it.
    fn close(&self, port: u8);
    /// When its line is free, in nanoseconds.
    fn free_at(&self, port: u8) -> u64;
    /// Its line is busy at least until then.
    fn occupy(&self, port: u8, until_nanos: u64);
    /// A frame is inside that no program has handed over.
    fn enter(&self, ingress: u8, priority: u8);
    /// One frame less is inside.
    fn finish(&self, ingress: u8, priority: u8);
    /// This thread runs.
    fn beat(&self, now_nanos: u64);
}

/// What this thread knows beside the words. Without words there is no path.
#[derive(Debug, Default)]
pub(super) struct Express {
    words: Option<Box<dyn Words>>,
    /// By chunk that a frame inside begins with: its ingress and priority.
    origins: Vec<(u8, u8)>,
    lines: Vec<Line>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Line {
    /// The configuration and the device permit it.
    is_allowed: bool,
    /// As this thread has left it; the program may have shut it since.
    is_open: bool,
    /// MAC control frames of the port that the core has handled.
    handled: u32,
}

impl Express {
    /// With the path, for a pool of so many chunks and the ports that may be left by it.
    #[cfg_attr(
        not(test),
        expect(dead_code, reason = "the daemon does not open the path yet")
    )]
    pub(super) fn new(words: Box<dyn Words>, chunks: usize, allowed: &[bool]) -> Self {
        let line = |is_allowed: &bool| Line {
            is_allowed: *is_allowed,
            ..Line::default()
        };
        Self {
            words: Some(words),
            origins: vec![(0, 0); chunks],
            lines: allowed.iter().map(line).collect(),
        }
    }

    /// A program has handed a frame over.
    pub(super) fn note_received(&mut self, chunk: Chunk, ingress: PortId, priority: u8) {
        if let Some(origin) = self.origins.get_mut(chunk as usize) {
            *origin = (ingress.index() as u8, priority);
        }
    }

    /// The frame that begins with this chunk came from nobody's program.
    pub(super) fn note_injected(&mut self, chunk: Chunk, ingress: PortId, priority: u8) {
        if let Some(words) = &self.words {
            words.enter(ingress.index() as u8, priority);
        }
        self.note_received(chunk, ingress, priority);
    }

    /// It is no longer inside: its device has sent it, or it was dropped.
    pub(super) fn note_finished(&mut self, chunk: Chunk) {
        if let (Some(words), Some(origin)) = (&self.words, self.origins.get(chunk as usize)) {
            words.finish(origin.0, origin.1);
        }
    }

    /// Whether this thread must say again and again that it runs.
    pub(super) fn is_on(&self) -> bool {
        self.words.is_some()
    }

    /// The core has handled a MAC control frame of this port.
    pub(super) fn note_control(&mut self, port: PortId) {
        if let Some(line) = self.lines.get_mut(port.index()) {
            line.handled = line.handled.wrapping_add(1);
        }
    }

    /// The core is about to send by this port: until when its line is busy with other frames, if any may have passed since it
    /// was asked last.
    pub(super) fn take_line(&mut self, port: PortId) -> Option<Instant> {
        let line = self.lines.get_mut(port.index())?;
        if !std::mem::take(&mut line.is_open) {
            return None;
        }
        let (words, port) = (self.words.as_ref()?, port.index() as u8);
        words.close(port);
        Some(Instant::from_nanos(words.free_at(port)))
    }
}

impl<I: Io> Worker<I> {
    /// At the end of a round: opens what nothing is inside for any more, and shuts what something holds.
    pub(super) fn settle_express(&mut self, now: Instant) {
        let Some(words) = &self.express.words else {
            return;
        };
        words.beat(now.as_nanos());
        for (index, line) in self.express.lines.iter_mut().enumerate() {
            let Some(port) = PortId::from_index(index).filter(|_| line.is_allowed) else {
                continue;
            };
            let at = index as u8;
            // Read before anything is looked at: a pause that comes meanwhile changes it.
            let gate = words.gate(at);
            let unheld = self.switch.unheld_priorities(now, port);
            let is_idle = self
                .ports
                .get(index)
                .is_some_and(|state| state.outstanding.is_empty() && !state.gone);
            let is_clear = is_idle && self.switch.is_egress_clear(now, port);
            if !is_clear || unheld == 0 {
                if std::mem::take(&mut line.is_open) {
                    words.close(at);
                    self.switch
                        .occupy_line(port, Instant::from_nanos(words.free_at(at)));
                }
            } else if gate & 0xff != u64::from(unheld) && words.seen(gate) == line.handled {
                words.occupy(at, self.switch.line_free_at(port).as_nanos());
                line.is_open |= words.open(at, gate, unheld);
            }
        }
    }
}
