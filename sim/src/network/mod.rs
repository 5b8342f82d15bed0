//! Switches, hosts and the lines between them, driven event by event.

mod answers;
mod control;
mod counters;
pub mod faults;
mod flow;
mod hosts;
mod line;
mod log;
mod nic;
mod node;
pub mod plan;
mod pool;
mod samples;
mod switches;

use weir_core::{Bytes, ConfigError, Duration, FrameHandle, Instant, PortId};

use crate::random::Random;
use crate::schedule::Schedule;
use faults::impairment::Impairing;
use line::Line;
use nic::Nic;
use node::{Node, Payload};
use plan::{End, NetworkPlan, PriorityMap};
use pool::{FrameKind, FrameRecord, Pool};

pub use counters::{Counters, Imbalance};
pub use flow::Flow;
pub use log::{LogEntry, LogKind};
pub use samples::Samples;

/// Why a plan cannot run.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PlanError {
    /// A switch's configuration cannot work.
    #[error("switch {switch}: {error}")]
    Switch {
        /// Which one.
        switch: usize,
        /// Why.
        error: ConfigError,
    },
    /// A link ends at something that is not there, or that has a link already.
    #[error("link {link}: {end:?} does not exist or already has a link")]
    Link {
        /// Which link.
        link: usize,
        /// Which of its ends.
        end: End,
    },
    /// A flow's host is not there.
    #[error("flow {0} has a host that does not exist")]
    Flow(usize),
    /// A flow waits for one that is not there, has no end, or goes to another host than its sender.
    #[error("flow {1} cannot wait for flow {0}: that must have a size, and go to its sender")]
    Dependency(u32, u32),
}

/// What happens at a moment.
#[derive(Clone, Copy, Debug)]
enum Event {
    /// Something reaches the other end of a line.
    Arrive {
        line: u32,
        epoch: u16,
        payload: Payload,
    },
    /// A switch's port has sent its frame to the last bit; `epoch` is the switch's.
    PortFree {
        line: u32,
        epoch: u16,
        handle: FrameHandle,
    },
    /// A switch's port has sent a control frame.
    ControlSent { line: u32 },
    /// A port may have something to send: a pause is over.
    PortWake { line: u32 },
    /// A host has sent its frame.
    HostFree { host: u32 },
    /// A host may have something to send.
    HostWake { host: u32 },
    /// A switch's timer.
    Timer { node: u32 },
    /// Something is due at a control CPU: an event, a command or its timer.
    Control { node: u32 },
    /// A flow begins.
    FlowStart { flow: u32 },
    /// Something is due at a flow's sender.
    FlowTimer { flow: u32 },
    /// Curves get their next point.
    Sample,
    /// What an impairment has delayed may be due.
    Late { node: u32 },
    /// The next part of an impairment's duty cycle begins.
    Duty { index: u32, generation: u16 },
    /// Something is done to the network.
    Action { index: u32 },
    /// A storming host asks for its pause again.
    Storm { host: u32 },
}

/// A network in virtual time.
#[derive(Debug)]
pub struct Network {
    now: Instant,
    /// Places are the switches, then the hosts.
    queue: Schedule<Event>,
    nodes: Vec<Node>,
    /// Lines that leave switches, by switch and port; then those that leave hosts.
    lines: Vec<Line>,
    nics: Vec<Nic>,
    flows: Vec<Flow>,
    /// By flow: how many others it waits for. Empty where none does.
    waiting: Vec<u32>,
    frames: Pool<FrameRecord>,
    /// Control frames on lines.
    messages: Pool<Vec<u8>>,
    /// By place in the plan.
    impairing: Vec<Impairing>,
    /// A frame as filters see it.
    scratch: Vec<u8>,
    log: log::Log,
    samples: Option<Samples>,
    last_part_from: Instant,
    totals: Totals,
    past_counters: Counters,
    plan: NetworkPlan,
}

