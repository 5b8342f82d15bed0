//! Progress of time in a network.

use weir_core::units::LINE_OVERHEAD;
use weir_core::wire::mac_control::MacControl;
use weir_core::wire::ControlFrame;
use weir_core::{Bytes, Duration, Event, Frame, MacAddress, PortId, Transmission};

use super::config::{PRIORITY, RATE};
use super::disturbance::Fate;
use super::{host_address, DataFrame, End, Network, Packet};
use super::{CONTROL_LATENCY, FRAME, HOST_DELAY, TICK};

impl Network {
    pub fn run(&mut self, span: Duration) {
        let end = self.now + span;
        while self.now < end {
            self.now = self.now + TICK;
            self.send_storms();
            self.deliver();
            for host in 0..self.hosts.len() {
                self.send_from_host(host);
            }
            for node in 0..self.nodes.len() {
                if self.stalled != Some(node) {
                    self.step(node);
                }
            }
        }
    }

    /// Stops all hosts and runs until nothing is in flight, or for `limit`.
    pub fn settle(&mut self, limit: Duration) {
        for host in &mut self.hosts {
            host.flow = None;
        }
        let end = self.now + limit;
        while self.now < end && self.held() + self.on_lines() > 0 {
            self.run(TICK);
        }
    }

    fn deliver(&mut self) {
        for index in 0..self.lines.len() {
            let stalled =
                matches!(self.lines[index].to, End::Switch(node, _) if self.stalled == Some(node));
            while !stalled
                && self.lines[index]
                    .packets
                    .front()
                    .is_some_and(|(at, _)| *at <= self.now)
            {
                let (_, packet) = self.lines[index].packets.pop_front().unwrap();
                match self.lines[index].to {
                    End::Switch(node, port) => self.arrive_at_switch(node, port, packet),
                    End::Host(host) => self.arrive_at_host(host, packet),
                }
            }
        }
    }

    fn arrive_at_switch(&mut self, node: usize, port: PortId, packet: Packet) {
        let now = self.now;
        let node = &mut self.nodes[node];
        match packet {
            Packet::Data(data) => {
                let handle = node.free.pop().expect("the pool backs every buffer");
                let frame = Frame {
                    handle,
                    length: FRAME,
                    priority: PRIORITY,
                    destination: data.destination,
                    source: data.source,
                    flow_hash: data.flow_hash,
                };
                match node.switch.receive(now, port, frame) {
                    Ok(_) => node.frames[handle.index()] = Some(data),
                    Err(_) => node.free.push(handle),
                }
            }
            Packet::Control(bytes) if bytes[12..14] == [0x88, 0x08] => {
                let _ = node.switch.receive_mac_control(now, port, &bytes);
            }
            Packet::Control(bytes) => {
                let _ = node.switch.receive_clcm(now, port, &bytes);
            }
        }
    }

    fn arrive_at_host(&mut self, host: usize, packet: Packet) {
        match packet {
            Packet::Data(data) => {
                let flow = &mut self.flows[data.flow];
                flow.note_arrival(self.now, data.sequence);
            }
            Packet::Control(bytes) => {
                let Ok(MacControl::Pfc { times }) = MacControl::parse(&bytes) else {
                    panic!("a host got a control frame that is no PFC");
                };
                if let Some(quanta) = times[PRIORITY.index()] {
                    self.hosts[host].paused_until = self.now + quanta.at(RATE);
                }
            }
        }
    }

    fn send_from_host(&mut self, index: usize) {
        let host = &mut self.hosts[index];
        let Some((flow, destination)) = host.flow else {
            return;
        };
        if host.paused_until > self.now || host.free_at > self.now {
            return;
        }
        let time = RATE.time_for(FRAME + LINE_OVERHEAD);
        host.free_at = host.free_at.max(self.now) + time + host.idle;
        let data = DataFrame {
            flow_hash: host.flow_hash,
            flow,
            sequence: self.flows[flow].sent,
            destination,
            source: host_address(index),
        };
        self.flows[flow].note_sent(self.now);
        let at = self.now + time + HOST_DELAY;
        self.lines[host.line]
            .packets
            .push_back((at, Packet::Data(data)));
    }

    fn step(&mut self, index: usize) {
        let now = self.now;
        let node = &mut self.nodes[index];
        while node.to_switch.front().is_some_and(|(at, _)| *at <= now) {
            let (_, command) = node.to_switch.pop_front().unwrap();
            let _ = node.switch.apply(now, command);
            node.take_discarded();
        }
        if node.switch.next_timeout().is_some_and(|at| at <= now) {
            node.switch.handle_timeout(now);
            node.take_discarded();
        }
        for port in 0..node.lines.len() {
            let id = PortId::new(port as u8);
            while let Some(transmission) = node.switch.transmit(now, id) {
                let (mut packet, length) = match transmission {
                    Transmission::Data { handle, length, .. } => {
                        let data = node.frames[handle.index()].expect("a frame that is held");
                        let back = node.switch.complete(handle);
                        node.free.push(back.expect("one copy"));
                        (Packet::Data(data), length)
                    }
                    Transmission::Control(frame) => {
                        let bytes = emit(&frame);
                        let length = Bytes::new(bytes.len() as u64);
                        (Packet::Control(bytes), length)
                    }
                };
                let line = &mut self.lines[node.lines[port]];
                let fate = match (&mut packet, line.to) {
                    (Packet::Control(bytes), End::Switch(..)) => self.disturber.meet(bytes),
                    _ => Fate::ORDINARY,
                };
                let delay = match line.to {
                    End::Switch(..) => self.delay,
                    End::Host(_) => HOST_DELAY,
                };
                let mut at = now + RATE.time_for(length) + delay;
                if self.keeps_order {
                    at = line.packets.back().map_or(at, |(last, _)| at.max(*last));
                }
                let at = at + fate.late_by;
                for _ in 0..fate.copies {
                    line.send(at, packet.clone());
                }
            }
        }
        while let Some(event) = node.switch.poll_event() {
            self.events.push((index, event));
            let at = Event {
                at: now + CONTROL_LATENCY,
                ..event
            };
            node.to_control.push_back((at.at, at));
        }
        while node.to_control.front().is_some_and(|(at, _)| *at <= now) {
            let (_, event) = node.to_control.pop_front().unwrap();
            node.control.handle_event(&event);
        }
        if node.control.next_timeout().is_some_and(|at| at <= now) {
            node.control.handle_timeout(now);
        }
        while let Some(command) = node.control.poll_command() {
            node.to_switch.push_back((now + CONTROL_LATENCY, command));
        }
        while let Some(report) = node.control.poll_report() {
            self.reports.push((index, report));
        }
    }
}

pub(super) fn emit(frame: &ControlFrame) -> Vec<u8> {
    let mut buffer = [0u8; 2048];
    let length = frame.emit(MacAddress([2, 0, 0, 0, 0, 1]), &mut buffer);
    buffer[..length.expect("the buffer is large enough")].to_vec()
}
