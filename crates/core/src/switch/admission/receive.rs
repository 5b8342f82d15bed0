//! Reception: admission of data frames, forwarding, and messages from neighbours.

use super::charges::Charge;
use super::outcome::{PauseChange, Refusal};
use crate::counters::DropReason;
use crate::event::EventKind;
use crate::frame::{Admitted, Frame};
use crate::level::Level;
use crate::sets::vlans::VlanId;
use crate::sets::{PortSet, PrioritySet};
use crate::switch::forwarding::{Decision, Egresses};
use crate::switch::levels::{Assignment, ShareId};
use crate::switch::port::Port;
use crate::switch::virtual_queues::Place;
use crate::switch::Switch;
use crate::units::{Bytes, Instant, MacAddress, PortId, Priority};
use crate::wire::loop_probe::LOOP_PROBE_ADDRESS;

impl Switch {
    /// Admits a data frame received on `port`. `Ok` means that the switch now owns its handle.
    ///
    /// O(1), except for a flood: O(ports). In a VLAN-aware switch, use [`receive_tagged`](Self::receive_tagged)
    /// instead.
    ///
    /// # Errors
    ///
    /// The reason for which the frame was dropped and counted; the handle is still the caller's.
    pub fn receive(
        &mut self,
        now: Instant,
        port: PortId,
        frame: Frame,
    ) -> Result<Admitted, DropReason> {
        let outcome = self.admit(now, port, &frame);
        if let Err(reason) = outcome {
            self.count_data_drop(port, frame.priority, reason);
            self.promise_credits(port, frame.priority);
        }
        outcome
    }

    /// Egress ports at which frames of `priority` received on `ingress` wait. O(ports).
    pub fn waiting_from(&self, ingress: PortId, priority: Priority) -> PortSet {
        (0..self.ports.len())
            .filter_map(PortId::from_index)
            .filter(|egress| self.queues.has_frames_from(*egress, priority, ingress))
            .collect()
    }

    /// Returns the reason to drop `frame` before any lookup, at a port that accepts these priorities.
    #[inline(always)]
    pub(in crate::switch) fn check_arrival(
        &self,
        port: PortId,
        takes: PrioritySet,
        frame: &Frame,
    ) -> Result<(), DropReason> {
        self.check_frame(port, takes, frame)?;
        self.check_draining(frame.priority)
    }

    #[inline(always)]
    fn check_frame(
        &self,
        port: PortId,
        takes: PrioritySet,
        frame: &Frame,
    ) -> Result<(), DropReason> {
        if !takes.contains(frame.priority) {
            return Err(self.closed(port));
        }
        if frame.length == Bytes::ZERO || frame.length > self.config.frame_length_max {
            return Err(DropReason::BadLength);
        }
        if frame.source.is_group() {
            return Err(DropReason::BadSource);
        }
        Ok(())
    }

    #[inline(always)]
    fn check_draining(&self, priority: Priority) -> Result<(), DropReason> {
        match self.draining && !self.lossless.contains(priority) {
            true => Err(DropReason::Draining),
            false => Ok(()),
        }
    }

    /// Returns the reason why a port accepts no frames, or none of a priority.
    #[cold]
    fn closed(&self, port: PortId) -> DropReason {
        match self.ports.get(port.index()) {
            Some(state) if state.takes_frames => DropReason::Priority,
            Some(state) if state.reserved => DropReason::MirrorPort,
            _ => DropReason::PortDown,
        }
    }

