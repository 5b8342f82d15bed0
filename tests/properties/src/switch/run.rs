//! Runs the switch and the model side by side.

use weir_core::wire::clcm::{Clcm, Hop};
use weir_core::wire::echo::Echo;
use weir_core::wire::ethernet::{ETHERTYPE_CLCM, ETHERTYPE_MAC_CONTROL, NEAREST_BRIDGE_ADDRESS};
use weir_core::wire::mac_control::MacControl;
use weir_core::wire::seal::Greeting;
use weir_core::wire::{ControlFrame, CONTROL_FRAME_LENGTH_MAX};
use weir_core::{
    Bytes, Command, DropReason, Duration, Frame, FrameHandle, Instant, PortId, PortSet, Priority,
    Quanta, Spuid, Switch, Transmission,
};

use super::model::{Model, ModelFrame, Outage};
use super::setup::{
    address, config, CELL, DESTINATIONS, FRAME_LENGTH_MAX, HEADROOM, LOSSLESS, PORTS, PRIORITIES,
    RATE, XOFF,
};
use super::{Operation, CONTROL_LENGTH};

const MESSAGES_MAX: usize = 16;
/// Longer than the longest pause at [`RATE`] and the longest release.
const LET_GO: Duration = Duration::from_millis(40);
/// A round is as long as the longest frame's time on the wire, and all held frames leave in fewer rounds.
const ROUNDS_MAX: usize = 10_000;

/// A run in progress.
pub struct Run {
    pub(super) switch: Switch,
    pub(super) model: Model,
    pub(super) now: u64,
    pub(super) free: Vec<FrameHandle>,
    frame_count: usize,
    admitted: u64,
    refused: u64,
    delivered: u64,
    pub(super) given_up: u64,
}

impl Default for Run {
    fn default() -> Self {
        Self::new()
    }
}

impl Run {
    /// Creates an empty switch and its model.
    ///
    /// # Panics
    ///
    /// Never: the configuration is valid.
    pub fn new() -> Self {
        let config = config();
        let frame_count = config.frame_count;
        Self {
            switch: Switch::new(config).expect("a legal configuration"),
            model: Model::new(),
            now: 1_000_000_000,
            free: (0..frame_count as u32).map(FrameHandle).collect(),
            frame_count,
            admitted: 0,
            refused: 0,
            delivered: 0,
            given_up: 0,
        }
    }

    pub(super) fn instant(&self) -> Instant {
        Instant::from_nanos(self.now)
    }

    /// Applies it to both.
    ///
    /// # Panics
    ///
    /// They differ afterwards.
    pub fn apply(&mut self, operation: Operation) {
        let port_of = |number: u8| number % PORTS as u8;
        let priority_of = |number: u8| PRIORITIES[usize::from(number) % PRIORITIES.len()];
        match operation {
            Operation::Receive {
                port,
                priority,
                destination,
                length,
            } => self.receive(
                port_of(port),
                priority_of(priority),
                destination % DESTINATIONS,
                60 + u64::from(length) % (FRAME_LENGTH_MAX - 60 + 1),
            ),
            Operation::Transmit { port } => {
                self.transmit(port_of(port));
            }
            Operation::Complete { index } => self.complete(usize::from(index)),
            Operation::PauseReceived {
                port,
                priority,
                quanta,
            } => self.pause(port_of(port), priority.map(priority_of), quanta),
            Operation::MacControl { port, parameters } => {
                let frame = made_up(ETHERTYPE_MAC_CONTROL, &parameters);
                self.mac_control(port_of(port), &frame);
            }
            Operation::Clcm { port, body } => self.clcm(port_of(port), &body),
            Operation::SendClcm { port, spuid } => self.send_clcm(port_of(port), spuid),
            Operation::Release {
                ingress,
                egress,
                priority,
            } => self.release(port_of(ingress), port_of(egress), priority_of(priority)),
            Operation::SetLink { port, up } => self.set_link(port_of(port), up),
            Operation::SetRoute { destination, port } => {
                self.set_route(destination % DESTINATIONS, port.map(port_of));
            }
            Operation::Wait { micros } => self.wait(Duration::from_micros(u64::from(micros))),
        }
        while self.switch.poll_event().is_some() {}
        let more = self.switch.poll_discarded();
        assert_eq!(more, None, "only links that are down have frames dropped");
        self.follow_pauses();
        self.check();
    }

