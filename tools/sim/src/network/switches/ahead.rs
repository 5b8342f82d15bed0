//! Prefetches the memory that the events of a turn will read, before the first is handled.
//!
//! A place's state is no longer in a near cache when its turn comes: other places have had theirs since. Records are
//! scattered, and the processor fetches several at a time only if none depends on another. So everything known about the
//! turn is read in steps, each for all events: frames and their incoming lines, then routes, then ports and outgoing lines.
//! Nothing is changed.

use weir_core::units::PRIORITY_COUNT;
use weir_core::{PortSet, Priority, Switch};

use crate::network::node::Payload;
use crate::network::plan::{host_address, End};
use crate::network::{Event, Network};

/// Ports and priorities of a switch that frames will touch.
struct Touched {
    ingress: [PortSet; PRIORITY_COUNT],
    egress: [PortSet; PRIORITY_COUNT],
}

impl Network {
    /// Reads the memory that the events of the turn of `place` will read first.
    pub(in crate::network) fn fetch(&self, place: usize) {
        let seen = if place < self.first_lines.len() - 1 {
            self.fetch_switch(place)
        } else {
            self.fetch_host()
        };
        // The compiler would remove unused reads.
        std::hint::black_box(seen);
    }

    fn fetch_switch(&self, place: usize) -> u64 {
        let node = &self.nodes[place];
        let switch = &node.switch;
        let mut seen = 0;
        for event in self.queue.of_turn() {
            seen ^= match event {
                Event::Arrive {
                    line,
                    payload: Payload::Frame(frame),
                    ..
                } => self.frames.get(*frame).to ^ u32::from(self.lines[*line as usize].epoch),
                Event::PortFree { handle, .. } => u32::from(switch.origin(*handle).is_some()),
                _ => 0,
            };
        }
        let mut routes = 0;
        for event in self.queue.of_turn() {
            if let Event::Arrive {
                payload: Payload::Frame(frame),
                ..
            } = event
            {
                routes ^= switch.read_route(host_address(self.frames.get(*frame).to));
            }
        }
        let mut touched = Touched {
            ingress: [PortSet::EMPTY; PRIORITY_COUNT],
            egress: [PortSet::EMPTY; PRIORITY_COUNT],
        };
        for event in self.queue.of_turn() {
            match event {
                Event::Arrive {
                    line,
                    payload: Payload::Frame(frame),
                    ..
                } => {
                    let frame = self.frames.get(*frame);
                    let priority = frame.priority.index();
                    if let Some(End::Port { port, .. }) = self.lines[*line as usize].to {
                        touched.ingress[priority].insert(port);
                    }
                    let hash = self.plan.hash_at(place, frame.flow_hash);
                    let egress = switch.likely_egress(host_address(frame.to), hash);
                    if let Some(egress) = egress {
                        touched.egress[priority].insert(egress);
                    }
                }
                Event::PortFree { line, handle, .. } => {
                    if let Some((ingress, priority)) = switch.origin(*handle) {
                        touched.ingress[priority.index()].insert(ingress);
                        let egress = self.lines[*line as usize].from.node_and_port();
                        if let Some((_, egress)) = egress {
                            touched.egress[priority.index()].insert(egress);
                        }
                    }
                }
                _ => {}
            }
        }
        for port in touched.egress.iter().flat_map(PortSet::iter) {
            let line = node.first_line as usize + port.index();
            seen ^= u32::from(self.lines[line].is_busy);
        }
        u64::from(seen) ^ routes ^ touched.read(switch)
    }

    fn fetch_host(&self) -> u64 {
        let frames = || {
            self.queue.of_turn().filter_map(|event| match event {
                Event::Arrive {
                    payload: Payload::Frame(frame),
                    ..
                } => Some(self.frames.get(*frame)),
                _ => None,
            })
        };
        let mut seen = 0;
        for frame in frames() {
            seen ^= frame.flow;
        }
        // The flow of a frame at the wrong host may belong to another part.
        let flows = frames().map(|frame| frame.flow as usize);
        for flow in flows.filter(|flow| self.flows.has(*flow)) {
            seen ^= self.flows[flow].received as u32;
        }
        u64::from(seen)
    }
}

impl Touched {
    fn read(&self, switch: &Switch) -> u64 {
        let mut seen = 0;
        for priority in Priority::ALL {
            for port in self.ingress[priority.index()].iter() {
                seen ^= switch.read_ingress(port, priority);
            }
            for port in self.egress[priority.index()].iter() {
                seen ^= switch.read_egress(port, priority);
            }
        }
        seen
    }
}
