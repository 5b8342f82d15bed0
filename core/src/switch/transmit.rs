//! Frames out: control first, then what the shaper, the pauses and the turns allow.

use super::levels::Manner;
use super::virtual_queues::Gate;
use super::{Switch, Transmission};
use crate::frame::FrameHandle;
use crate::units::{Bytes, Instant, PortId, Priority, Quanta, PRIORITY_COUNT};
use crate::wire::ethernet::FRAME_LENGTH_MIN;
use crate::wire::mac_control::MacControl;
use crate::wire::ControlFrame;

impl Switch {
    /// What `port` sends next, if anything may leave now. O(priorities).
    ///
    /// PFC goes first: a pause that waits behind data is late. Control frames are not held by pauses
    /// nor by the shaper, but the line time they take is booked.
    pub fn transmit(&mut self, now: Instant, port: PortId) -> Option<Transmission> {
        if !self.ports.get(port.index())?.up {
            return None;
        }
        if let Some(control) = self.next_control(now, port) {
            let state = &mut self.ports[port.index()];
            state.shaper.book(now, Bytes::new(FRAME_LENGTH_MIN as u64));
            return Some(Transmission::Control(control));
        }
        self.next_data(now, port)
    }

    /// A data frame of `transmit` has left `port`, or never will. With its last copy the handle is
    /// the caller's again, and its ingress buffer is discharged.
    pub fn complete(
        &mut self,
        _now: Instant,
        _port: PortId,
        handle: FrameHandle,
    ) -> Option<FrameHandle> {
        let charge = self.charges.close_one(handle)?;
        let (ingress, priority, cells) = (charge.ingress, charge.priority, charge.cells);
        let change = self.ports[ingress.index()].ingress[priority.index()].discharge(cells);
        self.note_pause_change(ingress, priority, change);
        self.leave_level(ingress, priority, charge.share, cells);
        Some(handle)
    }

    fn next_control(&mut self, now: Instant, port: PortId) -> Option<ControlFrame> {
        if let Some(zero) = self.make_zero(port) {
            return Some(ControlFrame::Mac(zero));
        }
        if !self.ports[port.index()].pfc_due.is_empty() {
            if let Some(pfc) = self.make_pfc(now, port) {
                return Some(ControlFrame::Mac(pfc));
            }
        }
        let state = &mut self.ports[port.index()];
        let message = state.clcm_queue.pop_front()?;
        state.counters.clcm_sent += 1;
        Some(ControlFrame::Clcm(message))
    }

    /// One PFC frame with what has changed. It refreshes nothing else, so that a neighbour sees one
    /// frame for one change. `None` when all has changed back meanwhile.
    fn make_pfc(&mut self, now: Instant, port: PortId) -> Option<MacControl> {
        let rate = self.config.ports[port.index()].rate;
        let pause_time = self.config.pause_time;
        let refresh = pause_time.at(rate).divided_by(2);
        let state = &mut self.ports[port.index()];
        let mut times = [None; PRIORITY_COUNT];
        for priority in state.pfc_due.iter() {
            let index = priority.index();
            let counters = &mut state.counters.priority[index];
            if let Some(level) = &mut state.levels[index] {
                let manner = Manner {
                    neighbour: state.neighbour,
                    depth: level.budget.depth(),
                    refresh: self.config.feedback_refresh,
                    pause_time,
                    pause_span: pause_time.at(rate),
                };
                let feedback = level.budget.feedback();
                if let Some(signal) = level.sent.take(now, feedback, &manner) {
                    times[index] = Some(signal.quanta);
                    if signal.then_zero {
                        state.zero_due.insert(priority);
                    }
                    let counter = match signal.quanta {
                        _ if signal.is_xoff => &mut counters.xoff_sent,
                        Quanta::ZERO => &mut counters.xon_sent,
                        _ => &mut counters.feedback_sent,
                    };
                    *counter += 1;
                }
            } else if state.ingress[index].is_pausing() {
                times[index] = Some(pause_time);
                counters.xoff_sent += 1;
                state.ingress[index].note_pause_sent(now, refresh);
            } else {
                times[index] = Some(Quanta::ZERO);
                counters.xon_sent += 1;
            }
        }
        state.pfc_due = super::PrioritySet::default();
        if times == [None; PRIORITY_COUNT] {
            return None;
        }
        state.counters.pfc_sent += 1;
        Some(MacControl::Pfc { times })
    }

    /// The second frame of a Feedback: a regular neighbour goes on at once.
    fn make_zero(&mut self, port: PortId) -> Option<MacControl> {
        let state = &mut self.ports[port.index()];
        let due = core::mem::take(&mut state.zero_due);
        if due.is_empty() {
            return None;
        }
        let mut times = [None; PRIORITY_COUNT];
        for priority in due.iter() {
            times[priority.index()] = Some(Quanta::ZERO);
        }
        state.counters.pfc_sent += 1;
        Some(MacControl::Pfc { times })
    }

    fn next_data(&mut self, now: Instant, port: PortId) -> Option<Transmission> {
        let state = &mut self.ports[port.index()];
        if state.waiting.is_empty() || state.shaper.free_at() > now {
            return None;
        }
        let sendable = state.sendable(now);
        if sendable.is_empty() {
            return None;
        }
        let (queues, classes) = (&self.queues, &self.config.classes);
        let frame_length_max = self.config.frame_length_max.get();
        let gates: [Gate; PRIORITY_COUNT] = Priority::ALL.map(|priority| state.gate(priority));
        let priority = state.turn.choose(
            |priority| u64::from(classes[priority.index()].weight) * frame_length_max,
            |priority| {
                sendable
                    .contains(priority)
                    .then(|| queues.next_length(port, priority, gates[priority.index()]))
                    .flatten()
            },
        )?;
        let departure = self.queues.pop(port, priority, gates[priority.index()])?;
        let length = Bytes::new(u64::from(departure.length_bytes));
        state.shaper.book(now, length);
        let counters = &mut state.counters.priority[priority.index()];
        counters.tx_frames += 1;
        counters.tx_bytes += length.get();
        if state.egress[priority.index()].note_departure(length) {
            state.waiting.remove(priority);
            if self.lossless.contains(priority) {
                self.detector.backlogged -= 1;
            }
        }
        Some(Transmission::Data {
            handle: departure.handle,
            length,
        })
    }
}
