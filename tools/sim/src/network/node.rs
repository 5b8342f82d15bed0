//! One switch: the core, the memory behind its handles, and its control CPU.

use std::collections::VecDeque;

use weir_core::control::ControlPlane;
use weir_core::{
    Command, ConfigError, Duration, Event, FrameHandle, Instant, PortId, Switch, SwitchConfig,
};

use super::plan::{ControlPlan, SwitchPlan};
use super::switches::spreader::Spreader;

/// Entry of a handle without a frame.
pub(super) const NO_FRAME: u32 = u32::MAX;

#[derive(Debug)]
pub(super) struct Node {
    pub(super) switch: Switch,
    /// Line of port 0; those of the other ports follow.
    pub(super) first_line: u32,
    /// By handle: its frame.
    pub(super) frames: Vec<u32>,
    pub(super) free: Vec<FrameHandle>,
    /// Present if the switch spreads frames itself.
    pub(super) spreader: Option<Box<Spreader>>,
    /// Time of the pending timer event.
    pub(super) timer_at: Instant,
    pub(super) control: Option<ControlCpu>,
    /// Input that waits for a frozen switch.
    pub(super) frozen: Option<Frozen>,
    /// Frames delayed by impairments, sorted by due time, then by arrival.
    pub(super) late: VecDeque<Late>,
    /// A frame may leave by several ports, as copies.
    pub(super) floods: bool,
    /// Incremented with each restart: earlier pending events are void.
    pub(super) epoch: u16,
}

/// Input of a frozen switch.
#[derive(Debug, Default)]
pub(super) struct Frozen {
    pub(super) door: VecDeque<(u32, Payload)>,
    /// Frames that have left in the meantime.
    pub(super) completions: Vec<FrameHandle>,
    /// It is stopped, and all input is lost.
    pub(super) is_stopped: bool,
}

/// A frame delayed by an impairment.
#[derive(Clone, Copy, Debug)]
pub(super) struct Late {
    pub(super) due: Instant,
    pub(super) line: u32,
    pub(super) payload: Payload,
}

/// Content of a line.
#[derive(Clone, Copy, Debug)]
pub(super) enum Payload {
    Frame(u32),
    Control(u32),
}

/// The control plane, with the latency of its CPU in both directions.
#[derive(Debug)]
pub(super) struct ControlCpu {
    pub(super) plane: ControlPlane,
    pub(super) latency: Duration,
    pub(super) inbox: VecDeque<(Instant, Event)>,
    pub(super) outbox: VecDeque<(Instant, Command)>,
    pub(super) timer_at: Instant,
}

impl Node {
    /// Moves the routes of `plan`, most of it in a large network, into the switch, unless it `is_made_again` later.
    pub(super) fn new(
        plan: &mut SwitchPlan,
        first_line: u32,
        spreader: Option<Spreader>,
        is_made_again: bool,
    ) -> Result<Self, ConfigError> {
        let config = if is_made_again {
            plan.config.clone()
        } else {
            let routes = std::mem::take(&mut plan.config.routes);
            SwitchConfig {
                routes,
                ..plan.config.clone()
            }
        };
        Ok(Self {
            floods: config.learning_capacity > 0,
            switch: Switch::new(config)?,
            first_line,
            frames: Vec::new(),
            free: Vec::new(),
            spreader: spreader.map(Box::new),
            timer_at: Instant::FAR_FUTURE,
            control: plan.control.as_ref().map(ControlCpu::new),
            frozen: None,
            late: VecDeque::new(),
            epoch: 0,
        })
    }

    /// Frees all handles, as in a new switch.
    pub(super) fn reset_handles(&mut self) {
        self.frames.clear();
        self.free.clear();
    }

    /// Takes a free handle: a returned one, or else one never used before.
    pub(super) fn take_handle(&mut self) -> Option<FrameHandle> {
        if let Some(handle) = self.free.pop() {
            return Some(handle);
        }
        let next = self.frames.len();
        if next >= self.switch.config().frame_count {
            return None;
        }
        self.frames.push(NO_FRAME);
        u32::try_from(next).ok().map(FrameHandle)
    }

    pub(super) fn port_count(&self) -> usize {
        self.switch.config().ports.len()
    }

    pub(super) fn ports(&self) -> impl Iterator<Item = PortId> {
        (0..self.port_count()).filter_map(PortId::from_index)
    }

    /// Takes the frame of `handle`, which the core has returned.
    pub(super) fn take_frame(&mut self, handle: FrameHandle) -> u32 {
        self.free.push(handle);
        std::mem::replace(&mut self.frames[handle.index()], NO_FRAME)
    }
}

impl ControlCpu {
    pub(super) fn new(plan: &ControlPlan) -> Self {
        let mut plane = ControlPlane::new(plan.config, plan.seed);
        for (index, neighbour) in plan.storm_neighbours.iter().enumerate() {
            if let Some(port) = PortId::from_index(index) {
                plane.set_storm_neighbour(Instant::ZERO, port, *neighbour);
            }
        }
        Self {
            plane,
            latency: plan.latency,
            inbox: VecDeque::new(),
            outbox: VecDeque::new(),
            timer_at: Instant::FAR_FUTURE,
        }
    }
}
