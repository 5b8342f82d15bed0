//! Splits a network into parts, one for each thread, and joins them.

use std::sync::Arc;

use weir_core::Duration;

use super::mail::Outbox;
use crate::network::line::Line;
use crate::network::log::Log;
use crate::network::node::{Node, Payload, NO_FRAME};
use crate::network::plan::End;
use crate::network::pool::{Frames, Pool, Telemetry};
use crate::network::{Counters, Event, Flow, Network, Samples, Totals};
use crate::schedule::Schedule;
use crate::table::Table;

/// Assignment of places to parts.
#[derive(Clone, Debug)]
pub(super) struct Partition {
    pub(super) count: usize,
    owners: Arc<[u32]>,
    switches: usize,
}

impl Partition {
    /// Divides neighbouring switches with their hosts into `count` parts with about the same number of links.
    pub(super) fn of(network: &Network, count: usize) -> Self {
        let switches = network.nodes.len();
        let mut weights = vec![0u64; switches];
        for line in network.lines.iter() {
            if let Some((switch, _)) = line.to.and_then(End::node_and_port) {
                // An arrival from a host includes the host's work.
                weights[switch] += if line.from.node_and_port().is_some() {
                    1
                } else {
                    2
                };
            }
        }
        let total = weights.iter().sum::<u64>().max(1);
        let mut owners = Vec::with_capacity(switches + network.nics.len());
        let mut before = 0;
        for weight in weights {
            let middle = before + weight / 2;
            let owner = middle * count as u64 / total;
            owners.push(owner.min(count as u64 - 1) as u32);
            before += weight;
        }
        for nic in network.nics.iter() {
            let switch = network.lines[nic.line as usize].to;
            let switch = switch.and_then(End::node_and_port);
            owners.push(switch.map_or(0, |(switch, _)| owners[switch]));
        }
        Self {
            count,
            owners: owners.into(),
            switches,
        }
    }

    fn switch(&self, switch: usize) -> usize {
        self.owners[switch] as usize
    }

    fn host(&self, host: usize) -> usize {
        self.owners[self.switches + host] as usize
    }

    fn end(&self, end: End) -> usize {
        match end {
            End::Port { switch, .. } => self.switch(switch as usize),
            End::Host(host) => self.host(host as usize),
        }
    }

    /// A line belongs to its sender; the receiver has a copy.
    fn receiver(&self, line: &Line) -> Option<usize> {
        let receiver = self.end(line.to?);
        (receiver != self.end(line.from)).then_some(receiver)
    }

    /// A flow also belongs to its sender.
    fn flow_sender(&self, flow: &Flow) -> usize {
        self.host(flow.plan.from as usize)
    }

    fn flow_receiver(&self, flow: &Flow) -> Option<usize> {
        let receiver = self.host(flow.plan.to as usize);
        (receiver != self.flow_sender(flow)).then_some(receiver)
    }
}

impl Network {
    /// Splits the network; no window of its schedule may be open. Nothing remains here until [`join`](Self::join).
    pub(super) fn split(&mut self, partition: &Partition) -> Vec<Self> {
        let count = partition.count;
        let owner = |place: usize| partition.owners[place] as usize;
        let nodes =
            std::mem::take(&mut self.nodes).split(count, |index, _| owner(index), |_, _| None);
        let nics = std::mem::take(&mut self.nics).split(
            count,
            |index, _| partition.host(index),
            |_, _| None,
        );
        let lines = std::mem::take(&mut self.lines).split(
            count,
            |_, line| partition.end(line.from),
            |_, line| Some((partition.receiver(line)?, line.clone())),
        );
        let flows = std::mem::take(&mut self.flows).split(
            count,
            |_, flow| partition.flow_sender(flow),
            |_, flow| Some((partition.flow_receiver(flow)?, flow.at_receiver())),
        );
        let telemetry = self.frames.telemetry().map(Telemetry::of_part);
        let telemetry = telemetry.map(Box::new);
        let empty = Schedule::new(0, Duration::ZERO);
        let queues = std::mem::replace(&mut self.queue, empty).split(count, owner);
        let logs = std::mem::replace(&mut self.log, Log::new(0)).split(count);
        let pauses = self.pauses.take().map(|pauses| pauses.split(count));
        let mut pauses = pauses.map(Vec::into_iter);
        let mut samples = self.samples.take().map(|samples| {
            let parts = samples.split(count, |switch| partition.switch(switch));
            parts.into_iter()
        });
        let state = nodes.into_iter().zip(nics).zip(lines).zip(flows);
        let state = state.zip(queues).zip(logs).enumerate();
        let mut parts = Vec::with_capacity(count);
        for (number, (((((nodes, nics), lines), flows), queue), log)) in state {
            let mut part = Self {
                now: self.now,
                queue,
                nodes,
                lines,
                first_lines: Arc::clone(&self.first_lines),
                nics,
                flows,
                waiting: self.waiting.clone(),
                frames: Frames::new(telemetry.clone()),
                messages: Pool::new(),
                impairing: self.impairing.clone(),
                scratch: Vec::new(),
                log,
                pauses: pauses.as_mut().and_then(Iterator::next),
                samples: samples.as_mut().and_then(Iterator::next),
                last_part_from: self.last_part_from,
                totals: Totals::default(),
                past_counters: Counters::default(),
                plan: Arc::clone(&self.plan),
                outbox: Some(Outbox {
                    letters: std::iter::repeat_with(Vec::new).take(count).collect(),
                    owners: Arc::clone(&partition.owners),
                    own: number as u32,
                }),
            };
            for flow in part.flows.iter_mut() {
                let is_sender = partition.flow_sender(flow) == number;
                if is_sender && partition.flow_receiver(flow).is_some() {
                    flow.leave_to_receiver();
                }
            }
            part.move_payloads(|payload, frames, messages| {
                carry(
                    payload,
                    &mut self.frames,
                    &mut self.messages,
                    frames,
                    messages,
                );
            });
            parts.push(part);
        }
        // One part continues the counters.
        parts[0].totals = self.totals;
        parts[0].past_counters = std::mem::take(&mut self.past_counters);
        parts
    }

