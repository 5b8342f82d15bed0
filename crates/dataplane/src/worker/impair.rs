//! Impairments: received frames are dropped, marked or delayed at an operator's request.

use std::collections::VecDeque;
use std::sync::Arc;

use weir_config::daemon::DELAYED_MAX;
use weir_core::{Instant, PortId, PortSet, Priority};
use weir_ebpf::FrameClass;

use super::Worker;
use crate::exchange::impair::{Action, Impairment, IMPAIRMENTS_MAX};
use crate::memory::pool::Chunk;
use crate::rings::io::Io;
use weir_config::frames::headers::Headers;
use weir_config::frames::sight::{Direction, Sight, Verdict};

/// Impairments in force, and the frames delayed by them.
#[derive(Debug)]
pub(super) struct Impairing {
    places: [Option<Arc<Impairment>>; IMPAIRMENTS_MAX],
    /// Ports with any impairment.
    ports: PortSet,
    /// Ordered by due time; frames due at the same time in order of arrival.
    delayed: VecDeque<Delayed>,
}

#[derive(Clone, Copy, Debug)]
struct Delayed {
    due: Instant,
    port: PortId,
    chunk: Chunk,
}

/// Fate of a frame before the switch processes it. Captures distinguish other fates: `exchange::tap::Fate`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    /// Forward unchanged.
    Goes,
    /// Forward with a congestion mark.
    Marked,
    Dropped,
    /// Held for later.
    Kept,
}

impl Impairing {
    pub(super) fn new() -> Self {
        Self {
            places: Default::default(),
            ports: PortSet::EMPTY,
            delayed: VecDeque::with_capacity(DELAYED_MAX),
        }
    }

    /// Sets or clears the impairment of a slot. Frames delayed by the previous one are forwarded at once.
    pub(super) fn set(&mut self, now: Instant, place: usize, impairment: Option<Arc<Impairment>>) {
        if let Some(known) = self.places.get_mut(place) {
            *known = impairment;
        }
        self.ports = PortSet::EMPTY;
        for known in self.places.iter().flatten() {
            self.ports.insert(known.plan().port);
        }
        self.release(now);
    }

    /// Makes all delayed frames due now, in order.
    pub(super) fn release(&mut self, now: Instant) {
        self.delayed
            .iter_mut()
            .for_each(|delayed| delayed.due = delayed.due.min(now));
    }

    pub(super) fn is_on(&self) -> bool {
        !self.ports.is_empty() || !self.delayed.is_empty()
    }

    #[inline(always)]
    pub(super) fn looks_at(&self, port: PortId) -> bool {
        !self.ports.is_empty() && self.ports.contains(port)
    }

    /// Returns the time at which the next frame is due.
    pub(super) fn next_due(&self) -> Option<Instant> {
        self.delayed.front().map(|delayed| delayed.due)
    }

    /// Delays a frame; returns false when the maximum number is delayed.
    fn delay(&mut self, delayed: Delayed) -> bool {
        if self.delayed.len() >= DELAYED_MAX {
            return false;
        }
        // Usually the last entry is due earlier.
        let later = self.delayed.iter().rev();
        let later = later.take_while(|known| known.due > delayed.due).count();
        self.delayed.insert(self.delayed.len() - later, delayed);
        true
    }

    fn take_due(&mut self, now: Instant) -> Option<(PortId, Chunk)> {
        let first = self.delayed.front().filter(|first| first.due <= now)?;
        let (port, chunk) = (first.port, first.chunk);
        self.delayed.pop_front();
        Some((port, chunk))
    }
}

impl<I: Io> Worker<I> {
    /// Returns the fate of a frame received on `port`. The first matching impairment decides.
    #[cold]
    pub(super) fn impair(&mut self, now: Instant, port: PortId, chunk: Chunk) -> Fate {
        let (meta, bytes) = self.io.whole(chunk, &mut self.whole);
        let is_data = meta.is_some_and(|meta| meta.class == FrameClass::Data);
        let sight = Sight {
            at: now,
            port,
            direction: Direction::In,
            verdict: Verdict::Read,
            priority: meta
                .filter(|_| is_data)
                .map(|meta| Priority::from_low_bits(meta.priority)),
            hardware_nanos: meta.and_then(|meta| meta.hardware.nanos()),
            bytes,
        };
        let headers = Headers::of(bytes);
        let met = self.impairing.places.iter().flatten().find_map(|known| {
            let action = known.meet(&sight, &headers)?;
            Some((Arc::clone(known), action))
        });
        match met {
            None => Fate::Goes,
            Some((_, Action::Drop)) => Fate::Dropped,
            Some((_, Action::Mark)) if is_data => Fate::Marked,
            Some((_, Action::Mark)) => Fate::Goes,
            Some((known, Action::Delay(by))) => {
                let due = now + by;
                if self.impairing.delay(Delayed { due, port, chunk }) {
                    return Fate::Kept;
                }
                known.note_overflow();
                Fate::Dropped
            }
        }
    }

    /// Lets the switch process frames whose delay is over. Returns true when there were any.
    pub(super) fn take_delayed(&mut self, now: Instant) -> bool {
        let mut any = false;
        while let Some((port, chunk)) = self.impairing.take_due(now) {
            any = true;
            self.take_one(now, port, chunk, false);
        }
        any
    }
}
