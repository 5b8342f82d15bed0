//! One switch with its control plane: the real core, and its possible inputs.

use std::collections::VecDeque;

use weir_core::control::{ControlPlane, Policy};
use weir_core::event::{EventKind, SuspicionReason};
use weir_core::testing::{Clock, Digest};
use weir_core::wire::ControlFrame;
use weir_core::{
    Bytes, Command, DropReason, Duration, Event, Frame, FrameHandle, Instant, MacAddress, PortId,
    Switch, Transmission,
};

use crate::plan::{Facing, Mode, Plan, PlanError, CELL, FRAME, PRIORITY, TICK};

/// Possible input of a switch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Input {
    /// A data frame arrives.
    Receive {
        /// Ingress port.
        port: u8,
        /// Destination of the frame.
        destination: u8,
    },
    /// A control frame arrives.
    Control {
        /// Ingress port.
        port: u8,
        /// Number of the frame; see [`Frames`].
        frame: u16,
    },
    /// Makes a port send its next frame.
    Transmit {
        /// The port.
        port: u8,
    },
    /// Due timers of the switch run.
    Timer,
    /// Due timers of the control plane run.
    ControlTimer,
    /// The control plane takes the oldest event.
    Handle,
    /// Time advances by a tick.
    Tick,
}

/// Output of a switch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Output {
    /// Nothing leaves the switch.
    Nothing,
    /// A frame was refused.
    Dropped(DropReason),
    /// A data frame leaves.
    Data {
        /// Its ingress port.
        ingress: u8,
        /// Destination address.
        destination: u8,
    },
    /// A control frame leaves; see [`Frames`].
    Control(u16),
}

/// Control frames by number, so that a link stores numbers.
#[derive(Debug, Default)]
pub struct Frames {
    all: Vec<(ControlFrame, Vec<u8>)>,
}

impl Frames {
    /// Returns the number of a frame.
    pub fn number(&mut self, frame: ControlFrame) -> u16 {
        let mut buffer = [0; 1024];
        let length = frame.emit(MacAddress([2, 0, 0, 0, 0, 1]), &mut buffer);
        let bytes = &buffer[..length.unwrap_or_default()];
        let known = self.all.iter().position(|(_, other)| other == bytes);
        let index = known.unwrap_or_else(|| {
            self.all.push((frame, bytes.to_vec()));
            self.all.len() - 1
        });
        index as u16
    }

    /// Returns the frame of a number.
    pub fn frame(&self, number: u16) -> &ControlFrame {
        &self.all[usize::from(number)].0
    }

    /// Returns true for PFC, false for CLCM.
    pub fn is_pfc(&self, number: u16) -> bool {
        matches!(self.frame(number), ControlFrame::Mac(_))
    }

    fn bytes(&self, number: u16) -> &[u8] {
        &self.all[usize::from(number)].1
    }
}

/// A switch, its control plane, and their environment.
#[derive(Clone, Debug)]
pub struct Node {
    index: usize,
    switch: Switch,
    plane: Option<ControlPlane>,
    now: Instant,
    timed: bool,
    /// By handle: ingress and destination of held frames.
    frames: Vec<Option<(u8, u8)>>,
    /// Events that the control plane has not taken yet.
    events: VecDeque<Event>,
}

impl Node {
    /// Creates the switch `index` of a plan, with empty buffers.
    ///
    /// # Errors
    ///
    /// The reason for which the plan cannot be explored.
    pub fn new(plan: &Plan, index: usize) -> Result<Self, PlanError> {
        let config = plan.switch_config(index)?;
        let frame_count = config.frame_count;
        let mut switch = Switch::with_faults(config, plan.faults)?;
        if let Mode::Levels { reserve, .. } = plan.mode {
            if !switch.set_reserve(Bytes::new(reserve * CELL.get())) {
                return Err(PlanError::Reserve(reserve));
            }
        }
        let speaks = plan.policy != Policy::Off;
        Ok(Self {
            index,
            switch,
            plane: speaks.then(|| ControlPlane::new(plan.control_config(index), index as u64 + 1)),
            // Later than any time that is looked back to.
            now: Instant::ZERO + Duration::from_secs(10),
            timed: plan.timed,
            frames: vec![None; frame_count],
            events: VecDeque::new(),
        })
    }

