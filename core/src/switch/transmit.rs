//! Frames out: control first, then what the shaper, the pauses and the turns allow.

use super::{Switch, Transmission};
use crate::frame::FrameHandle;
use crate::units::{Bytes, Instant, PortId, Quanta, PRIORITY_COUNT};
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
        let (ingress, priority, cells) = self.charges.close_one(handle)?;
        let change = self.ports[ingress.index()].ingress[priority.index()].discharge(cells);
        self.note_pause_change(ingress, priority, change);
        Some(handle)
    }

    fn next_control(&mut self, now: Instant, port: PortId) -> Option<ControlFrame> {
        if !self.ports[port.index()].pfc_due.is_empty() {
            return Some(ControlFrame::Mac(self.make_pfc(now, port)));
        }
        let state = &mut self.ports[port.index()];
        let message = state.clcm_queue.pop_front()?;
        state.counters.clcm_sent += 1;
        Some(ControlFrame::Clcm(message))
    }

    /// One PFC frame with what has changed. It refreshes nothing else, so that a neighbour sees one
    /// frame for one change.
    fn make_pfc(&mut self, now: Instant, port: PortId) -> MacControl {
        let rate = self.config.ports[port.index()].rate;
        let pause_time = self.config.pause_time;
        let refresh = pause_time.at(rate).divided_by(2);
        let state = &mut self.ports[port.index()];
        let mut times = [None; PRIORITY_COUNT];
        for priority in state.pfc_due.iter() {
            let index = priority.index();
            let counters = &mut state.counters.priority[index];
            if state.ingress[index].is_pausing() {
                times[index] = Some(pause_time);
                counters.xoff_sent += 1;
                state.ingress[index].note_pause_sent(now, refresh);
            } else {
                times[index] = Some(Quanta::ZERO);
                counters.xon_sent += 1;
            }
        }
        state.pfc_due = super::PrioritySet::default();
        state.counters.pfc_sent += 1;
        MacControl::Pfc { times }
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
        let egress = &state.egress;
        let priority = state.turn.choose(
            |priority| u64::from(classes[priority.index()].weight) * frame_length_max,
            |priority| {
                sendable
                    .contains(priority)
                    .then(|| {
                        let only_from = egress[priority.index()].only_from();
                        queues.next_length(port, priority, only_from)
                    })
                    .flatten()
            },
        )?;
        let only_from = state.egress[priority.index()].only_from();
        let departure = self.queues.pop(port, priority, only_from)?;
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