    fn admit(&mut self, now: Instant, port: PortId, frame: &Frame) -> Result<Admitted, DropReason> {
        let Some(state) = self.ports.get_mut(port.index()) else {
            return Err(DropReason::PortDown);
        };
        if state.counts_arrivals {
            state.note_link_arrival(frame.priority, frame.length);
        }
        let takes = state.takes;
        self.check_frame(port, takes, frame)?;
        if self.inspects_arrivals {
            self.inspect_arrival(now, port, frame)?;
        }
        let egress = match self.forwarding.single_port(frame.destination) {
            Some(egress) => egress,
            None => match self
                .forwarding
                .decide(now, frame.destination, frame.flow_hash)
            {
                Decision::Port(egress) => egress,
                Decision::Learnt(_) if !self.forwarding.is_on_tree(port, VlanId::UNTAGGED) => {
                    return Err(DropReason::OffTree)
                }
                Decision::Learnt(egress) if self.ports[egress.index()].reserved => {
                    return Err(DropReason::MirrorPort)
                }
                Decision::Learnt(egress) => egress,
                Decision::NoRoute => return Err(DropReason::NoRoute),
                Decision::Flood => return self.admit_flood(now, port, frame),
            },
        };
        if egress == port {
            return Err(DropReason::Hairpin);
        }
        self.check_refusal(port, egress, frame.priority)?;
        if self.with_levels.contains(frame.priority) {
            self.admit_at_level(now, port, frame, egress)
        } else {
            let length = frame.length;
            self.admit_to::<false>(now, port, frame, &Egresses::One(egress), length)
                .map(|(admitted, _)| admitted)
        }
    }

    /// Does the optional work for a frame before its lookup: checks a switch that drains or is VLAN-aware, and learns.
    #[inline(never)]
    fn inspect_arrival(
        &mut self,
        now: Instant,
        port: PortId,
        frame: &Frame,
    ) -> Result<(), DropReason> {
        self.check_draining(frame.priority)?;
        if self.vlans.is_some() {
            return Err(DropReason::Vlan);
        }
        if self.forwarding.learns() {
            let noted = self
                .forwarding
                .learn(now, frame.source, frame.destination, port);
            if let Some(noted) = noted {
                self.note_learnt(now, None, frame.source, port, noted)?;
            }
        }
        Ok(())
    }

    #[cold]
    fn admit_flood(
        &mut self,
        now: Instant,
        ingress: PortId,
        frame: &Frame,
    ) -> Result<Admitted, DropReason> {
        let ports = self.flood_ports(now, ingress, frame, None)?;
        let egresses = Egresses::of(ports);
        let admitted = if self.with_levels.contains(frame.priority) {
            self.admit_to::<true>(now, ingress, frame, &egresses, frame.length)
        } else {
            self.admit_to::<false>(now, ingress, frame, &egresses, frame.length)
        };
        admitted.map(|(admitted, _)| admitted)
    }

    /// Returns the ports to which a frame is flooded, of those that carry its VLAN if it has one: at least one.
    pub(super) fn flood_ports(
        &mut self,
        now: Instant,
        ingress: PortId,
        frame: &Frame,
        vlan: Option<VlanId>,
    ) -> Result<PortSet, DropReason> {
        let is_loud = frame.destination == MacAddress::BROADCAST;
        let may_be_probe = is_loud || frame.destination == LOOP_PROBE_ADDRESS;
        // This switch's own probe: there is a loop in any case.
        if may_be_probe && self.hear_probe(now, frame.source, is_loud) {
            return Err(DropReason::LoopProbe);
        }
        if let (Some(loops), Some(vlan)) = (&mut self.loops, vlan) {
            loops.note_flooded(vlan);
        }
        self.check_flood(now, ingress, frame, vlan)?;
        let mut ports = PortSet::EMPTY;
        let mut refusal = DropReason::NoRoute;
        for egress in self.flood_ways(ingress, vlan).iter() {
            match self.check_refusal(ingress, egress, frame.priority) {
                Ok(()) => ports.insert(egress),
                Err(reason) => refusal = reason,
            }
        }
        match ports.is_empty() {
            true => Err(refusal),
            false => Ok(ports),
        }
    }