    /// Returns the same switch at the same moment, with time running from now on.
    #[must_use]
    pub fn with_time(&self) -> Self {
        Self {
            timed: true,
            ..self.clone()
        }
    }

    /// Returns a digest of everything that determines the future.
    ///
    /// # Errors
    ///
    /// [`PlanError::NoDigest`].
    pub fn digest(&self) -> Result<u128, PlanError> {
        let clock = if self.timed {
            Clock::At(self.now)
        } else {
            Clock::Stopped(self.now)
        };
        let node = self.index;
        let mut digest = Digest::new(clock);
        let mut add = |part: u128| {
            digest.word((part >> 64) as u64);
            digest.word(part as u64);
        };
        add(node as u128);
        add(self
            .switch
            .digest(clock)
            .ok_or(PlanError::NoDigest { node })?);
        if let Some(plane) = &self.plane {
            add(plane.digest(clock).ok_or(PlanError::NoDigest { node })?);
        }
        for event in &self.events {
            digest.past(event.at, Duration::from_secs(1));
            digest.text(&event.kind);
        }
        Ok(digest.finish())
    }

    /// Returns a digest of everything that determines the switch's future, except the round-robin position.
    ///
    /// # Errors
    ///
    /// [`PlanError::NoDigest`].
    pub fn digest_without_turns(&self) -> Result<u128, PlanError> {
        let digest = self.switch.digest_without_turns(Clock::Stopped(self.now));
        digest.ok_or(PlanError::NoDigest { node: self.index })
    }

    /// Executes an input.
    ///
    /// # Errors
    ///
    /// [`PlanError::DataToSource`].
    pub fn step(
        &mut self,
        plan: &Plan,
        frames: &mut Frames,
        input: Input,
    ) -> Result<Output, PlanError> {
        let now = self.now;
        let output = match input {
            Input::Receive { port, destination } => self.receive(port, destination),
            Input::Control { port, frame } => {
                let port = PortId::new(port);
                let bytes = frames.bytes(frame);
                // The effect of a refused frame is in the switch's state.
                let _ = if frames.is_pfc(frame) {
                    self.switch.receive_mac_control(now, port, bytes)
                } else {
                    self.switch.receive_clcm(now, port, bytes)
                };
                Output::Nothing
            }
            Input::Transmit { port } => self.transmit(frames, port),
            Input::Timer => {
                self.switch.handle_timeout(now);
                Output::Nothing
            }
            Input::ControlTimer => {
                if let Some(plane) = &mut self.plane {
                    plane.handle_timeout(now);
                }
                Output::Nothing
            }
            Input::Handle => {
                if let (Some(plane), Some(event)) = (&mut self.plane, self.events.pop_front()) {
                    plane.handle_event(&event);
                }
                Output::Nothing
            }
            Input::Tick => {
                self.now = now + TICK;
                Output::Nothing
            }
        };
        self.settle(plan)?;
        Ok(output)
    }

    fn receive(&mut self, port: u8, destination: u8) -> Output {
        let Some(handle) = self.frames.iter().position(Option::is_none) else {
            return Output::Dropped(DropReason::TableFull);
        };
        let frame = Frame {
            handle: FrameHandle(handle as u32),
            length: FRAME,
            priority: PRIORITY,
            destination: Plan::address(destination),
            source: MacAddress([2, 0, 0, 0, 2, 0]),
            flow_hash: 0,
        };
        match self.switch.receive(self.now, PortId::new(port), frame) {
            Ok(_) => {
                self.frames[handle] = Some((port, destination));
                Output::Nothing
            }
            Err(reason) => Output::Dropped(reason),
        }
    }

