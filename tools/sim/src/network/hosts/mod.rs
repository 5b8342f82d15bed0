//! Events at hosts.

mod answers;
pub(super) mod nic;

use weir_core::wire::mac_control::MacControl;
use weir_core::wire::CONTROL_FRAME_LENGTH_MAX;
use weir_core::{Bytes, Instant, Priority};

use super::flow::{Arrival, Reply};
use super::node::Payload;
use super::plan::{host_address, Dependency};
use super::pool::{Flags, FrameKind, FrameRecord};
use super::{Event, Network};
use nic::Next;

impl Network {
    pub(super) fn start_flow(&mut self, flow: u32) {
        let host = self.flows[flow as usize].plan.from;
        self.nics[host as usize].active.push(flow);
        self.pump_host(host);
    }

    /// Lets `host` send if its line is free.
    pub(super) fn pump_host(&mut self, host: u32) {
        let now = self.now;
        let nic = &mut self.nics[host as usize];
        let (line_index, place) = (nic.line, nic.place);
        let line = &mut self.lines[line_index as usize];
        if line.is_busy || !line.is_up() {
            return;
        }
        if let Some(credits) = &mut nic.credits {
            if let Some(update) = credits.take(now) {
                let mut buffer = [0; CONTROL_FRAME_LENGTH_MAX];
                let length = update.emit(host_address(host), &mut buffer).unwrap_or(0);
                nic.control = Some(buffer[..length].to_vec());
            }
            nic.obey_credits();
        }
        if let Some(bytes) = nic.control.take() {
            let (sent, arrives) = line.send(now, Bytes::new(bytes.len() as u64));
            self.queue.push(place, sent, Event::HostFree { host });
            self.send_control(line_index, arrives, bytes);
            return;
        }
        let (record, hops) = match nic.next(now, &self.flows) {
            Next::Send(flow) => (self.data_frame(host, flow), self.frames.no_hops()),
            Next::Answer(priority) => match nic.take_answer(priority) {
                Some(answer) => answer,
                None => return,
            },
            Next::Wait(at) => {
                let at = at.min(nic.next_credit_message());
                if line.wants_wake(now, at) {
                    self.queue.push(place, at, Event::HostWake { host });
                }
                return;
            }
            Next::Idle => {
                let at = nic.next_credit_message();
                if at != Instant::FAR_FUTURE && line.wants_wake(now, at) {
                    self.queue.push(place, at, Event::HostWake { host });
                }
                return;
            }
        };
        if record.kind == FrameKind::Answer {
            self.flows[record.flow as usize].answers_sent += 1;
        }
        self.nics[host as usize].note_sent(now, record.priority, record.length());
        let frame = self.frames.add(record, hops);
        let line = &mut self.lines[line_index as usize];
        let (sent, arrives) = line.send(now, record.length());
        let (epoch, to) = (line.epoch, line.to_place);
        self.queue.push(place, sent, Event::HostFree { host });
        let payload = Payload::Frame(frame);
        self.deliver(to, arrives, line_index, epoch, payload);
    }

    fn data_frame(&mut self, host: u32, flow: u32) -> FrameRecord {
        let now = self.now;
        let state = &mut self.flows[flow as usize];
        let departure = state.send(now, self.plan.spread);
        let record = FrameRecord {
            flow,
            sequence: departure.sequence,
            number: departure.number,
            from: host,
            to: state.plan.to,
            flow_hash: departure.flow_hash,
            length_bytes: departure.length.get() as u32,
            priority: state.plan.priority,
            marked: false,
            kind: FrameKind::Data,
            flags: Flags::NONE.with(Flags::TRACED, state.plan.transport.has_telemetry()),
            sent: now,
        };
        if state.plan.transport.is_answered() {
            self.set_flow_timer(flow);
        }
        record
    }

    pub(super) fn frame_at_host(&mut self, host: u32, index: u32) {
        let now = self.now;
        self.totals.last_movement = self.totals.last_movement.max(now);
        self.totals.frame_hops += 1;
        let record = *self.frames.get(index);
        self.frames.give_back(index);
        self.credit_arrival(host, &record);
        if record.to != host {
            // It was flooded, or another host uses its address.
            self.totals.astray += 1;
            return;
        }
        if record.kind == FrameKind::Answer {
            self.answer_at_host(&record, index);
            return;
        }
        let flow = &mut self.flows[record.flow as usize];
        let arrival = Arrival {
            sequence: record.sequence,
            number: record.number,
            length: record.length(),
            sent: record.sent,
            marked: record.marked,
            last_part: now >= self.last_part_from,
        };
        let reception = flow.arrive(now, arrival);
        if let Some(samples) = self.samples.as_mut().filter(|_| reception.is_new) {
            samples.note_arrival(flow, now, record.length());
        }
        // The first answer may leave at once, in this frame's place.
        let acknowledgement = reception.acknowledgement;
        let acknowledgement = acknowledgement.map(|reply| (reply, self.frames.take_hops(index)));
        if reception.notifies {
            self.answer(host, &record, Reply::NOTIFICATION, Vec::new());
        }
        if let Some((reply, hops)) = acknowledgement {
            self.answer(host, &record, reply, hops);
        }
        if reception.completes && !self.waiting.is_empty() {
            self.release_waiting(record.flow);
        }
    }

    /// All of `flow` has arrived: starts the flows that waited for it, all at this host.
    fn release_waiting(&mut self, flow: u32) {
        let first = self
            .plan
            .dependencies
            .partition_point(|dependency| dependency.done < flow);
        for index in first..self.plan.dependencies.len() {
            let Dependency {
                done,
                next,
                compute,
            } = self.plan.dependencies[index];
            if done != flow {
                break;
            }
            let state = &mut self.flows[next as usize];
            // The computation that ends last need not follow the last arrival.
            if !compute.is_zero() {
                state.postpone(self.now + compute);
            }
            let left = &mut self.waiting[next as usize];
            *left = left.saturating_sub(1);
            if *left > 0 {
                continue;
            }
            let start = state.plan.start.max(self.now);
            state.begin(start);
            let place = self.nics[state.plan.from as usize].place;
            self.queue
                .push(place, start, Event::FlowStart { flow: next });
        }
    }

    /// The host has consumed a frame, and its credits return.
    fn credit_arrival(&mut self, host: u32, record: &FrameRecord) {
        let nic = &mut self.nics[host as usize];
        if let Some(credits) = &mut nic.credits {
            credits.note_arrival(record.priority, record.length());
            self.pump_host(host);
        }
    }

    pub(super) fn control_at_host(&mut self, host: u32, message: u32) {
        let now = self.now;
        if let Some(credits) = &mut self.nics[host as usize].credits {
            credits.receive(self.messages.get(message));
        }
        let parsed = MacControl::parse(self.messages.get(message));
        self.messages.give_back(message);
        let rate = self.plan.hosts[host as usize].rate;
        let nic = &mut self.nics[host as usize];
        match parsed {
            Ok(MacControl::Pfc { times }) => {
                for (priority, time) in Priority::ALL.into_iter().zip(times) {
                    if let Some(quanta) = time {
                        nic.pause(priority, now + quanta.at(rate));
                    }
                }
            }
            Ok(MacControl::Pause { quanta }) => {
                for priority in Priority::ALL {
                    nic.pause(priority, now + quanta.at(rate));
                }
            }
            // Hosts ignore the protocols between switches.
            Err(_) => {}
        }
        self.pump_host(host);
    }
}
