//! Events at switches: arrivals, transmissions, timers.

mod ahead;
pub(in crate::network) mod spreader;

use weir_core::units::LINE_OVERHEAD;
use weir_core::wire::ethernet::FRAME_LENGTH_MIN;
use weir_core::wire::mac_control::MacControl;
use weir_core::wire::{ControlFrame, CONTROL_FRAME_LENGTH_MAX};
use weir_core::{Bytes, Frame, FrameHandle, Instant, PortId, Priority, Transmission};

use crate::network::faults::disturbance::{meet, Fate};
use crate::network::node::{Payload, NO_FRAME};
use crate::network::plan::{host_address, port_address, End, PriorityMap};
use crate::network::pool::Flags;
use crate::network::{Event, LogKind, Network, Totals};
use crate::transport::telemetry::Hop;

/// EtherType of MAC control frames.
const MAC_CONTROL: [u8; 2] = [0x88, 0x08];

/// Ring size of each port, for the input of a frozen switch.
const DOOR_CAPACITY_PER_PORT: usize = 2048;

impl Network {
    pub(super) fn arrive(&mut self, line: u32, epoch: u16, payload: Payload) {
        let state = &self.lines[line as usize];
        let to = state.to.filter(|_| state.epoch == epoch && state.is_up());
        match (to, payload) {
            (Some(End::Port { switch, port }), payload) => {
                let node = switch as usize;
                if self.nodes[node].frozen.is_some() {
                    self.wait_at_door(node, line, payload);
                } else {
                    self.arrive_at_switch(node, port, line, payload);
                }
            }
            (Some(End::Host(host)), Payload::Frame(frame)) => self.frame_at_host(host, frame),
            (Some(End::Host(host)), Payload::Control(message)) => {
                self.control_at_host(host, message);
            }
            (None, payload) => self.lose(payload, |totals| &mut totals.lost_on_lines),
        }
    }

    fn wait_at_door(&mut self, node: usize, line: u32, payload: Payload) {
        let capacity = DOOR_CAPACITY_PER_PORT * self.nodes[node].port_count();
        let Some(frozen) = &mut self.nodes[node].frozen else {
            return;
        };
        if frozen.is_stopped {
            self.lose(payload, |totals| &mut totals.lost_in_restarts);
            return;
        }
        if frozen.door.len() < capacity {
            frozen.door.push_back((line, payload));
            return;
        }
        self.lose(payload, |totals| &mut totals.lost_at_doors);
    }

    /// Drops an arriving frame; a host's frame is counted by `reason`.
    pub(super) fn lose(&mut self, payload: Payload, reason: fn(&mut Totals) -> &mut u64) {
        match payload {
            Payload::Frame(frame) => {
                *reason(&mut self.totals) += 1;
                self.frames.give_back(frame);
            }
            Payload::Control(message) => self.messages.give_back(message),
        }
    }

    pub(super) fn arrive_at_switch(
        &mut self,
        node: usize,
        port: PortId,
        line: u32,
        payload: Payload,
    ) {
        if self.impairing.is_empty() || self.lines[line as usize].impairments.is_empty() {
            self.take_at_switch(node, port, line, payload, false);
        } else {
            self.impair(node, port, line, payload);
        }
    }

    /// The switch takes an arrived frame; with `is_marked`, the frame is marked regardless of its own bit.
    pub(super) fn take_at_switch(
        &mut self,
        node: usize,
        port: PortId,
        line: u32,
        payload: Payload,
        is_marked: bool,
    ) {
        match payload {
            Payload::Frame(frame) => self.frame_at_switch(node, port, line, frame, is_marked),
            Payload::Control(message) => self.control_at_switch(node, port, line, message),
        }
        self.settle(node);
    }

    fn frame_at_switch(
        &mut self,
        node: usize,
        port: PortId,
        line: u32,
        index: u32,
        is_marked: bool,
    ) {
        let now = self.now;
        self.totals.last_movement = self.totals.last_movement.max(now);
        self.totals.frame_hops += 1;
        let record = self.frames.get_mut(index);
        let map = &self.lines[line as usize].priority_map;
        record.priority = map.behind(record.priority);
        let state = &mut self.nodes[node];
        // Handles cover every buffer to the last cell: a frame without one would not be admitted either.
        let Some(handle) = state.take_handle() else {
            let reason = weir_core::DropReason::TableFull;
            state.switch.count_data_drop(port, record.priority, reason);
            self.totals.dropped += 1;
            self.frames.give_back(index);
            return;
        };
        let destination = host_address(record.to);
        let mut flow_hash = self.plan.hash_at(node, record.flow_hash);
        if let Some(spreader) = &mut state.spreader {
            if state.switch.has_choice(destination) {
                flow_hash = spreader.hash(now, flow_hash, record.to);
            }
        }
        let frame = Frame {
            handle,
            length: record.length(),
            priority: record.priority,
            destination,
            source: self.plan.source(record.from, record.sequence),
            flow_hash,
        };
        match state.switch.receive(now, port, frame) {
            Ok(admitted) => {
                if admitted.mark | is_marked {
                    record.marked = true;
                    state.switch.count_mark(port, record.priority);
                }
                state.frames[handle.index()] = index;
            }
            Err(_) => {
                state.free.push(handle);
                self.totals.dropped += 1;
                self.frames.give_back(index);
            }
        }
    }