    /// Returns the ports to which a frame from `ingress` is flooded.
    pub(in crate::switch) fn flood_ways(&self, ingress: PortId, vlan: Option<VlanId>) -> PortSet {
        let tree = vlan.unwrap_or_default();
        let is_way = |egress: &PortId| {
            let is_on_tree = *egress != ingress && self.forwarding.is_on_tree(*egress, tree);
            let is_member = vlan.is_none_or(|vlan| self.carries(*egress, vlan));
            is_on_tree && is_member && self.ports[egress.index()].takes_frames
        };
        let ports = (0..self.ports.len()).filter_map(PortId::from_index);
        ports.filter(is_way).collect()
    }

    fn check_flood(
        &mut self,
        now: Instant,
        ingress: PortId,
        frame: &Frame,
        vlan: Option<VlanId>,
    ) -> Result<(), DropReason> {
        self.may_flood(ingress, frame, vlan)?;
        match self.ports[ingress.index()].flood_limit.take(now) {
            true => Ok(()),
            false => Err(DropReason::FloodRate),
        }
    }

    /// Returns the reason for not flooding a frame without a route, regardless of the rate. With a tree, frames to
    /// group addresses must not be lossless. Their copies would add buffers that wait for each other to those of the
    /// routes, and with Levels their path may be longer than D links.
    pub(in crate::switch) fn may_flood(
        &self,
        ingress: PortId,
        frame: &Frame,
        vlan: Option<VlanId>,
    ) -> Result<(), DropReason> {
        let vlan = vlan.unwrap_or_default();
        if !self.forwarding.is_on_tree(ingress, vlan) {
            return Err(DropReason::OffTree);
        }
        let is_lossless = self.lossless.contains(frame.priority);
        if is_lossless && self.forwarding.has_tree() && frame.destination.is_group() {
            return Err(DropReason::LosslessGroup);
        }
        Ok(())
    }

    #[inline(never)]
    fn admit_at_level(
        &mut self,
        now: Instant,
        ingress: PortId,
        frame: &Frame,
        egress: PortId,
    ) -> Result<Admitted, DropReason> {
        let length = frame.length;
        self.admit_to::<true>(now, ingress, frame, &Egresses::One(egress), length)
            .map(|(admitted, _)| admitted)
    }

    /// Specialised by whether the frame's class has Levels, so that no step checks it again. `length` is the frame's
    /// length on departure. Returns its Level.
    #[inline(always)]
    pub(super) fn admit_to<const WITH_LEVELS: bool>(
        &mut self,
        now: Instant,
        port: PortId,
        frame: &Frame,
        egresses: &Egresses,
        length: Bytes,
    ) -> Result<(Admitted, Level), DropReason> {
        if self.queues.room() < egresses.copies() || !self.charges.is_free(frame.handle) {
            return Err(DropReason::TableFull);
        }
        let assignment = if WITH_LEVELS {
            self.assign_level(now, port, frame)?
        } else {
            Assignment::NONE
        };
        let mut admitted = self.charge::<WITH_LEVELS>(now, port, frame, assignment, egresses)?;
        if self.observes_arrivals {
            admitted.mark |= self.observe_arrival(now, port, frame, *egresses);
        }
        match egresses {
            Egresses::One(egress) => {
                self.enqueue(now, port, *egress, frame, assignment.level(), length);
            }
            Egresses::Several(ports) => {
                for egress in ports.iter() {
                    self.enqueue(now, port, egress, frame, assignment.level(), length);
                }
            }
        }
        Ok((admitted, assignment.level()))
    }

    /// Does the optional work for an admitted frame before it waits: its age, its flow, and a congestion mark (then
    /// returns true).
    #[inline(never)]
    fn observe_arrival(
        &mut self,
        now: Instant,
        ingress: PortId,
        frame: &Frame,
        egresses: Egresses,
    ) -> bool {
        self.note_age(now, frame, egresses.only());
        let mark = self.marks_arrivals.contains(frame.priority)
            && self.marks_by_backlog(frame.priority, &egresses.ports());
        self.note_flow(now, ingress, frame, egresses.only());
        mark
    }