/// Tells the stream of randomness for faults from others of the same seed.
const FAULTS: u64 = 1;

/// What has happened in the whole network.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Events that were handled.
    pub events: u64,
    /// Frames of hosts that have crossed a line: each counts once for each line. Answers are among them, here and below.
    pub frame_hops: u64,
    /// Frames of hosts that switches dropped.
    pub dropped: u64,
    /// Frames of hosts that were lost on lines.
    pub lost_on_lines: u64,
    /// Frames of hosts that were lost inside switches that were restarted.
    pub lost_in_restarts: u64,
    /// Frames of hosts that found no room while a switch was frozen.
    pub lost_at_doors: u64,
    /// Answers that were never sent, because too many waited at a host that was paused.
    pub answers_refused: u64,
    /// When a frame of a host last moved.
    pub last_movement: Instant,
}

impl Network {
    /// Builds what `plan` describes, at the epoch.
    ///
    /// # Errors
    ///
    /// What in the plan cannot work.
    pub fn new(plan: NetworkPlan) -> Result<Self, PlanError> {
        let mut nodes = Vec::with_capacity(plan.switches.len());
        let mut lines = Vec::new();
        for (index, switch) in plan.switches.iter().enumerate() {
            let node =
                Node::new(switch, lines.len() as u32).map_err(|error| PlanError::Switch {
                    switch: index,
                    error,
                })?;
            for (port, config) in node.ports().zip(&switch.config.ports) {
                let from = End::Port {
                    switch: index as u32,
                    port,
                };
                lines.push(Line::new(from, config.rate));
            }
            nodes.push(node);
        }
        let mut nics = Vec::with_capacity(plan.hosts.len());
        for (index, host) in plan.hosts.iter().enumerate() {
            let place = (plan.switches.len() + index) as u32;
            nics.push(Nic::new(lines.len() as u32, place, host.obeys_pfc));
            lines.push(Line::new(End::Host(index as u32), host.rate));
        }
        let mut network = Self {
            now: Instant::ZERO,
            queue: Schedule::new(0, Duration::ZERO),
            nodes,
            lines,
            nics,
            flows: Vec::with_capacity(plan.flows.len()),
            waiting: Vec::new(),
            frames: Pool::new(),
            messages: Pool::new(),
            impairing: vec![Impairing::default(); plan.impairments.len()],
            scratch: Vec::new(),
            log: log::Log::new(plan.log_capacity),
            samples: None,
            last_part_from: plan.last_part_from,
            totals: Totals::default(),
            past_counters: Counters::default(),
            plan,
        };
        network.connect()?;
        let places = network.nodes.len() + network.nics.len();
        network.queue = Schedule::new(places, network.lookahead());
        network.add_dependencies()?;
        network.add_flows()?;
        for (index, (at, _)) in network.plan.actions.iter().enumerate() {
            let index = index as u32;
            network.queue.push_everywhere(*at, Event::Action { index });
        }
        network.samples = network
            .plan
            .sample_interval
            .map(|interval| Samples::new(&network, interval));
        for node in 0..network.nodes.len() {
            network.settle(node);
        }
        if network.samples.is_some() {
            network.queue.push_everywhere(Instant::ZERO, Event::Sample);
        }
        Ok(network)
    }

    /// Runs until `end`.
    pub fn run_until(&mut self, end: Instant) {
        while self.step(end) {}
        self.now = self.now.max(end);
    }

    /// Handles the next event, if one is due until `end`, which is never before the one of an earlier call.
    /// Events of different switches and hosts need not come in the order of time.
    pub fn step(&mut self, end: Instant) -> bool {
        let Some((at, event)) = self.queue.pop_until(end) else {
            return false;
        };
        self.now = at;
        self.totals.events += 1;
        self.handle(event);
        true
    }