    fn control_at_switch(&mut self, node: usize, port: PortId, line: u32, message: u32) {
        let now = self.now;
        let map = self.lines[line as usize].priority_map_back;
        let bytes = self.messages.get_mut(message);
        let switch = &mut self.nodes[node].switch;
        // The switch counts unreadable frames by reason.
        let is_mac_control = bytes.get(12..14) == Some(&MAC_CONTROL);
        if is_mac_control {
            if let Some(map) = map {
                translate_pauses(bytes, &map);
            }
            let _ = switch.receive_mac_control(now, port, bytes);
        } else {
            let _ = switch.receive_clcm(now, port, bytes);
        }
        self.messages.give_back(message);
        if is_mac_control {
            self.note_pauses(node, port, None);
        }
    }

    /// A port has finished sending a data frame.
    pub(super) fn port_free(&mut self, line: u32, epoch: u16, handle: FrameHandle) {
        let Some((node, _)) = self.node_and_port(line) else {
            return;
        };
        let state = &mut self.lines[line as usize];
        if state.hangs {
            state.held = Some((epoch, handle));
            return;
        }
        state.is_busy = false;
        let state = &mut self.nodes[node];
        if state.epoch == epoch {
            if let Some(frozen) = &mut state.frozen {
                frozen.completions.push(handle);
                return;
            }
            self.complete(node, handle);
        }
        self.wake_port(line);
    }

    /// Returns a departed frame to the core.
    pub(super) fn complete(&mut self, node: usize, handle: FrameHandle) {
        let state = &mut self.nodes[node];
        let Some(handle) = state.switch.complete(handle) else {
            return;
        };
        let frame = state.take_frame(handle);
        // A flooded frame has none: its copies have left.
        if frame != NO_FRAME {
            self.totals.copied = self.totals.copied.wrapping_sub(1);
            self.frames.give_back(frame);
        }
    }

    /// Something may now leave by this line.
    pub(super) fn wake_port(&mut self, line: u32) {
        if let Some((node, port)) = self.node_and_port(line) {
            if self.nodes[node].frozen.is_none() {
                self.pump(node, port);
                self.settle(node);
            }
        }
    }

    /// Lets `port` send if its line is free.
    fn pump(&mut self, node: usize, port: PortId) {
        let now = self.now;
        let state = &mut self.nodes[node];
        let index = state.first_line as usize + port.index();
        let line = &mut self.lines[index];
        if line.is_busy || state.frozen.is_some() {
            return;
        }
        let (line_index, epoch) = (index as u32, line.epoch);
        match state.switch.transmit(now, port) {
            Some(Transmission::Data {
                handle,
                length,
                priority,
                mark,
            }) => {
                let (sent, arrives) = line.send(now, length);
                // From here on it is on the line, whatever happens to the switch.
                let held = &mut state.frames[handle.index()];
                debug_assert_ne!(*held, NO_FRAME, "the core sends what it holds");
                let frame = if state.floods {
                    self.totals.copied = self.totals.copied.wrapping_add(1);
                    let copy = *self.frames.get(*held);
                    let hops = self.frames.no_hops();
                    self.frames.add(copy, hops)
                } else {
                    std::mem::replace(held, NO_FRAME)
                };
                if mark {
                    self.frames.get_mut(frame).marked = true;
                    state.switch.count_mark(port, priority);
                }
                let free = Event::PortFree {
                    line: line_index,
                    epoch: state.epoch,
                    handle,
                };
                let to = line.to_place;
                self.queue.push(node as u32, sent, free);
                if self.frames.telemetry().is_some() {
                    self.tell_frame(node, port, frame, length);
                }
                self.deliver(to, arrives, line_index, epoch, Payload::Frame(frame));
            }
            Some(Transmission::Control(control)) => {
                let bytes = emit(&control, node as u32, port);
                let length = Bytes::new(bytes.len().max(FRAME_LENGTH_MIN) as u64);
                let (sent, arrives) = line.send(now, length);
                if let Some(telemetry) = self.frames.telemetry_mut() {
                    telemetry.carried(line_index, (length + LINE_OVERHEAD).get());
                }
                self.queue
                    .push(node as u32, sent, Event::ControlSent { line: line_index });
                self.send_control(line_index, arrives, bytes);
                if let ControlFrame::Mac(_) = control {
                    self.note_pauses(node, port, Some(arrives));
                }
            }
            None => {
                if let Some(at) = state.switch.next_transmit(port) {
                    if at > now && line.wants_wake(now, at) {
                        self.queue
                            .push(node as u32, at, Event::PortWake { line: line_index });
                    }
                }
            }
        }
    }