    /// Returns `Err` while `egress` drops frames from `ingress`, and counts the copy.
    #[inline(always)]
    pub(super) fn check_refusal(
        &mut self,
        ingress: PortId,
        egress: PortId,
        priority: Priority,
    ) -> Result<(), DropReason> {
        match self.refusal(ingress, egress, priority) {
            None => Ok(()),
            Some(reason) => {
                self.ports[egress.index()].count_egress_drop(priority, reason);
                Err(reason)
            }
        }
    }

    #[inline(always)]
    fn charge<const WITH_LEVELS: bool>(
        &mut self,
        now: Instant,
        port: PortId,
        frame: &Frame,
        assignment: Assignment,
        egresses: &Egresses,
    ) -> Result<Admitted, DropReason> {
        let cells = frame.length.round_up_to(self.config.cell);
        let state = &mut self.ports[port.index()];
        match state.ingress[frame.priority.index()].admit(cells, &mut self.pools) {
            Ok(admission) => {
                let counters = &mut state.counters.priority[frame.priority.index()];
                counters.rx_frames += 1;
                counters.rx_bytes += frame.length.get();
                if admission.change != PauseChange::None {
                    self.note_pause_change(port, frame.priority, admission.change);
                }
                let share = if WITH_LEVELS {
                    self.store_at_level(now, port, frame, assignment, cells, egresses)
                } else {
                    ShareId::NONE
                };
                let charge = Charge {
                    cells,
                    ingress: port,
                    priority: frame.priority,
                    share,
                };
                self.charges
                    .open(frame.handle, charge, egresses.copies() as u16);
                Ok(Admitted {
                    mark: admission.mark,
                })
            }
            Err(refusal) => Err(self.refuse(now, port, frame.priority, refusal)),
        }
    }

    #[cold]
    fn refuse(
        &mut self,
        now: Instant,
        ingress: PortId,
        priority: Priority,
        refusal: Refusal,
    ) -> DropReason {
        self.note_pause_change(ingress, priority, refusal.change);
        if refusal.reason == DropReason::HeadroomExceeded {
            self.ports[ingress.index()].counters.priority[priority.index()].headroom_dropped += 1;
            if refusal.first {
                self.push_event(now, EventKind::HeadroomExceeded { ingress, priority });
            }
        }
        refusal.reason
    }

    #[inline(always)]
    pub(super) fn enqueue(
        &mut self,
        now: Instant,
        ingress: PortId,
        egress: PortId,
        frame: &Frame,
        level: Level,
        length: Bytes,
    ) {
        let place = Place {
            egress,
            priority: frame.priority,
            ingress,
            destination: frame.destination.to_u64(),
        };
        let bytes = length.get() as u32;
        let queued = self.queues.push(place, level, frame.handle, bytes);
        debug_assert!(queued, "room was checked");
        self.ready.note_port(egress);
        let state = &mut self.ports[egress.index()];
        if state.egress[frame.priority.index()].note_arrival(length) {
            state.waiting.insert(frame.priority);
            if self.config.lifetime.is_some() {
                state.heads[frame.priority.index()].note_first(now);
                self.ready.note_timers();
            }
            if self.lossless.contains(frame.priority) && self.backlogged.begin(now) {
                self.ready.note_timers();
            }
        }
    }
}

impl Port {
    /// Counts an arrived frame if frames are granted or paid for by credits: its sender has counted it even if it is
    /// dropped here.
    #[inline(never)]
    pub(super) fn note_link_arrival(&mut self, priority: Priority, length: Bytes) {
        self.note_credit_arrival(priority, length);
        let level = self.levels[priority.index()].as_mut();
        if let Some(given) = level.and_then(|level| level.given.as_mut()) {
            given.note_arrival();
        }
    }
}