    /// Stops all flows and runs until the network is empty, or nothing has moved for `still`, or `limit` has
    /// passed. True when it is empty.
    pub fn drain(&mut self, still: Duration, limit: Duration) -> bool {
        for flow in &mut self.flows {
            flow.stop(self.now);
        }
        let end = self.now + limit;
        let begin = self.now;
        while self.frames.len() > 0 {
            let quiet_since = self.totals.last_movement.max(begin);
            if !self.step(end.min(quiet_since + still)) {
                self.now = self.now.max(end.min(quiet_since + still));
                break;
            }
        }
        self.now = self.now.max(self.totals.last_movement);
        self.frames.len() == 0
    }

    /// Now.
    pub const fn now(&self) -> Instant {
        self.now
    }

    /// The flows, in the order of the plan.
    pub fn flows(&self) -> &[Flow] {
        &self.flows
    }

    /// What has happened.
    pub const fn totals(&self) -> &Totals {
        &self.totals
    }

    /// Drops by reason and control frames sent, of all switches and their predecessors.
    pub fn counters(&self) -> Counters {
        let mut counters = self.past_counters.clone();
        for node in &self.nodes {
            counters.note(&node.switch);
        }
        counters
    }

    /// Checks that every frame is accounted for, answers and repetitions among them: sent = received + inside + lost by
    /// a reason that was counted.
    ///
    /// # Errors
    ///
    /// The numbers, when they do not add up.
    pub fn check_conservation(&self) -> Result<(), Imbalance> {
        let sum = |count: fn(&Flow) -> u64| self.flows.iter().map(count).sum::<u64>();
        let totals = &self.totals;
        let lost =
            totals.dropped + totals.lost_on_lines + totals.lost_in_restarts + totals.lost_at_doors;
        let imbalance = Imbalance {
            sent: sum(|flow| flow.sent + flow.answers_sent),
            received: sum(|flow| flow.received + flow.answers_received),
            inside: self.frames.len() as u64,
            lost,
        };
        if imbalance.sent == imbalance.received + imbalance.inside + lost {
            Ok(())
        } else {
            Err(imbalance)
        }
    }

    /// Frames of hosts inside switches and on lines.
    pub fn frames_in_network(&self) -> usize {
        self.frames.len()
    }

    /// By flow: its frames that are inside switches and on lines, without answers. O(frames).
    pub fn inside_by_flow(&self) -> Vec<u64> {
        let mut inside = vec![0; self.flows.len()];
        for frame in self.frames.iter_used() {
            inside[frame.flow as usize] += u64::from(frame.kind == FrameKind::Data);
        }
        inside
    }

    /// A switch's core, to be looked at.
    pub fn switch(&self, index: usize) -> &weir_core::Switch {
        &self.nodes[index].switch
    }

    /// What the switches and their control planes have told.
    pub fn log(&self) -> &[LogEntry] {
        self.log.entries()
    }

    /// Entries that found no room in the log.
    pub const fn log_overflow(&self) -> u64 {
        self.log.overflow()
    }

    /// The curves, if the plan asks for them.
    pub const fn samples(&self) -> Option<&Samples> {
        self.samples.as_ref()
    }

    /// The plan that it was made from.
    pub const fn plan(&self) -> &NetworkPlan {
        &self.plan
    }

    fn handle(&mut self, event: Event) {
        match event {
            Event::Arrive {
                line,
                epoch,
                payload,
            } => self.arrive(line, epoch, payload),
            Event::PortFree {
                line,
                epoch,
                handle,
            } => self.port_free(line, epoch, handle),
            Event::ControlSent { line } => {
                self.lines[line as usize].is_busy = false;
                self.wake_port(line);
            }
            Event::PortWake { line } => {
                if self.lines[line as usize].wake_at <= self.now {
                    self.wake_port(line);
                }
            }
            Event::HostFree { host } => {
                self.lines[self.nics[host as usize].line as usize].is_busy = false;
                self.pump_host(host);
            }
            Event::HostWake { host } => self.pump_host(host),
            Event::Timer { node } => self.timer(node as usize),
            Event::Control { node } => self.control(node as usize),
            Event::FlowStart { flow } => self.start_flow(flow),
            Event::FlowTimer { flow } => self.flow_timer(flow),
            Event::Late { node } => self.take_late(node as usize),
            Event::Duty { index, generation } => self.duty(index, generation),
            Event::Sample => self.sample(),
            Event::Action { index } => self.act(self.plan.actions[index as usize].1),
            Event::Storm { host } => self.storm(host),
        }
    }

