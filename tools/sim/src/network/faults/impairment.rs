//! Impairments: deliberate disturbances at a switch of frames that arrive on a port, of a neighbour or of a link, like the
//! daemon's `switchctl impair`.

use weir_config::frames::filter::Filter;
use weir_config::frames::headers::Headers;
use weir_config::frames::sight::{Direction, Sight, Verdict};
use weir_config::frames::DELAYED_MAX;
use weir_config::scenario::{endpoint_ip, ENDPOINT_SOURCE_PORTS, ENDPOINT_UDP_PORT};
use weir_core::counters::DropReason;
use weir_core::{Command, Duration, PortId, Priority};

use crate::network::node::{Late, Payload};
use crate::network::plan::{host_address, End};
use crate::network::pool::{FrameKind, FrameRecord};
use crate::network::{Event, Network};

/// One impairment. It is in force between two [actions](super::actions::Action), unless its switch is stopped in between.
#[derive(Clone, Debug)]
pub struct ImpairmentPlan {
    /// The switch.
    pub switch: u32,
    /// Its port.
    pub port: PortId,
    /// Its effect on frames.
    pub doing: Doing,
}

/// Effect of an impairment.
#[derive(Clone, Debug)]
pub enum Doing {
    /// To arriving frames.
    Frames {
        /// Frames concerned.
        filter: Filter,
        /// Of those, one in this many.
        one_in: u64,
        /// Action on the frame.
        action: FrameAction,
    },
    /// Periodically.
    Duty {
        /// Action during the on-time.
        action: DutyAction,
        /// Length of the on-time.
        on: Duration,
        /// Length of the period.
        period: Duration,
    },
}

/// Action on a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrameAction {
    /// It is dropped.
    Drop,
    /// It reaches the switch later by this much.
    Delay(Duration),
    /// It is marked Congestion Experienced.
    Mark,
}

/// Action for part of the time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DutyAction {
    /// The neighbour is paused in this priority.
    Pause(Priority),
    /// The switch treats the link as down.
    Flap,
}

/// State of an impairment.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::network) struct Impairing {
    is_in_force: bool,
    /// True during the on-time.
    is_on: bool,
    /// Incremented whenever an impairment begins, which invalidates earlier events.
    generation: u16,
    /// Frames that matched the filter.
    matched: u64,
}

/// Fate of a frame before the switch has seen it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    Goes { is_marked: bool },
    Dropped,
    Late(Duration),
}

impl Network {
    pub(in crate::network) fn begin_impairment(&mut self, index: u32) {
        let plan = &self.plan.impairments[index as usize];
        let (switch, port) = (plan.switch as usize, plan.port);
        let is_duty = matches!(plan.doing, Doing::Duty { .. });
        // As in the lab, a switch that does not respond cannot be asked.
        if self.nodes[switch].frozen.is_some() {
            return;
        }
        let state = &mut self.impairing[index as usize];
        state.is_in_force = true;
        state.matched = 0;
        state.generation = state.generation.wrapping_add(1);
        let generation = state.generation;
        if is_duty {
            self.duty(index, generation);
        } else if let Some(line) = self.line_into(switch, port) {
            self.lines[line].impairments.push(index);
            self.release_late(switch);
        }
    }

    pub(in crate::network) fn end_impairment(&mut self, index: u32) {
        let state = &mut self.impairing[index as usize];
        if !std::mem::take(&mut state.is_in_force) {
            return;
        }
        state.generation = state.generation.wrapping_add(1);
        let (was_on, plan) = (std::mem::take(&mut state.is_on), &self.plan.impairments);
        let plan = &plan[index as usize];
        let (switch, port) = (plan.switch as usize, plan.port);
        if was_on {
            self.do_duty(index, false);
        }
        if let Some(line) = self.line_into(switch, port) {
            self.lines[line].impairments.retain(|known| *known != index);
        }
        self.release_late(switch);
    }