    /// Joins the parts again.
    pub(super) fn join(&mut self, mut parts: Vec<Self>, partition: &Partition) {
        let owner = |place: usize| partition.owners[place] as usize;
        let telemetry = self.frames.telemetry().map(Telemetry::of_part);
        self.frames = Frames::new(telemetry.map(Box::new));
        self.messages = Pool::new();
        self.totals = Totals::default();
        for part in &mut parts {
            if let (Some(own), Some(there)) = (self.frames.telemetry_mut(), part.frames.telemetry())
            {
                own.join_lines(there);
            }
            self.now = self.now.max(part.now);
            self.totals.add(&part.totals);
            self.past_counters.add(&part.past_counters);
            let mut frames = std::mem::replace(&mut part.frames, Frames::new(None));
            let mut messages = std::mem::replace(&mut part.messages, Pool::new());
            part.move_payloads(|payload, _, _| {
                carry(
                    payload,
                    &mut frames,
                    &mut messages,
                    &mut self.frames,
                    &mut self.messages,
                );
            });
        }
        for (index, state) in self.impairing.iter_mut().enumerate() {
            let switch = self.plan.impairments[index].switch as usize;
            *state = parts[partition.switch(switch)].impairing[index];
        }
        for (flow, waiting) in self.waiting.iter_mut().enumerate() {
            let host = self.plan.flows[flow].from as usize;
            *waiting = parts[partition.host(host)].waiting[flow];
        }
        let mut nodes = Vec::new();
        let mut nics = Vec::new();
        let mut lines = Vec::new();
        let mut flows = Vec::new();
        let mut queues = Vec::new();
        let mut logs = Vec::new();
        let mut pauses = Vec::new();
        let mut samples = Vec::new();
        for part in parts {
            nodes.push(part.nodes);
            nics.push(part.nics);
            lines.push(part.lines);
            flows.push(part.flows);
            queues.push(part.queue);
            logs.push(part.log);
            pauses.extend(part.pauses);
            samples.extend(part.samples);
        }
        self.nodes = Table::join(nodes, |index, _| owner(index), |_, _| {});
        self.nics = Table::join(nics, |index, _| partition.host(index), |_, _| {});
        self.lines = Table::join(
            lines,
            |_, line| partition.end(line.from),
            |line, there| line.impairments = there.impairments,
        );
        self.flows = Table::join(
            flows,
            |_, flow| partition.flow_sender(flow),
            Flow::take_reception,
        );
        self.queue = Schedule::join(queues, owner);
        self.log = Log::join(logs);
        self.pauses = (!pauses.is_empty()).then(|| Log::join(pauses));
        self.samples = Samples::join(samples);
    }

    /// Calls `carry` for every frame and message of this part's switches and lines, with the part's own pools.
    fn move_payloads(
        &mut self,
        mut carry: impl FnMut(&mut Payload, &mut Frames, &mut Pool<Vec<u8>>),
    ) {
        let Self {
            nodes,
            queue,
            frames,
            messages,
            ..
        } = self;
        for node in nodes.iter_mut() {
            for payload in payloads_at(node) {
                carry(payload, frames, messages);
            }
            for frame in node.frames.iter_mut().filter(|frame| **frame != NO_FRAME) {
                let mut payload = Payload::Frame(*frame);
                carry(&mut payload, frames, messages);
                if let Payload::Frame(moved) = payload {
                    *frame = moved;
                }
            }
        }
        queue.change_events(|event| {
            if let Event::Arrive { payload, .. } = event {
                carry(payload, frames, messages);
            }
        });
    }
}

/// Returns the input that a switch has not taken yet.
fn payloads_at(node: &mut Node) -> impl Iterator<Item = &mut Payload> {
    let late = node.late.iter_mut().map(|late| &mut late.payload);
    let doors = node.frozen.iter_mut().flat_map(|frozen| &mut frozen.door);
    late.chain(doors.map(|(_, payload)| payload))
}

/// Moves a frame or message from pools to others.
fn carry(
    payload: &mut Payload,
    from_frames: &mut Frames,
    from_messages: &mut Pool<Vec<u8>>,
    frames: &mut Frames,
    messages: &mut Pool<Vec<u8>>,
) {
    *payload = match *payload {
        Payload::Frame(frame) => {
            let (record, hops) = from_frames.take(frame);
            Payload::Frame(frames.add(record, hops))
        }
        Payload::Control(message) => Payload::Control(messages.add(from_messages.take(message))),
    };
}