    /// Releases everything, and counts what has left.
    ///
    /// # Panics
    ///
    /// A frame is stuck, or the counters do not add up.
    pub fn finish(mut self) {
        for port in 0..PORTS as u8 {
            self.apply(Operation::SetLink { port, up: true });
        }
        self.wait(LET_GO);
        self.follow_pauses();
        self.check();
        let frame_time = RATE.time_for(Bytes::new(2 * FRAME_LENGTH_MAX));
        let mut rounds = 0;
        while self.switch.held_frames() > 0 {
            for port in 0..PORTS as u8 {
                while self.transmit(port) {}
            }
            while !self.model.sent.is_empty() {
                self.complete(0);
            }
            self.wait(frame_time);
            self.follow_pauses();
            rounds += 1;
            assert!(rounds < ROUNDS_MAX, "frames are stuck");
        }
        self.check();
        assert_eq!(self.free.len(), self.frame_count, "every handle is back");
        let left = self.delivered + self.given_up;
        assert_eq!(left, self.admitted, "what came in went out");
        let (mut admitted, mut sent, mut dropped) = (0, 0, 0);
        for port in (0..PORTS).filter_map(PortId::from_index) {
            let counters = self.switch.counters(port);
            admitted += counters.priority.iter().map(|it| it.rx_frames).sum::<u64>();
            sent += counters.priority.iter().map(|it| it.tx_frames).sum::<u64>();
            dropped += counters.drops_total();
        }
        assert_eq!(
            (admitted, sent, dropped),
            (self.admitted, self.delivered, self.refused + self.given_up),
            "the counters say so"
        );
    }

    fn wait(&mut self, span: Duration) {
        self.now += span.as_nanos();
        self.switch.handle_timeout(self.instant());
        let now = self.now;
        self.model.rules.retain(|_, (_, until)| *until > now);
        for port in 0..PORTS as u8 {
            self.end_hold(port);
            self.model.settle_raises_of(port, now);
            self.follow_pauses();
        }
    }

    fn receive(&mut self, port: u8, priority: u8, destination: u8, length: u64) {
        let handle = *self.free.last().expect("never more frames than cells");
        let before = self.model.occupancy(port, priority);
        let limit = self.model.limit(port, priority);
        let frame = Frame {
            handle,
            length: Bytes::new(length),
            priority: Priority::from_low_bits(priority),
            destination: address(destination),
            source: address(0x40),
            flow_hash: 0,
        };
        let (now, ingress) = (self.instant(), PortId::new(port));
        let said = self.switch.explain(now, ingress, &frame);
        let outcome = self.switch.receive(now, ingress, frame).map(|_| ());
        let cells = length.div_ceil(CELL) * CELL;
        let egress = self.model.routes.get(&destination).copied();
        let expected = match egress {
            _ if !self.model.up[usize::from(port)] => Err(DropReason::PortDown),
            None => Err(DropReason::NoRoute),
            Some(egress) if egress == port => Err(DropReason::Hairpin),
            Some(egress) if self.model.outage[usize::from(egress)] == Outage::Over => {
                Err(DropReason::PortDown)
            }
            Some(egress) if self.model.crowds_others(port, egress, priority) => {
                Err(DropReason::PortDown)
            }
            _ if before + cells <= limit => Ok(()),
            _ if LOSSLESS.contains(&priority) => Err(DropReason::HeadroomExceeded),
            _ => Err(DropReason::BufferFull),
        };
        assert_eq!(outcome, expected);
        assert_eq!(said.outcome.err(), expected.err(), "as explained");
        let (Ok(()), Some(egress)) = (outcome, egress) else {
            self.refused += 1;
            return;
        };
        self.admitted += 1;
        self.free.pop();
        self.model
            .waiting
            .entry((egress, priority, port, destination))
            .or_default()
            .push_back(ModelFrame {
                handle,
                ingress: port,
                priority,
                length,
            });
    }

