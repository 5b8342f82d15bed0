//! Transmission: control frames first, then data frames by shaper, pauses and turns.

use super::choice::{self, Offer, Order};
use crate::config::SwitchConfig;
use crate::switch::outbox::Ready;
use crate::switch::port::Port;
use crate::switch::virtual_queues::{Departure, Gate, VirtualQueues};
use crate::switch::{Switch, Transmission};
use crate::units::{Bytes, Instant, PortId, Priority, PRIORITY_COUNT};
use crate::wire::ethernet::FRAME_LENGTH_MIN;

impl Switch {
    /// Returns the next frame of `port`, if any may leave now. O(priorities).
    ///
    /// PFC goes first: a pause that waits behind data is late. Control frames wait neither for pauses nor for the
    /// shaper, but their time on the line is accounted for.
    #[inline]
    pub fn transmit(&mut self, now: Instant, port: PortId) -> Option<Transmission> {
        let state = self.ports.get(port.index())?;
        if !state.up {
            return None;
        }
        if state.has_control() {
            if let Some(control) = self.transmit_control(now, port) {
                return Some(control);
            }
        }
        if self.ports.get(port.index())?.waiting.is_empty() {
            return None;
        }
        self.transmit_data(now, port)
    }

    #[cold]
    pub(super) fn transmit_control(&mut self, now: Instant, port: PortId) -> Option<Transmission> {
        let control = self.next_control(now, port)?;
        self.ready.note_timer(port);
        let shaper = &mut self.ports[port.index()].shaper;
        shaper.book(now, Bytes::new(FRAME_LENGTH_MIN as u64));
        Some(Transmission::Control(control))
    }

    fn transmit_data(&mut self, now: Instant, port: PortId) -> Option<Transmission> {
        let state = self.ports.get(port.index())?;
        if state.shaper.free_at() > now {
            return None;
        }
        if !state.forced.is_empty() {
            self.end_traffic_releases(now, port);
        }
        let state = self.ports.get_mut(port.index())?;
        let (priority, departure) = match state.waiting.single() {
            Some(priority) if state.resumes_at(priority) > now => return None,
            Some(priority) => {
                let gate = state.gate(now, priority);
                let Some(departure) = self.queues.pop(port, priority, gate) else {
                    return state.note_opportunity();
                };
                let quantum = || quantum_bytes(&self.config, priority);
                let length = u64::from(departure.length_bytes);
                state.turn.take_alone(priority, quantum, length);
                (priority, departure)
            }
            None => match choose_among(&mut self.queues, &self.config, now, port, state) {
                None => return state.note_opportunity(),
                Some(chosen) => chosen,
            },
        };
        let length = Bytes::new(u64::from(departure.length_bytes));
        state.shaper.book(now, length);
        if let Some(precedence) = &mut state.precedence {
            precedence.book(now, priority, length);
        }
        let counters = &mut state.counters.priority[priority.index()];
        counters.tx_frames += 1;
        counters.tx_bytes += length.get();
        if let Some(level) = &mut state.levels[priority.index()] {
            level.taken.note_departure();
            level.received.note_opportunity();
        }
        if self.config.lifetime.is_some() {
            state.heads[priority.index()].note_departure(now);
            self.ready.note_timers();
        }
        let emptied = if state.departs_apart.contains(priority) {
            state.depart_apart(now, port, priority, length, &mut self.ready)
        } else {
            state.egress[priority.index()].note_departure(length)
        };
        if emptied {
            state.waiting.remove(priority);
            if self.lossless.contains(priority) {
                self.backlogged.end();
            }
        }
        if let Some(vlans) = &mut self.vlans {
            vlans.note_sent(departure.handle, length);
        }
        let mark = self.marks_departures.contains(priority)
            && self.marks_departure(port, priority, departure.handle);
        Some(Transmission::Data {
            handle: departure.handle,
            length,
            priority,
            mark,
        })
    }
}

impl Port {
    /// Accounts for a departure that a traffic release forces, or that is paid for by credits. Returns true if none is
    /// left.
    #[inline(never)]
    fn depart_apart(
        &mut self,
        now: Instant,
        port: PortId,
        priority: Priority,
        length: Bytes,
        ready: &mut Ready,
    ) -> bool {
        let egress = &mut self.egress[priority.index()];
        if self.forced.contains(priority) {
            let counters = &mut self.counters.priority[priority.index()];
            counters.forced_frames += 1;
            counters.forced_bytes += length.get();
            return egress.note_forced_departure(length);
        }
        let emptied = egress.note_departure(length);
        if self.consume_credits(now, priority, length) {
            ready.note_timer(port);
        }
        emptied
    }
}

/// Returns the bytes that a priority may send in one turn: at least the longest frame.
#[inline]
fn quantum_bytes(config: &SwitchConfig, priority: Priority) -> u64 {
    u64::from(config.classes[priority.index()].weight) * config.frame_length_max.get()
}

/// Returns the next frame of a port at which several priorities wait. O(priorities).
#[inline(never)]
fn choose_among(
    queues: &mut VirtualQueues,
    config: &SwitchConfig,
    now: Instant,
    port: PortId,
    state: &mut Port,
) -> Option<(Priority, Departure)> {
    let mut offer = Offer {
        now,
        waiting: state.waiting,
        sendable: state.sendable(now),
        gates: [Gate::Shut; PRIORITY_COUNT],
    };
    for priority in state.waiting.iter() {
        offer.gates[priority.index()] = state.gate(now, priority);
    }
    let quantum_of = |priority| quantum_bytes(config, priority);
    let order = Order {
        turn: &mut state.turn,
        precedence: state.precedence.as_deref_mut(),
        ports: &mut state.port_turns,
    };
    let chosen = choice::take_next(queues, order, port, &offer, quantum_of)?;
    if let Some(precedence) = &mut state.precedence {
        let went_ahead = u64::from(precedence.take_went_ahead());
        state.counters.priority[chosen.0.index()].ahead_of_strict += went_ahead;
    }
    Some(chosen)
}
