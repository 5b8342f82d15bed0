//! Switches, hosts and the lines between them, driven event by event.

mod build;
mod control;
mod counters;
pub mod faults;
mod flow;
mod hosts;
mod line;
mod log;
mod node;
mod pauses;
pub mod plan;
mod points;
mod pool;
mod samples;
mod switches;
pub mod threads;

use std::sync::Arc;

use weir_core::{ConfigError, Duration, FrameHandle, Instant, PortId, Priority};

use crate::schedule::Schedule;
use crate::table::Table;
use faults::impairment::Impairing;
use hosts::nic::Nic;
use line::Line;
use node::{Node, Payload};
use plan::{End, NetworkPlan};
use pool::{FrameKind, Frames, Pool};
use threads::mail::Outbox;

pub use counters::{Counters, Imbalance};
pub(crate) use flow::pace_from;
pub use flow::Flow;
pub use log::{LogEntry, LogKind};
pub use pauses::{Pause, PAUSES_MAX};
pub use points::Points;
pub use samples::Samples;

/// Reason for which a plan cannot run.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PlanError {
    /// A switch's configuration cannot work.
    #[error("switch {switch}: {error}")]
    Switch {
        /// Its index.
        switch: usize,
        /// The reason.
        error: ConfigError,
    },
    /// A link ends at something that does not exist or already has a link.
    #[error("link {link}: {end:?} does not exist or already has a link")]
    Link {
        /// The link's index.
        link: usize,
        /// The end in question.
        end: End,
    },
    /// A flow's host does not exist.
    #[error("flow {0} has a host that does not exist")]
    Flow(usize),
    /// A flow waits for one that does not exist, has no end, or does not end at its sender.
    #[error("flow {1} cannot wait for flow {0}: that must have a size, and go to its sender")]
    Dependency(u32, u32),
}

/// Returns true to end a run.
pub(crate) type Interrupt<'a> = dyn FnMut() -> bool + 'a;

/// Number of events after which one thread asks whether to end: some milliseconds.
const EVENTS_PER_QUESTION: u64 = 4096;

/// Events.
#[derive(Clone, Copy, Debug)]
enum Event {
    /// Something reaches the other end of a line.
    Arrive {
        line: u32,
        epoch: u16,
        payload: Payload,
    },
    /// A switch's port has finished sending a frame; `epoch` is the switch's.
    PortFree {
        line: u32,
        epoch: u16,
        handle: FrameHandle,
    },
    /// A switch's port has finished sending a control frame.
    ControlSent { line: u32 },
    /// A port may have something to send since a pause is over.
    PortWake { line: u32 },
    /// A host has finished sending a frame.
    HostFree { host: u32 },
    /// A host may have something to send.
    HostWake { host: u32 },
    /// A switch's timer expires.
    Timer { node: u32 },
    /// Something is due at a control CPU: an event, a command or its timer.
    Control { node: u32 },
    /// A flow begins.
    FlowStart { flow: u32 },
    /// Something is due at a flow's sender.
    FlowTimer { flow: u32 },
    /// A point is added to the curves.
    Sample,
    /// Frames delayed by an impairment may be due.
    Late { node: u32 },
    /// The next part of an impairment's duty cycle begins.
    Duty { index: u32, generation: u16 },
    /// An action on the network.
    Action { index: u32 },
    /// A storming host repeats its pause.
    Storm { host: u32 },
}

/// A network in virtual time, or one thread's part of it.
#[derive(Debug)]
pub struct Network {
    now: Instant,
    /// Places are the switches, then the hosts.
    queue: Schedule<Event>,
    nodes: Table<Node>,
    /// Lines that leave switches, by switch and port; then those that leave hosts.
    lines: Table<Line>,
    /// By switch: the line of its first port. At the end: the line of the first host.
    first_lines: Arc<[u32]>,
    nics: Table<Nic>,
    flows: Table<Flow>,
    /// By flow: the number of others for which it waits. Empty if none waits.
    waiting: Vec<u32>,
    frames: Frames,
    /// Control frames on lines.
    messages: Pool<Vec<u8>>,
    /// By index in the plan.
    impairing: Vec<Impairing>,
    /// Buffer for a frame's headers as filters see them.
    scratch: Vec<u8>,
    log: log::Log,
    /// Beginnings and ends of pauses, if they are recorded.
    pauses: Option<log::Log<Pause>>,
    samples: Option<Samples>,
    last_part_from: Instant,
    totals: Totals,
    past_counters: Counters,
    plan: Arc<NetworkPlan>,
    /// In a part: events for places of others.
    outbox: Option<Outbox>,
}