    /// `frame` begins to leave by `port`: adds telemetry if requested.
    fn tell_frame(&mut self, node: usize, port: PortId, frame: u32, length: Bytes) {
        let state = &self.nodes[node];
        let line = state.first_line + port.index() as u32;
        let is_traced = self.frames.get(frame).flags.has(Flags::TRACED);
        let waiting = || {
            let priorities = Priority::ALL.into_iter();
            let waiting = priorities.map(|priority| state.switch.occupancy(port, priority).1.get());
            waiting.sum()
        };
        let hop = is_traced.then(|| Hop {
            line,
            at: self.now,
            sent_bytes: 0,
            queue_bytes: waiting(),
            rate: self.lines[line as usize].rate(),
        });
        if let Some(telemetry) = self.frames.telemetry_mut() {
            if let Some(hop) = hop {
                telemetry.note(frame, hop);
            }
            telemetry.carried(line, (length + LINE_OVERHEAD).get());
        }
    }

    /// Puts a control frame on a line; it arrives at `arrives`.
    pub(super) fn send_control(&mut self, index: u32, arrives: Instant, mut bytes: Vec<u8>) {
        let line = &mut self.lines[index as usize];
        let fate = if line.disturbances.is_empty() {
            Fate::ORDINARY
        } else {
            meet(&line.disturbances, &mut line.faults, &mut bytes)
        };
        let arrives = arrives + fate.late_by;
        let (epoch, to) = (line.epoch, line.to_place);
        for _ in 0..fate.copies {
            let payload = Payload::Control(self.messages.add(bytes.clone()));
            self.deliver(to, arrives, index, epoch, payload);
        }
    }

    /// `payload` reaches the other end of `line`, at the place `to`.
    #[inline]
    pub(super) fn deliver(
        &mut self,
        to: u32,
        arrives: Instant,
        line: u32,
        epoch: u16,
        payload: Payload,
    ) {
        let arrive = Event::Arrive {
            line,
            epoch,
            payload,
        };
        if self.outbox.is_none() {
            self.queue.push(to, arrives, arrive);
        } else {
            self.send_to_part(to, arrives, arrive, payload);
        }
    }

    /// Handles the requests of a switch after a call.
    pub(super) fn settle(&mut self, node: usize) {
        while let Some(port) = self.nodes[node].switch.poll_ready() {
            self.pump(node, port);
        }
        while let Some(discarded) = self.nodes[node].switch.poll_discarded() {
            let frame = self.nodes[node].take_frame(discarded.handle);
            self.totals.dropped += 1;
            self.frames.give_back(frame);
        }
        while let Some(event) = self.nodes[node].switch.poll_event() {
            self.log.add(self.now, node, LogKind::Event(event));
            self.tell_control(node, event);
        }
        let state = &mut self.nodes[node];
        if state.switch.timers_moved() {
            if let Some(at) = state.switch.next_timer() {
                if at < state.timer_at || state.timer_at <= self.now {
                    state.timer_at = at.max(self.now);
                    self.queue
                        .push(node as u32, at, Event::Timer { node: node as u32 });
                }
            }
        }
    }

    pub(super) fn timer(&mut self, node: usize) {
        let state = &mut self.nodes[node];
        // An earlier timer, set since, has handled what was due.
        if state.timer_at != self.now || state.frozen.is_some() {
            return;
        }
        state.timer_at = Instant::FAR_FUTURE;
        state.switch.handle_timeout(self.now);
        self.settle(node);
    }
}

/// Returns the frame's bytes.
fn emit(control: &ControlFrame, switch: u32, port: PortId) -> Vec<u8> {
    let mut buffer = [0; CONTROL_FRAME_LENGTH_MAX];
    let length = control.emit(port_address(switch, port.get()), &mut buffer);
    buffer[..length.unwrap_or(0)].to_vec()
}

/// Converts pauses for the classes after a link to the classes before it.
fn translate_pauses(bytes: &mut [u8], map: &PriorityMap) {
    let Ok(MacControl::Pfc { times }) = MacControl::parse(bytes) else {
        return;
    };
    let mut source = [0; 6];
    source.copy_from_slice(&bytes[6..12]);
    let times = map.pauses_before(times);
    MacControl::Pfc { times }.emit(weir_core::MacAddress(source), bytes);
}
