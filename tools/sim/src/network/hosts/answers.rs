//! Answers on their way back to the sender, and the sender's timers.

use weir_config::scenario::Transport;
use weir_core::Instant;

use crate::network::flow::Reply;
use crate::network::pool::{FrameKind, FrameRecord};
use crate::network::{Event, Network};
use crate::transport::telemetry::{Hop, TELEMETRY_LENGTH_BYTES};
use crate::transport::ANSWER_LENGTH_BYTES;

impl Network {
    /// Host `host` answers `frame`, which has met `hops`, as soon as its line and pauses permit.
    pub(in crate::network) fn answer(
        &mut self,
        host: u32,
        frame: &FrameRecord,
        reply: Reply,
        hops: Vec<Hop>,
    ) {
        let plan = &self.flows[frame.flow as usize].plan;
        let telemetry = if plan.transport == Transport::Hpcc {
            TELEMETRY_LENGTH_BYTES
        } else {
            0
        };
        let answer = FrameRecord {
            sequence: frame.number,
            number: reply.number,
            from: host,
            to: frame.from,
            length_bytes: (ANSWER_LENGTH_BYTES + telemetry) as u32,
            priority: plan.answer_priority,
            marked: false,
            kind: FrameKind::Answer,
            flags: reply.flags,
            ..*frame
        };
        if !self.nics[host as usize].add_answer((answer, hops)) {
            self.totals.answers_refused += 1;
        }
        self.pump_host(host);
    }

    /// Handles an answer at the sender, which occupied place `index`.
    pub(in crate::network) fn answer_at_host(&mut self, answer: &FrameRecord, index: u32) {
        let flow = &mut self.flows[answer.flow as usize];
        flow.answered(self.now, answer, self.frames.hops(index));
        self.sender_changed(answer.flow);
    }

    /// Handles the timer of a flow's sender.
    pub(in crate::network) fn flow_timer(&mut self, flow: u32) {
        let now = self.now;
        let state = &mut self.flows[flow as usize];
        // An earlier timer, set since, has replaced this one.
        if state.timer_at != now {
            return;
        }
        state.timer_at = Instant::FAR_FUTURE;
        if state.next_timeout().is_some_and(|due| due <= now) {
            state.handle_timeout(now);
        }
        self.sender_changed(flow);
    }

    /// Schedules an event for the sender's timers. If an earlier one is pending, that one sets the next.
    pub(in crate::network) fn set_flow_timer(&mut self, flow: u32) {
        let state = &mut self.flows[flow as usize];
        if let Some(due) = state.next_timeout() {
            if due < state.timer_at {
                state.timer_at = due;
                let place = self.nics[state.plan.from as usize].place;
                self.queue.push(place, due, Event::FlowTimer { flow });
            }
        }
    }

    fn sender_changed(&mut self, flow: u32) {
        self.set_flow_timer(flow);
        let state = &self.flows[flow as usize];
        let host = state.plan.from;
        if !state.is_silent(self.now) {
            self.nics[host as usize].activate(flow);
            self.pump_host(host);
        }
    }
}
