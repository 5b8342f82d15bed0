//! What happens at hosts.

use weir_core::wire::mac_control::MacControl;
use weir_core::{Bytes, Priority};

use super::nic::Next;
use super::node::Payload;
use super::pool::FrameRecord;
use super::{Event, Network};

impl Network {
    pub(super) fn start_flow(&mut self, flow: u32) {
        let host = self.flows[flow as usize].plan.from;
        self.nics[host as usize].active.push(flow);
        self.pump_host(host);
    }

    /// Lets `host` send, if its line is free.
    pub(super) fn pump_host(&mut self, host: u32) {
        let now = self.now;
        let nic = &mut self.nics[host as usize];
        let (line_index, place) = (nic.line, nic.place);
        let line = &mut self.lines[line_index as usize];
        if line.is_busy || !line.is_up() {
            return;
        }
        if let Some(bytes) = nic.control.take() {
            line.is_busy = true;
            let sent = now + line.time_for(Bytes::new(bytes.len() as u64));
            self.queue.push(place, sent, Event::HostFree { host });
            self.send_control(line_index, sent, bytes);
            return;
        }
        let flow = match nic.next(now, &self.flows) {
            Next::Send(flow) => flow,
            Next::Wait(at) => {
                if line.wants_wake(now, at) {
                    self.queue.push(place, at, Event::HostWake { host });
                }
                return;
            }
            Next::Idle => return,
        };
        let state = &mut self.flows[flow as usize];
        let (sequence, length) = state.send(now);
        let record = FrameRecord {
            flow,
            sequence,
            from: host,
            to: state.plan.to,
            flow_hash: state.plan.flow_hash,
            length_bytes: length.get() as u32,
            priority: state.plan.priority,
            marked: false,
            sent: now,
        };
        let frame = self.frames.add(record);
        line.is_busy = true;
        let sent = now + line.time_for(length);
        let arrives = sent + line.delay;
        let (epoch, to) = (line.epoch, line.to_place);
        self.queue.push(place, sent, Event::HostFree { host });
        let payload = Payload::Frame(frame);
        self.queue.push(
            to,
            arrives,
            Event::Arrive {
                line: line_index,
                epoch,
                payload,
            },
        );
    }

    pub(super) fn frame_at_host(&mut self, _host: u32, index: u32) {
        let now = self.now;
        self.totals.last_movement = self.totals.last_movement.max(now);
        self.totals.frame_hops += 1;
        let record = self.frames.get(index);
        let flow = &mut self.flows[record.flow as usize];
        let last_part = now >= self.last_part_from;
        flow.arrive(
            now,
            record.sequence,
            record.length(),
            record.sent,
            last_part,
        );
        if record.marked {
            flow.marked += 1;
        }
        if let Some(samples) = &self.samples {
            samples.note_arrival(flow, now, record.length());
        }
        self.frames.give_back(index);
    }

    pub(super) fn control_at_host(&mut self, host: u32, message: u32) {
        let now = self.now;
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
            // A host knows nothing of what switches tell each other.
            Err(_) => {}
        }
        self.pump_host(host);
    }
}