    /// Ends the impairments of a stopped switch.
    pub(in crate::network) fn forget_impairments(&mut self, node: usize) {
        while let Some(late) = self.nodes[node].late.pop_front() {
            self.lose(late.payload, |totals| &mut totals.lost_in_restarts);
        }
        for index in 0..self.impairing.len() {
            if self.plan.impairments[index].switch as usize == node {
                self.end_impairment(index as u32);
            }
        }
    }

    /// The next part of a duty cycle begins.
    pub(in crate::network) fn duty(&mut self, index: u32, generation: u16) {
        let plan = &self.plan.impairments[index as usize];
        let (switch, doing) = (plan.switch, plan.doing.clone());
        let state = &mut self.impairing[index as usize];
        let Doing::Duty { on, period, .. } = doing else {
            return;
        };
        if !state.is_in_force || state.generation != generation {
            return;
        }
        state.is_on = !state.is_on;
        let is_on = state.is_on;
        let after = match is_on {
            true => on,
            false => Duration::from_nanos(period.as_nanos().saturating_sub(on.as_nanos())),
        };
        self.do_duty(index, is_on);
        let event = Event::Duty { index, generation };
        self.queue.push(switch, self.now + after, event);
    }

    fn do_duty(&mut self, index: u32, is_on: bool) {
        let plan = &self.plan.impairments[index as usize];
        let (node, port) = (plan.switch as usize, plan.port);
        let Doing::Duty { action, .. } = plan.doing else {
            return;
        };
        match action {
            DutyAction::Pause(priority) => {
                let held = is_on;
                self.ask(
                    node,
                    Command::HoldNeighbour {
                        port,
                        priority,
                        held,
                    },
                );
            }
            DutyAction::Flap => {
                let line = self.nodes[node].first_line as usize + port.index();
                let line = &mut self.lines[line];
                line.flaps = match is_on {
                    true => line.flaps + 1,
                    false => line.flaps.saturating_sub(1),
                };
                let up = line.is_taken_for_up();
                self.ask(node, Command::SetLink { port, up });
            }
        }
    }

    /// Commands that the reader accepts are not refused; stopped switches are not asked.
    pub(super) fn ask(&mut self, node: usize, command: Command) {
        let state = &mut self.nodes[node];
        if state
            .frozen
            .as_ref()
            .is_some_and(|frozen| frozen.is_stopped)
        {
            return;
        }
        let _ = state.switch.apply(self.now, command);
        self.settle(node);
    }

    /// Returns the line by which frames reach a port.
    fn line_into(&self, node: usize, port: PortId) -> Option<usize> {
        let out = self.nodes[node].first_line as usize + port.index();
        self.line_of(self.lines[out].to?)
    }

    /// Applies impairments to an arriving frame.
    #[cold]
    pub(in crate::network) fn impair(
        &mut self,
        node: usize,
        port: PortId,
        line: u32,
        payload: Payload,
    ) {
        let fate = self.fate(port, line, payload);
        let late = &mut self.nodes[node].late;
        match fate {
            Fate::Goes { is_marked } => {
                self.take_at_switch(node, port, line, payload, is_marked);
            }
            Fate::Late(by) if late.len() < DELAYED_MAX => {
                let due = self.now + by;
                // The last one is usually due earlier.
                let later = late.iter().rev().take_while(|known| known.due > due);
                let place = late.len() - later.count();
                late.insert(place, Late { due, line, payload });
                let event = Event::Late { node: node as u32 };
                self.queue.push(node as u32, due, event);
            }
            Fate::Dropped | Fate::Late(_) => {
                let switch = &mut self.nodes[node].switch;
                match payload {
                    Payload::Frame(frame) => {
                        let priority = self.frames.get_mut(frame).priority;
                        switch.count_data_drop(port, priority, DropReason::Impaired);
                    }
                    Payload::Control(_) => switch.count_drop(port, DropReason::Impaired),
                }
                self.lose(payload, |totals| &mut totals.dropped);
            }
        }
    }