    fn connect(&mut self) -> Result<(), PlanError> {
        for (index, link) in self.plan.links.iter().enumerate() {
            let [a, b] = link.ends;
            for (from, to, directions) in [(a, b, [0, 1]), (b, a, [1, 0])] {
                let error = PlanError::Link {
                    link: index,
                    end: from,
                };
                let line = self.line_of(from).ok_or(error.clone())?;
                let line = &mut self.lines[line];
                if line.to.is_some() {
                    return Err(error);
                }
                line.to = Some(to);
                line.to_place = match to {
                    End::Port { switch, .. } => switch,
                    End::Host(host) => self.nodes.len() as u32 + host,
                };
                line.faults = Random::for_purpose(self.plan.seed, FAULTS + ((index as u64) << 32));
                line.delay = link.delay;
                let [there, back] = directions.map(|direction| link.priority_map[direction]);
                line.priority_map = there;
                line.priority_map_back = (back != PriorityMap::IDENTITY).then_some(back);
            }
        }
        Ok(())
    }

    /// No end of a link learns sooner than this what the other one does.
    fn lookahead(&self) -> Duration {
        let connected = self.lines.iter().filter(|line| line.to.is_some());
        let shortest = connected.map(|line| line.time_for(Bytes::ZERO) + line.delay);
        shortest.min().unwrap_or(Duration::from_micros(1))
    }

    fn line_of(&self, end: End) -> Option<usize> {
        match end {
            End::Port { switch, port } => {
                let node = self.nodes.get(switch as usize)?;
                (port.index() < node.port_count()).then(|| node.first_line as usize + port.index())
            }
            End::Host(host) => Some(self.nics.get(host as usize)?.line as usize),
        }
    }

    fn add_flows(&mut self) -> Result<(), PlanError> {
        for (index, flow) in self.plan.flows.iter().enumerate() {
            let hosts = self.nics.len() as u32;
            if flow.from >= hosts || flow.to >= hosts {
                return Err(PlanError::Flow(index));
            }
            let line = self.plan.hosts[flow.from as usize].rate;
            self.flows.push(Flow::new(*flow, line, &self.plan));
            if self.waiting.get(index).is_some_and(|count| *count > 0) {
                continue;
            }
            let flow_start = Event::FlowStart { flow: index as u32 };
            let place = self.nics[flow.from as usize].place;
            self.queue.push(place, flow.start, flow_start);
        }
        Ok(())
    }

    fn add_dependencies(&mut self) -> Result<(), PlanError> {
        let plan = &mut self.plan;
        if plan.dependencies.is_empty() {
            return Ok(());
        }
        plan.dependencies.sort_unstable();
        self.waiting = vec![0; plan.flows.len()];
        for [done, next] in &plan.dependencies {
            let [first, second] = [done, next].map(|flow| plan.flows.get(*flow as usize));
            let (Some(first), Some(second)) = (first, second) else {
                return Err(PlanError::Dependency(*done, *next));
            };
            if first.size.is_none() || first.to != second.from {
                return Err(PlanError::Dependency(*done, *next));
            }
            self.waiting[*next as usize] += 1;
        }
        Ok(())
    }

    fn node_and_port(&self, line: u32) -> Option<(usize, PortId)> {
        self.lines[line as usize].from.node_and_port()
    }
}