    /// Transmits a frame; skips echo messages, which only measure.
    fn transmit(&mut self, frames: &mut Frames, port: u8) -> Output {
        let id = PortId::new(port);
        loop {
            match self.switch.transmit(self.now, id) {
                None => return Output::Nothing,
                Some(Transmission::Control(ControlFrame::Echo(_))) => {}
                Some(Transmission::Control(frame)) => return Output::Control(frames.number(frame)),
                Some(Transmission::Data { handle, .. }) => {
                    let _ = self.switch.complete(handle);
                    let (ingress, destination) =
                        self.frames[handle.index()].take().unwrap_or_default();
                    return Output::Data {
                        ingress,
                        destination,
                    };
                }
            }
        }
    }

    /// Passes commands to the switch, events to the control plane, and pauses to hosts, which obey at once.
    fn settle(&mut self, plan: &Plan) -> Result<(), PlanError> {
        loop {
            let command = self.plane.as_mut().and_then(ControlPlane::poll_command);
            let Some(command) = command else { break };
            self.apply(command);
        }
        if let Some(plane) = &mut self.plane {
            while plane.poll_report().is_some() {}
        }
        while let Some(event) = self.switch.poll_event() {
            if self.plane.is_some() {
                self.events.extend(plain(event));
            }
        }
        for (port, facing) in plan.nodes[self.index].ports.iter().enumerate() {
            let id = PortId::new(port as u8);
            if *facing != Facing::Source {
                continue;
            }
            loop {
                match self.switch.transmit(self.now, id) {
                    None => break,
                    Some(Transmission::Control(_)) => {}
                    Some(Transmission::Data { .. }) => return Err(PlanError::DataToSource),
                }
            }
        }
        Ok(())
    }

    /// Applies a command; a refused command came too late.
    fn apply(&mut self, command: Command) {
        let _ = self.switch.apply(self.now, command);
    }

    /// Returns true if the host at `port` may not send.
    pub fn is_pausing(&self, port: u8) -> bool {
        let gauges = self.switch.gauges(self.now, PortId::new(port), PRIORITY);
        gauges.pausing
    }

    /// Returns true if a frame from `ingress` may use the express path to `egress`, which bypasses the switch: no frame of
    /// its ingress is inside, and the egress is not held.
    pub fn lets_pass(&self, ingress: u8, egress: u8) -> bool {
        let id = PortId::new(egress);
        let unheld = self.switch.unheld_priorities(self.now, id);
        self.switch.is_egress_clear(self.now, id)
            && unheld & 1 << PRIORITY.index() != 0
            && self.held().all(|(other, _)| other != ingress)
    }

    /// Returns (ingress, destination) of all held frames.
    pub fn held(&self) -> impl Iterator<Item = (u8, u8)> + '_ {
        self.frames.iter().flatten().copied()
    }

    /// Returns the ticks for which the oldest event has waited for the control plane; `None` without any.
    pub fn control_lag(&self) -> Option<u64> {
        let event = self.events.front()?;
        let waited = self.now.saturating_since(event.at);
        Some(waited.as_nanos() / TICK.as_nanos())
    }

    /// Returns the switch itself, for display.
    pub fn switch(&self) -> &Switch {
        &self.switch
    }
}

/// The part of an event that the control plane uses.
fn plain(event: Event) -> Option<Event> {
    let kind = match event.kind {
        EventKind::Suspected {
            egress,
            priority,
            idle,
            alternatives,
            alternatives_from,
            ..
        } => EventKind::Suspected {
            egress,
            priority,
            reason: SuspicionReason::Paused,
            queued: Bytes::ZERO,
            idle,
            alternatives,
            alternatives_from,
        },
        EventKind::SuspicionEnded {
            egress, priority, ..
        } => EventKind::SuspicionEnded {
            egress,
            priority,
            lasted: Duration::ZERO,
        },
        kind @ EventKind::ClcmReceived { .. } => kind,
        _ => return None,
    };
    Some(Event { at: event.at, kind })
}