    /// The first matching impairment decides.
    fn fate(&mut self, port: PortId, line: u32, payload: Payload) -> Fate {
        let state = &self.lines[line as usize];
        let mut bytes = std::mem::take(&mut self.scratch);
        let priority = match payload {
            Payload::Frame(index) => {
                let record = self.frames.get(index);
                let priority = state.priority_map.behind(record.priority);
                write_headers(record, priority, &mut bytes);
                Some(priority)
            }
            Payload::Control(index) => {
                bytes.clear();
                bytes.extend_from_slice(self.messages.get(index));
                None
            }
        };
        let sight = Sight {
            at: self.now,
            port,
            direction: Direction::In,
            verdict: Verdict::Read,
            priority,
            hardware_nanos: None,
            bytes: &bytes,
        };
        let headers = Headers::of(&bytes);
        let mut fate = Fate::Goes { is_marked: false };
        for index in &state.impairments {
            let Doing::Frames {
                filter,
                one_in,
                action,
            } = &self.plan.impairments[*index as usize].doing
            else {
                continue;
            };
            if !filter.matches(&sight, &headers) {
                continue;
            }
            let impairing = &mut self.impairing[*index as usize];
            impairing.matched += 1;
            if impairing.matched.is_multiple_of((*one_in).max(1)) {
                fate = match action {
                    FrameAction::Drop => Fate::Dropped,
                    FrameAction::Delay(by) => Fate::Late(*by),
                    FrameAction::Mark => Fate::Goes {
                        is_marked: priority.is_some(),
                    },
                };
                break;
            }
        }
        self.scratch = bytes;
        fate
    }

    /// Delivers frames whose delay is over; a frozen switch takes them when it resumes.
    pub(in crate::network) fn take_late(&mut self, node: usize) {
        while self.nodes[node].frozen.is_none() {
            let late = &mut self.nodes[node].late;
            let Some(first) = late.front().copied().filter(|first| first.due <= self.now) else {
                return;
            };
            late.pop_front();
            let to = self.lines[first.line as usize].to;
            if let Some((_, port)) = to.and_then(End::node_and_port) {
                self.take_at_switch(node, port, first.line, first.payload, false);
                self.settle(node);
            }
        }
    }

    /// Like the daemon when its impairments change: delayed frames are due now, in their order.
    fn release_late(&mut self, node: usize) {
        let (state, now) = (&mut self.nodes[node], self.now);
        state
            .late
            .iter_mut()
            .for_each(|late| late.due = late.due.min(now));
        self.take_late(node);
    }
}

/// Writes a frame as the lab's endpoints send it, as far as filters look: addresses, tag, IPv4, UDP, and its length.
fn write_headers(record: &FrameRecord, priority: Priority, bytes: &mut Vec<u8>) {
    const IP_LENGTH_AT: usize = 18;
    let [source, destination] = [record.from, record.to].map(host_address);
    let flow_port =
        *ENDPOINT_SOURCE_PORTS.start() + (record.flow % ENDPOINT_SOURCE_PORTS.len() as u32) as u16;
    let [from_port, to_port] = match record.kind {
        FrameKind::Data => [flow_port, ENDPOINT_UDP_PORT],
        FrameKind::Answer => [ENDPOINT_UDP_PORT, flow_port],
    };
    let length = record.length_bytes as usize;
    let ip_length = length
        .saturating_sub(IP_LENGTH_AT)
        .min(usize::from(u16::MAX)) as u16;
    bytes.clear();
    bytes.extend(destination.0);
    bytes.extend(source.0);
    bytes.extend([0x81, 0, priority.get() << 5, 0, 8, 0]);
    let ecn = match record.marked {
        true => 0b11,
        false => 0,
    };
    bytes.extend([0x45, ecn]);
    bytes.extend(ip_length.to_be_bytes());
    bytes.extend([0, 0, 0x40, 0, 64, 17, 0, 0]);
    bytes.extend(endpoint_ip(source).octets());
    bytes.extend(endpoint_ip(destination).octets());
    bytes.extend(from_port.to_be_bytes());
    bytes.extend(to_port.to_be_bytes());
    bytes.resize(length, 0);
}