    /// Returns true if a frame was sent.
    fn transmit(&mut self, port: u8) -> bool {
        let eligible = self.model.eligible(self.now, port);
        let index = usize::from(port);
        match self.switch.transmit(self.instant(), PortId::new(port)) {
            Some(Transmission::Data { handle, length, .. }) => {
                let is_it = |(_, frame): &&(_, ModelFrame)| frame.handle == handle;
                let (_, frame) = *eligible
                    .iter()
                    .find(is_it)
                    .expect("the oldest frame of an eligible virtual queue");
                assert_eq!(length.get(), frame.length);
                self.model.take_front(port, handle);
                self.model.sent.push(frame);
            }
            Some(Transmission::Control(ControlFrame::Mac(MacControl::Pfc { times }))) => {
                assert!(self.model.up[index]);
                for (priority, time) in times.into_iter().enumerate() {
                    if let Some(time) = time {
                        let pausing = self.model.pausing[index][priority];
                        assert_eq!(time != Quanta::ZERO, pausing, "PFC says what is so");
                    }
                }
            }
            Some(Transmission::Control(ControlFrame::Clcm(message))) => {
                assert!(self.model.up[index]);
                assert_eq!(Some(message), self.model.messages[index].pop_front());
            }
            Some(other) => panic!("unexpected {other:?}"),
            None => {
                let due = self.switch.next_timeout();
                assert!(
                    eligible.is_empty() || due.is_some_and(|at| at > self.instant()),
                    "an eligible frame waits for nothing"
                );
                assert!(
                    !self.model.up[index] || self.model.messages[index].is_empty(),
                    "control goes first"
                );
                return false;
            }
        }
        true
    }

    fn complete(&mut self, index: usize) {
        if self.model.sent.is_empty() {
            return;
        }
        let index = index % self.model.sent.len();
        let frame = self.model.sent.swap_remove(index);
        let back = self.switch.complete(frame.handle);
        assert_eq!(back, Some(frame.handle));
        self.free.push(frame.handle);
        self.delivered += 1;
        self.model.settle_raises(0);
    }

    fn pause(&mut self, port: u8, priority: Option<u8>, quanta: u16) {
        let quanta = Quanta(quanta);
        let control = match priority {
            None => MacControl::Pause { quanta },
            Some(priority) => {
                let mut times = [None; 8];
                times[usize::from(priority)] = Some(quanta);
                MacControl::Pfc { times }
            }
        };
        let mut buffer = [0u8; CONTROL_FRAME_LENGTH_MAX];
        let length = ControlFrame::Mac(control)
            .emit(address(0x50), &mut buffer)
            .expect("room for any control frame");
        self.mac_control(port, &buffer[..length]);
    }

    fn mac_control(&mut self, port: u8, frame: &[u8]) {
        let outcome = self
            .switch
            .receive_mac_control(self.instant(), PortId::new(port), frame);
        let until = |quanta: Quanta| self.now + quanta.at(RATE).as_nanos();
        let index = usize::from(port);
        match MacControl::parse(frame) {
            Ok(MacControl::Pause { quanta }) => self.model.pause_all[index] = until(quanta),
            Ok(MacControl::Pfc { times }) => {
                for (priority, quanta) in times.into_iter().enumerate() {
                    // Pauses of a lossy priority are ignored.
                    if let Some(quanta) = quanta.filter(|_| LOSSLESS.contains(&(priority as u8))) {
                        self.model.pause[index][priority] = until(quanta);
                    }
                }
            }
            Err(_) => {
                self.refused += 1;
                return assert_eq!(outcome, Err(DropReason::BadMacControl));
            }
        }
        assert_eq!(outcome, Ok(()));
    }

    fn clcm(&mut self, port: u8, body: &[u8; CONTROL_LENGTH]) {
        let frame = made_up(ETHERTYPE_CLCM, body);
        let expected = if Greeting::is_greeting(&frame) {
            // Without a key it has no receiver.
            None
        } else if Echo::is_echo(&frame) {
            Echo::parse(&frame).err().map(|_| DropReason::BadEcho)
        } else {
            Clcm::parse(&frame).err().map(|_| DropReason::BadClcm)
        };
        let outcome = self
            .switch
            .receive_clcm(self.instant(), PortId::new(port), &frame);
        assert_eq!(outcome.err(), expected);
        self.refused += u64::from(outcome.is_err());
    }