/// Counters of the whole network.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Events handled.
    pub events: u64,
    /// Hosts' frames times lines crossed. Answers are included, here and below.
    pub frame_hops: u64,
    /// Hosts' frames dropped by switches.
    pub dropped: u64,
    /// Hosts' frames lost on lines.
    pub lost_on_lines: u64,
    /// Hosts' frames lost in restarts of switches.
    pub lost_in_restarts: u64,
    /// Hosts' frames for which a frozen switch had no room.
    pub lost_at_doors: u64,
    /// Copies sent by switches that flood, minus the frames that were copied. In a part of a network it may be negative, and
    /// wraps.
    pub copied: u64,
    /// Frames that arrived at the wrong host.
    pub astray: u64,
    /// Answers never sent, since too many waited at a paused host.
    pub answers_refused: u64,
    /// Time of the last movement of a host's frame.
    pub last_movement: Instant,
}

impl Totals {
    fn add(&mut self, other: &Self) {
        let Self {
            events,
            frame_hops,
            dropped,
            lost_on_lines,
            lost_in_restarts,
            lost_at_doors,
            copied,
            astray,
            answers_refused,
            last_movement,
        } = other;
        self.events += events;
        self.frame_hops += frame_hops;
        self.dropped += dropped;
        self.lost_on_lines += lost_on_lines;
        self.lost_in_restarts += lost_in_restarts;
        self.lost_at_doors += lost_at_doors;
        self.copied = self.copied.wrapping_add(*copied);
        self.astray += astray;
        self.answers_refused += answers_refused;
        self.last_movement = self.last_movement.max(*last_movement);
    }
}

impl Network {
    /// Runs until `end`.
    pub fn run_until(&mut self, end: Instant) {
        while self.step(end) {}
        self.now = self.now.max(end);
    }

    /// As [`run_until`](Self::run_until), but asks `interrupt` after every few thousand events; false if it ended the run.
    fn run_until_interrupted(&mut self, end: Instant, interrupt: &mut Interrupt<'_>) -> bool {
        while self.step(end) {
            if self.is_time_to_ask() && interrupt() {
                return false;
            }
        }
        self.now = self.now.max(end);
        true
    }

    /// Stops of a run may be closer together than questions, so all events count.
    fn is_time_to_ask(&self) -> bool {
        self.totals.events.is_multiple_of(EVENTS_PER_QUESTION)
    }

    /// Handles the next event due until `end`, which never decreases between calls. Events of different switches and hosts
    /// need not come in order of time.
    pub fn step(&mut self, end: Instant) -> bool {
        let Some(at) = self.queue.pop_until(end) else {
            return false;
        };
        self.happen(at, *self.queue.taken());
        true
    }

    /// Stops all flows and runs until the network is empty, nothing has moved for `still`, or `limit` has passed. True if it
    /// is empty.
    pub fn drain(&mut self, still: Duration, limit: Duration) -> bool {
        self.drain_interruptibly(still, limit, &mut || false);
        self.frames.len() == 0
    }

    /// As [`drain`](Self::drain), but asks `interrupt` after every few thousand events; false if it ended the run.
    pub(crate) fn drain_interruptibly(
        &mut self,
        still: Duration,
        limit: Duration,
        interrupt: &mut Interrupt<'_>,
    ) -> bool {
        for flow in self.flows.iter_mut() {
            flow.stop(self.now);
        }
        self.end_curves();
        let end = self.now + limit;
        let begin = self.now;
        while self.frames.len() > 0 {
            if self.is_time_to_ask() && interrupt() {
                return false;
            }
            let quiet_since = self.totals.last_movement.max(begin);
            if !self.step(end.min(quiet_since + still)) {
                self.now = self.now.max(end.min(quiet_since + still));
                break;
            }
        }
        self.now = self.now.max(self.totals.last_movement);
        true
    }

