//! One switch: the core itself, the memory that it speaks of, and its control CPU.

use std::collections::VecDeque;

use weir_core::control::ControlPlane;
use weir_core::{
    Command, ConfigError, Duration, Event, FrameHandle, Instant, PortId, Switch, SwitchConfig,
};

use super::plan::{ControlPlan, SwitchPlan};
use super::switches::spreader::Spreader;

/// Where a handle leads to no frame.
pub(super) const NO_FRAME: u32 = u32::MAX;

#[derive(Debug)]
pub(super) struct Node {
    pub(super) switch: Switch,
    /// Line of port 0; the others follow.
    pub(super) first_line: u32,
    /// By handle: the frame that it holds.
    pub(super) frames: Vec<u32>,
    pub(super) free: Vec<FrameHandle>,
    /// Of a switch that spreads frames by itself.
    pub(super) spreader: Option<Box<Spreader>>,
    /// The timer event that is under way.
    pub(super) timer_at: Instant,
    pub(super) control: Option<ControlCpu>,
    /// What waits at the door of a switch that does nothing.
    pub(super) frozen: Option<Frozen>,
    /// What impairments have delayed, in the order in which it is due; what is due at one moment in that in which it came.
    pub(super) late: VecDeque<Late>,
    /// A frame may leave by several ports: each time it is a copy.
    pub(super) floods: bool,
    /// Rises with each restart: what was under way inside before it is void.
    pub(super) epoch: u16,
}

/// What comes in while a switch is frozen.
#[derive(Debug, Default)]
pub(super) struct Frozen {
    pub(super) door: VecDeque<(u32, Payload)>,
    /// Frames that have left meanwhile.
    pub(super) completions: Vec<(PortId, FrameHandle)>,
    /// It is not there at all, and what comes in is lost.
    pub(super) is_stopped: bool,
}

/// What an impairment has delayed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Late {
    pub(super) due: Instant,
    pub(super) line: u32,
    pub(super) payload: Payload,
}

/// What a line delivers.
#[derive(Clone, Copy, Debug)]
pub(super) enum Payload {
    Frame(u32),
    Control(u32),
}

/// The control plane with the latency of its CPU on both sides.
#[derive(Debug)]
pub(super) struct ControlCpu {
    pub(super) plane: ControlPlane,
    pub(super) latency: Duration,
    pub(super) inbox: VecDeque<(Instant, Event)>,
    pub(super) outbox: VecDeque<(Instant, Command)>,
    pub(super) timer_at: Instant,
}

impl Node {
    /// The routes of `plan`, most of what it consists of in a large network, leave it for the switch, unless the switch
    /// `is_made_again` later.
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

    /// All handles are free, as in a switch that is new.
    pub(super) fn reset_handles(&mut self) {
        self.frames.clear();
        self.free.clear();
    }

    /// A handle that is free: one that was given back, or else one that has never been used.
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

    /// Takes the frame out of `handle`, which the core has given back.
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