    fn send_clcm(&mut self, port: u8, spuid: u32) {
        let egress = PortId::new(port);
        let hop = Hop {
            spuid: Spuid(spuid),
            egress,
        };
        let message = Clcm::begin(Priority::ALL[3], hop);
        let command = Command::SendClcm {
            port: egress,
            message,
        };
        let outcome = self.switch.apply(self.instant(), command);
        let messages = &mut self.model.messages[usize::from(port)];
        assert_eq!(outcome.is_ok(), messages.len() < MESSAGES_MAX);
        if outcome.is_ok() {
            messages.push_back(message);
        }
    }

    /// There is room for as many routes as there are ports.
    fn set_route(&mut self, destination: u8, port: Option<u8>) {
        let routes = &mut self.model.routes;
        let known = routes.contains_key(&destination);
        let room = known || routes.len() < PORTS;
        let (command, expected) = match port {
            Some(port) => {
                if room {
                    routes.insert(destination, port);
                }
                let members = PortSet::from_iter([PortId::new(port)]);
                let command = Command::SetRoute {
                    destination: address(destination),
                    members,
                    buckets: 1,
                };
                (command, room)
            }
            None => {
                routes.remove(&destination);
                let destination = address(destination);
                (Command::RemoveRoute { destination }, known)
            }
        };
        let outcome = self.switch.apply(self.instant(), command);
        assert_eq!(outcome.is_ok(), expected, "{outcome:?}");
    }

    fn release(&mut self, ingress: u8, egress: u8, priority: u8) {
        let period = Duration::from_micros(500);
        let outcome = self.switch.apply(
            self.instant(),
            Command::Release {
                ingress: PortId::new(ingress),
                egress: PortId::new(egress),
                priority: Priority::from_low_bits(priority),
                period,
                preference: Duration::ZERO,
                extra: Bytes::new(FRAME_LENGTH_MAX),
            },
        );
        let until = self.now + period.as_nanos();
        let held_by = self
            .model
            .rules
            .get(&(egress, priority))
            .map(|(only, _)| *only);
        let expected = LOSSLESS.contains(&priority) && held_by.is_none_or(|only| only == ingress);
        assert_eq!(outcome.is_ok(), expected, "{outcome:?}");
        if expected {
            self.model
                .rules
                .insert((egress, priority), (ingress, until));
            self.model.raise(ingress, priority, until);
        }
    }

    fn check(&self) {
        assert_eq!(
            self.switch.held_frames(),
            self.model.frames().count(),
            "conservation"
        );
        for port in 0..PORTS as u8 {
            if let Outage::Held(until) = self.model.outage[usize::from(port)] {
                let due = self.switch.next_timeout();
                assert!(due.is_some_and(|at| at <= Instant::from_nanos(until)));
            }
            for priority in PRIORITIES {
                let gauges = self.switch.gauges(
                    self.instant(),
                    PortId::new(port),
                    Priority::from_low_bits(priority),
                );
                let occupancy = self.model.occupancy(port, priority);
                assert_eq!(gauges.ingress.get(), occupancy, "charges");
                let (bytes, count) = self.model.backlog(port, priority);
                assert_eq!(
                    (gauges.egress.get(), gauges.egress_frames),
                    (bytes, count),
                    "backlog"
                );
                assert_eq!(
                    gauges.paused,
                    self.model.is_paused(self.now, port, priority)
                );
                assert_eq!(
                    gauges.release_ingress.map(PortId::get),
                    self.model
                        .rules
                        .get(&(port, priority))
                        .map(|(only, _)| *only)
                );
                if LOSSLESS.contains(&priority) {
                    let pausing = self.model.pausing[usize::from(port)][usize::from(priority)];
                    assert_eq!(gauges.pausing, pausing, "pause state");
                    let thresholds = (gauges.xoff.get(), gauges.xon.get());
                    assert_eq!(thresholds, self.model.thresholds(port, priority));
                    assert!(occupancy <= XOFF + 2 * HEADROOM, "memory bound");
                }
            }
        }
    }
}

fn made_up(ethertype: u16, payload: &[u8]) -> Vec<u8> {
    let mut frame = NEAREST_BRIDGE_ADDRESS.0.to_vec();
    frame.extend(address(0x50).0);
    frame.extend(ethertype.to_be_bytes());
    frame.extend(payload);
    frame
}
