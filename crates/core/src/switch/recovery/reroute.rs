//! The dataplane's half of the Loop Breaker (CLCM paper, section 3.2.2): moves recent flows off a blocked egress.
//!
//! A unit moves as a whole: the flows that share a pin, or a bucket. It goes to a member that suits all of its recent
//! flows, since a frame whose egress is its ingress port is lost.

use crate::command::{CommandError, RerouteBy, RerouteSelection};
use crate::event::EventKind;
use crate::random::mix;
use crate::sets::PortSet;
use crate::switch::forwarding::{FlowRecord, FlowWay, GroupId};
use crate::switch::Switch;
use crate::units::{Instant, MacAddress, PortId, Priority, PORT_COUNT_MAX};

/// A recent flow that uses the blocked egress now. Sorting groups those of one unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::switch) struct Candidate {
    unit: Unit,
    /// Its index in the table of flows.
    flow: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Unit {
    Flow(GroupId, u32),
    Bucket(GroupId, u16),
}

/// Progress of one command.
struct Progress {
    moved: u32,
    stuck: u32,
    /// By port: units moved there.
    moved_to: [u32; PORT_COUNT_MAX],
}

impl Switch {
    pub(in crate::switch) fn reroute(
        &mut self,
        now: Instant,
        selection: RerouteSelection,
        egress: PortId,
        priority: Priority,
        by: RerouteBy,
    ) -> Result<(), CommandError> {
        self.port_mut(egress)?;
        self.port_mut(selection.ingress())?;
        if !self.flows.is_on() {
            return Err(CommandError::NoFlowMonitor);
        }
        let selects =
            |flow: &FlowRecord| selection.includes(flow.ingress) && flow.priority == priority;
        let mut progress = Progress {
            moved: 0,
            stuck: 0,
            moved_to: [0; PORT_COUNT_MAX],
        };
        let mut candidates = core::mem::take(&mut self.to_move);
        candidates.clear();
        for index in 0..self.flows.capacity() {
            let Some(flow) = self.flows.get(now, index) else {
                continue;
            };
            if flow.egress != egress {
                continue;
            }
            match self.forwarding.way_of(flow.destination, flow.flow_hash) {
                Some(way) if way.port == egress => candidates.push(Candidate {
                    unit: unit_of(&flow, &way, by),
                    flow: index as u32,
                }),
                // It was moved after its last frame had arrived.
                Some(_) => {}
                None if selects(&flow) => progress.stuck += 1,
                None => {}
            }
        }
        candidates.sort_unstable();
        for unit in candidates.chunk_by(|a, b| a.unit == b.unit) {
            let flows = || {
                unit.iter()
                    .filter_map(|candidate| self.flows.get(now, candidate.flow as usize))
            };
            let selected = flows().filter(|flow| selects(flow)).count() as u32;
            if selected == 0 {
                continue;
            }
            let mut unfit: PortSet = flows().map(|flow| flow.ingress).collect();
            unfit.insert(egress);
            match self.move_unit(now, unit[0].unit, &unfit, priority, &mut progress) {
                Some(to) => self.tell_moved(now, unit, egress, to, &mut progress),
                None => progress.stuck += selected,
            }
        }
        self.to_move = candidates;
        self.push_event(
            now,
            EventKind::Rerouted {
                selection,
                egress,
                priority,
                moved: progress.moved,
                stuck: progress.stuck,
            },
        );
        Ok(())
    }

    /// Ingress ports of flows that leave by (`egress`, `priority`) and could leave by another member of their
    /// destination's group. O(capacity of the flow monitor); with the monitor off, O(virtual queues there).
    pub fn alternatives_from(&self, now: Instant, egress: PortId, priority: Priority) -> PortSet {
        let mut from = PortSet::EMPTY;
        if self.flows.is_on() {
            for flow in self.flows.iter(now) {
                if flow.egress != egress || flow.priority != priority || from.contains(flow.ingress)
                {
                    continue;
                }
                let way = self.forwarding.way_of(flow.destination, flow.flow_hash);
                let unfit = PortSet::from_iter([egress, flow.ingress]);
                if way.is_some_and(|way| {
                    way.port == egress && !self.fit_members(way.group, &unfit).is_empty()
                }) {
                    from.insert(flow.ingress);
                }
            }
            return from;
        }
        for ingress in (0..self.ports.len()).filter_map(PortId::from_index) {
            let unfit = PortSet::from_iter([egress, ingress]);
            let has_other = |destination: u64| {
                let destination = MacAddress::from_u64(destination);
                let group = self.forwarding.group_of(destination);
                group.is_some_and(|group| !self.fit_members(group, &unfit).is_empty())
            };
            let mut waiting = self.queues.destinations_from(egress, priority, ingress);
            if waiting.any(has_other) {
                from.insert(ingress);
            }
        }
        from
    }

    /// Moves a unit to the best suitable member; `None` if there is none, or no room for a pin.
    fn move_unit(
        &mut self,
        now: Instant,
        unit: Unit,
        unfit: &PortSet,
        priority: Priority,
        progress: &mut Progress,
    ) -> Option<PortId> {
        let (group, seed) = match unit {
            Unit::Flow(group, flow_hash) => (group, flow_hash),
            Unit::Bucket(group, bucket) => (group, u32::from(bucket)),
        };
        let fit = self.fit_members(group, unfit);
        let is_sound = |port: &PortId| {
            let state = self.ports.get(port.index());
            state.is_some_and(|state| !state.egress[priority.index()].is_suspected())
        };
        let sound: PortSet = fit.iter().filter(is_sound).collect();
        let choice = if sound.is_empty() { fit } else { sound };
        let to = choice.iter().min_by_key(|port| {
            let lot = mix(u64::from(seed) << 8 | u64::from(port.get()));
            (progress.moved_to[port.index()], lot)
        })?;
        match unit {
            Unit::Flow(group, flow_hash) => {
                let age = self.flows.age().as_nanos();
                let idle_since = Instant::from_nanos(now.as_nanos().saturating_sub(age));
                self.forwarding.repin(now, group, flow_hash, to, idle_since)
            }
            Unit::Bucket(group, bucket) => self.forwarding.set_bucket(group, bucket, to),
        }
        .ok()?;
        progress.moved_to[to.index()] += 1;
        Some(to)
    }

    fn tell_moved(
        &mut self,
        now: Instant,
        unit: &[Candidate],
        from: PortId,
        to: PortId,
        progress: &mut Progress,
    ) {
        for candidate in unit {
            let Some(flow) = self.flows.get(now, candidate.flow as usize) else {
                continue;
            };
            progress.moved += 1;
            let counters = &mut self.ports[from.index()].counters;
            counters.priority[flow.priority.index()].flows_moved += 1;
            self.push_detail(
                now,
                EventKind::FlowMoved {
                    ingress: flow.ingress,
                    from,
                    to,
                    priority: flow.priority,
                    destination: flow.destination,
                    flow_hash: flow.flow_hash,
                },
            );
        }
    }

    /// Members of a group that are up and not among `unfit`.
    fn fit_members(&self, group: GroupId, unfit: &PortSet) -> PortSet {
        self.forwarding
            .members(group)
            .iter()
            .filter(|port| !unfit.contains(*port))
            .filter(|port| self.ports.get(port.index()).is_some_and(|state| state.up))
            .collect()
    }
}

fn unit_of(flow: &FlowRecord, way: &FlowWay, by: RerouteBy) -> Unit {
    match by {
        RerouteBy::Bucket if !way.is_pinned => Unit::Bucket(way.group, way.bucket),
        _ => Unit::Flow(way.group, flow.flow_hash),
    }
}
