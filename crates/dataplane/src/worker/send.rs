//! Sending: from the switch into the TX rings, and completions.

use weir_core::{Bytes, Command, FrameHandle, Instant, MacAddress, PortId, Transmission};

use super::{PortState, Worker, COMPLETION_STALL};
use crate::exchange::tap::Fate;
use crate::memory::pool::Chunk;
use crate::rings::io::{Io, BATCH, FEW};

/// Maximum number of data and control frames that one round sends on a port: an eighth of the maximum received from a
/// port.
const TRANSMIT_FRAMES: usize = BATCH;
/// The same while no more than [a few](FEW) frames wait in the RX rings.
const TRANSMIT_FEW: usize = FEW;

impl<I: Io> Worker<I> {
    pub(super) fn transmit(&mut self, now: Instant, port: PortId) -> bool {
        if self.ports.get(port.index()).is_none_or(|state| state.gone) {
            return false;
        }
        let sends = self.turns.is_asked(port) && !self.leaves_the_rest(now);
        let any = sends && self.transmit_some(now, port);
        // Also sends frames that the kernel deferred, and signals a refilled fill ring.
        self.io.flush(port.index());
        any
    }

    fn transmit_some(&mut self, now: Instant, port: PortId) -> bool {
        let most = if self.is_filling {
            TRANSMIT_FRAMES
        } else {
            TRANSMIT_FEW
        };
        if self.express.is_there() && !self.switch.is_egress_clear(now, port) {
            if let Some(until) = self.express.take_line(now, port) {
                self.switch.occupy_line(port, until);
            }
        }
        let awaits = self.express.awaits_frames(now, port);
        // Ends within a poll: the loop continues and does not sleep.
        let mut any = awaits;
        for _ in 0..most {
            if !self.has_room(port) || self.pool.free_count() == 0 {
                break;
            }
            let next = match awaits {
                false => self.switch.transmit(now, port),
                // A pause must not wait.
                true => self.switch.transmit_told(now, port),
            };
            let Some(transmission) = next else {
                if awaits {
                    break;
                }
                self.turns.rest(port, self.switch.next_transmit(port));
                break;
            };
            any = true;
            self.send(now, port, &transmission);
        }
        any
    }

    fn has_room(&self, port: PortId) -> bool {
        self.ports
            .get(port.index())
            .is_some_and(PortState::has_room)
    }

    fn send(&mut self, now: Instant, port: PortId, transmission: &Transmission) {
        let mut data = None;
        let mut line = Bytes::ZERO;
        let chunk = match transmission {
            Transmission::Data {
                handle,
                length,
                priority,
                mark,
            } => {
                line = *length;
                let marked = *mark && self.mark(port, *priority, handle.0);
                data = Some((*priority, marked));
                Some(handle.0)
            }
            Transmission::Control(frame) => {
                let source = self
                    .ports
                    .get(port.index())
                    .map_or_else(MacAddress::default, |state| state.limits.address);
                let chunk = self.pool.take();
                if let Some(chunk) = chunk {
                    self.io
                        .write(chunk, &mut |buffer| frame.emit(source, buffer));
                    self.accounts.load_control(chunk);
                }
                chunk
            }
        };
        let Some(chunk) = chunk else { return };
        if self.taps.sees(Fate::Other) {
            self.show_sent(now, port, chunk, data);
        }
        if data.is_some() && self.mirroring.looks_at_departures(port) {
            self.mirror_departure(now, port, chunk);
        }
        if self.io.send(port.index(), chunk) {
            self.stats.counters.tx_frames += 1;
            match data {
                Some(_) => self.accounts.note_sent_data(port.index()),
                None => self.accounts.note_sent_control(port.index()),
            }
            if let Some(state) = self.ports.get_mut(port.index()) {
                state.note_sent(now, chunk, line);
            }
        } else {
            // The ring is longer than the outstanding limit.
            debug_assert!(false, "the TX ring is full");
            self.accounts.note_not_sent(port.index());
            self.take_back(chunk);
        }
    }

    pub(super) fn complete(&mut self, now: Instant, port: PortId) -> bool {
        // A removed device may still complete frames that were already written off.
        let is_expected = |state: &PortState| !state.outstanding.is_empty() || state.gone;
        if !self.ports.get(port.index()).is_some_and(is_expected) {
            return false;
        }
        self.batch.clear();
        self.io.completed(port.index(), &mut self.batch);
        let count = self.batch.len();
        for at in 0..count {
            let Some(chunk) = self.batch.get(at) else {
                break;
            };
            let state = self.ports.get_mut(port.index());
            if state.is_some_and(|state| state.take_completed(chunk)) {
                self.accounts.note_completed(port.index(), 1);
                self.take_back(chunk);
            }
        }
        self.watch_transmitter(now, port, count > 0);
        if count == 0 && self.switch.drops_all_to(port) {
            self.charge_held(port);
        }
        count > 0
    }

    /// Charges the frames in a transmitter that accepts no more to its port, so that their senders may continue.
    /// Repeated until all are. O(frames).
    #[cold]
    fn charge_held(&mut self, port: PortId) {
        let Some(state) = self.ports.get_mut(port.index()) else {
            return;
        };
        if state.charged {
            return;
        }
        state.charged = true;
        for held in &state.outstanding {
            if !self.accounts.is_control(held.chunk) {
                let handle = FrameHandle(held.chunk);
                state.charged &= self.switch.charge_to_egress(port, handle);
            }
        }
    }

    /// Checks that a transmitter with frames completes some. If it is stuck, its frames hold ingress buffers, so no more
    /// frames are kept for it.
    fn watch_transmitter(&mut self, now: Instant, port: PortId, completes: bool) {
        let is_up = self.switch.is_up(port);
        let Some(state) = self.ports.get_mut(port.index()) else {
            return;
        };
        // A transmitter may keep its frames while the link is down.
        if completes || !is_up {
            state.progress_at = now;
        }
        let is_late = now.saturating_since(state.progress_at) >= COMPLETION_STALL;
        let stuck = is_late || state.stuck && !completes;
        if core::mem::replace(&mut state.stuck, stuck) != stuck {
            let completes = !stuck;
            let _ = self.apply(now, Command::SetTransmitter { port, completes });
        }
    }

    /// Processes a completed chunk.
    pub(super) fn take_back(&mut self, chunk: Chunk) {
        if self.accounts.unload_control(chunk) {
            self.pool.give_back(chunk);
        } else if let Some(handle) = self.switch.complete(FrameHandle(chunk)) {
            self.express.note_finished(handle.0);
            self.accounts.note_delivered(handle.0);
            self.give_back(handle.0);
        }
    }
}