    /// Current time.
    pub const fn now(&self) -> Instant {
        self.now
    }

    /// The flows, in the order of the plan.
    pub fn flows(&self) -> &[Flow] {
        self.flows.as_slice()
    }

    /// Counters.
    pub const fn totals(&self) -> &Totals {
        &self.totals
    }

    /// Drops by reason and control frames sent, over all switches, including before restarts.
    pub fn counters(&self) -> Counters {
        let mut counters = self.past_counters.clone();
        for node in self.nodes.iter() {
            counters.note(&node.switch);
        }
        counters
    }

    /// Checks that every frame is accounted for, including answers and repetitions: sent = received + inside + lost for a
    /// counted reason.
    ///
    /// # Errors
    ///
    /// The numbers, if they do not add up.
    pub fn check_conservation(&self) -> Result<(), Imbalance> {
        self.balance().check()
    }

    fn balance(&self) -> Imbalance {
        let sum = |count: fn(&Flow) -> u64| self.flows.iter().map(count).sum::<u64>();
        let totals = &self.totals;
        Imbalance {
            sent: sum(|flow| flow.sent + flow.answers_sent).wrapping_add(totals.copied),
            received: sum(|flow| flow.received + flow.answers_received) + totals.astray,
            inside: self.frames.len() as u64,
            lost: totals.dropped
                + totals.lost_on_lines
                + totals.lost_in_restarts
                + totals.lost_at_doors,
        }
    }

    /// Hosts' frames inside switches and on lines.
    pub fn frames_in_network(&self) -> usize {
        self.frames.len()
    }

    /// By flow: its frames inside switches and on lines, without answers. O(frames).
    pub fn inside_by_flow(&self) -> Vec<u64> {
        let mut inside = vec![0; self.flows.len()];
        for frame in self.frames.iter_used() {
            inside[frame.flow as usize] += u64::from(frame.kind == FrameKind::Data);
        }
        inside
    }

    /// Core of a switch, read-only.
    pub fn switch(&self, index: usize) -> &weir_core::Switch {
        &self.nodes[index].switch
    }

    /// Credits that `host` uses of those granted by its switch in `priority`, and credits that it has granted; `None` for a
    /// class without credits.
    pub fn credits_of_host(&self, host: usize, priority: Priority) -> Option<(u32, u32)> {
        self.nics[host].credits.as_ref()?.balance(priority)
    }

    /// Log of the switches and their control planes.
    pub fn log(&self) -> &[LogEntry] {
        self.log.entries()
    }

    /// Entries for which the log had no room.
    pub const fn log_overflow(&self) -> u64 {
        self.log.overflow()
    }

    /// The curves, if the plan asks for them.
    pub const fn samples(&self) -> Option<&Samples> {
        self.samples.as_ref()
    }

    /// The plan of this network. It contains routes only of switches that are restarted; [the switches](Self::switch) have
    /// their current ones.
    pub fn plan(&self) -> &NetworkPlan {
        &self.plan
    }

    fn happen(&mut self, at: Instant, event: Event) {
        self.now = at;
        self.totals.events += 1;
        if let Some(place) = self.queue.new_turn() {
            self.fetch(place as usize);
        }
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

    /// Returns the line that leaves `end`.
    fn line_of(&self, end: End) -> Option<usize> {
        let hosts_from = *self.first_lines.last()?;
        match end {
            End::Port { switch, port } => {
                let first = *self.first_lines.get(switch as usize)?;
                let behind = *self.first_lines.get(switch as usize + 1)?;
                let line = first + port.index() as u32;
                (line < behind).then_some(line as usize)
            }
            End::Host(host) => {
                let is_there = (host as usize) < self.plan.hosts.len();
                is_there.then_some((hosts_from + host) as usize)
            }
        }
    }

    fn node_and_port(&self, line: u32) -> Option<(usize, PortId)> {
        self.lines[line as usize].from.node_and_port()
    }
}
