//! Admission of frames on ports with VLANs.
//!
//! A frame is charged with its length on arrival, from which pauses and budgets are computed, and waits with its length
//! on departure. The form is decided here, once: the caller edits the bytes in place before any copy leaves. Only a
//! flood may need two forms. The copies in the second form are a separate frame under a separate handle. It is charged
//! to no buffer: its ingress buffer has already paid for the frame, and no neighbour could do anything about it.

use super::charges::Charge;
use crate::config::VlanMode;
use crate::counters::DropReason;
use crate::frame::{Form, Frame, FrameHandle, Tagged};
use crate::sets::vlans::{VlanId, VlanTag};
use crate::sets::PortSet;
use crate::switch::forwarding::{Decision, Egresses, OtherCopies};
use crate::switch::levels::ShareId;
use crate::switch::port::Port;
use crate::switch::Switch;
use crate::units::{Bytes, Instant, PortId, Priority};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::switch) struct InForm {
    pub(in crate::switch) ports: PortSet,
    pub(in crate::switch) form: Form,
    pub(in crate::switch) is_tagged: bool,
    pub(in crate::switch) length: Bytes,
}

/// Ports of a frame by form: the form that needs fewer changes comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::switch) struct Forms {
    pub(in crate::switch) first: InForm,
    pub(in crate::switch) other: Option<InForm>,
    /// Ports that get no copy: with a tag it would be too long for them, or it would need a second form in a class with
    /// Levels, whose table does not account for such copies.
    pub(in crate::switch) left_out: PortSet,
}

impl Forms {
    pub(in crate::switch) fn ports(&self) -> PortSet {
        let mut ports = self.first.ports;
        if let Some(other) = &self.other {
            ports.insert_all(&other.ports);
        }
        ports
    }
}

impl Switch {
    /// [`receive`](Self::receive) for a VLAN-aware switch: admits a data frame received on `port` with this C-tag as
    /// its first tag, or without one. Anything behind that tag, or in its place (an S-tag, 0x88a8), is payload.
    ///
    /// In a switch that ignores tags this is `receive`.
    ///
    /// # Errors
    ///
    /// The reason for which the frame was dropped and counted; the handle is still the caller's.
    pub fn receive_tagged(
        &mut self,
        now: Instant,
        port: PortId,
        frame: Frame,
        tag: Option<VlanTag>,
    ) -> Result<Tagged, DropReason> {
        if !self.is_vlan_aware() {
            return self.receive(now, port, frame).map(|admitted| Tagged {
                admitted,
                form: Form::AsIs,
                has_other: false,
            });
        }
        let outcome = self.admit_tagged(now, port, &frame, tag);
        if let Err(reason) = outcome {
            self.count_data_drop(port, frame.priority, reason);
            self.promise_credits(port, frame.priority);
        }
        outcome
    }

    /// Counts and refuses a frame with a VLAN tag behind its first tag, or with an S-tag as its first one, if it could
    /// reach a VLAN that the port does not carry. Once the first tag is removed, its receiver reads the second one.
    /// Call it before [`receive_tagged`](Self::receive_tagged).
    ///
    /// # Errors
    ///
    /// [`DropReason::NestedTag`]: the first tag changes nothing, or the port has one untagged VLAN.
    #[cold]
    pub fn check_nested_tag(
        &mut self,
        port: PortId,
        priority: Priority,
        first: Option<VlanTag>,
    ) -> Result<(), DropReason> {
        let Some(settings) = self.config.vlans.get(port.index()) else {
            return Ok(());
        };
        let says_nothing = first.is_some() && settings.classify(first) == settings.classify(None);
        if says_nothing || settings.mode() == VlanMode::Access {
            self.count_data_drop(port, priority, DropReason::NestedTag);
            return Err(DropReason::NestedTag);
        }
        Ok(())
    }

    fn admit_tagged(
        &mut self,
        now: Instant,
        port: PortId,
        frame: &Frame,
        tag: Option<VlanTag>,
    ) -> Result<Tagged, DropReason> {
        self.drop_other();
        let Some(state) = self.ports.get_mut(port.index()) else {
            return Err(DropReason::PortDown);
        };
        if state.counts_arrivals {
            state.note_link_arrival(frame.priority, frame.length);
        }
        let takes = state.takes;
        self.check_arrival(port, takes, frame)?;
        let vlan = self.vlan_of(port, tag).ok_or(DropReason::Vlan)?;
        if self.forwarding.learns() {
            let noted = self
                .forwarding
                .learn_in(now, vlan, frame.source, frame.destination, port);
            if let Some(noted) = noted {
                self.note_learnt(now, Some(vlan), frame.source, port, noted)?;
            }
        }
        let decision = self
            .forwarding
            .decide_in(now, vlan, frame.destination, frame.flow_hash);
        let ports = match decision {
            Decision::NoRoute => return Err(DropReason::NoRoute),
            Decision::Learnt(_) if !self.forwarding.is_on_tree(port, vlan) => {
                return Err(DropReason::OffTree)
            }
            Decision::Port(egress) | Decision::Learnt(egress) => {
                self.check_way(port, egress, vlan)?;
                self.check_refusal(port, egress, frame.priority)?;
                PortSet::from_iter([egress])
            }
            Decision::Flood => self.flood_ports(now, port, frame, Some(vlan))?,
        };
        self.admit_in_forms(now, port, frame, tag, vlan, ports)
    }

    /// Checks that a frame of `vlan` from `ingress` may leave by `egress`.
    pub(in crate::switch) fn check_way(
        &self,
        ingress: PortId,
        egress: PortId,
        vlan: VlanId,
    ) -> Result<(), DropReason> {
        if egress == ingress {
            return Err(DropReason::Hairpin);
        }
        // Its address was learned before the port was reserved.
        let is_reserved = |port: &Port| port.reserved;
        if self.ports.get(egress.index()).is_some_and(is_reserved) {
            return Err(DropReason::MirrorPort);
        }
        match self.carries(egress, vlan) {
            true => Ok(()),
            false => Err(DropReason::Vlan),
        }
    }

    /// Returns the ports of a frame by the form in which it leaves.
    ///
    /// # Errors
    ///
    /// It would be too long for all of them.
    pub(in crate::switch) fn forms(
        &self,
        frame: &Frame,
        tag: Option<VlanTag>,
        vlan: VlanId,
        ports: PortSet,
    ) -> Result<Forms, DropReason> {
        let tagged = self.with_tags(ports, vlan);
        let untagged = ports
            .iter()
            .filter(|port| !tagged.contains(*port))
            .collect();
        let in_form = |ports: PortSet, with_tag: bool| {
            let form = Form::of(tag, vlan, frame.priority, with_tag);
            let length = frame.length.get().saturating_add_signed(form.grows_by());
            InForm {
                ports,
                form,
                is_tagged: with_tag,
                length: Bytes::new(length),
            }
        };
        let fits = |it: &InForm| !it.ports.is_empty() && it.length <= self.config.frame_length_max;
        let (with_tag, without) = (in_form(tagged, true), in_form(untagged, false));
        let too_long = [with_tag, without].into_iter().find(|it| !fits(it));
        let too_long = too_long.map_or(PortSet::EMPTY, |it| it.ports);
        let order = match tag.is_some() {
            true => [with_tag, without],
            false => [without, with_tag],
        };
        let mut fitting = order.into_iter().filter(fits);
        let first = fitting.next().ok_or(DropReason::BadLength)?;
        let (mut other, mut left_out) = (fitting.next(), too_long);
        if self.with_levels.contains(frame.priority) {
            left_out = other.take().map_or(left_out, |other| other.ports);
        }
        Ok(Forms {
            first,
            other,
            left_out,
        })
    }

    fn admit_in_forms(
        &mut self,
        now: Instant,
        ingress: PortId,
        frame: &Frame,
        tag: Option<VlanTag>,
        vlan: VlanId,
        ports: PortSet,
    ) -> Result<Tagged, DropReason> {
        let Forms {
            first,
            other,
            left_out,
        } = self.forms(frame, tag, vlan, ports)?;
        let egresses = Egresses::of(first.ports);
        let (admitted, level) = if self.with_levels.contains(frame.priority) {
            self.admit_to::<true>(now, ingress, frame, &egresses, first.length)?
        } else {
            self.admit_to::<false>(now, ingress, frame, &egresses, first.length)?
        };
        if let Some(vlans) = &mut self.vlans {
            vlans.note_admitted(frame, vlan, first.is_tagged);
            if !left_out.is_empty() {
                vlans.note_copies_dropped(vlan, left_out.count());
            }
            vlans.others = other.map(|other| OtherCopies {
                frame: *frame,
                ingress,
                ports: other.ports,
                level,
                vlan,
                form: other.form,
                is_tagged: other.is_tagged,
                length: other.length,
            });
        }
        Ok(Tagged {
            admitted,
            form: first.form,
            has_other: other.is_some(),
        })
    }

    /// Admits the copies of the frame that [`receive_tagged`](Self::receive_tagged) has just admitted that leave in
    /// another form. They are in the switch under `handle`, whose bytes the caller must bring into the returned form.
    ///
    /// # Errors
    ///
    /// There is no room, or there are no such copies; the handle is still the caller's. The copies are counted.
    pub fn receive_other(&mut self, now: Instant, handle: FrameHandle) -> Result<Form, DropReason> {
        let others = self.vlans.as_mut().and_then(|vlans| vlans.others.take());
        let Some(others) = others else {
            return Err(DropReason::TableFull);
        };
        let egresses = Egresses::of(others.ports);
        if self.queues.room() < egresses.copies() || !self.charges.is_free(handle) {
            self.count_copies_dropped(&others);
            return Err(DropReason::TableFull);
        }
        let frame = Frame {
            handle,
            ..others.frame
        };
        let charge = Charge {
            cells: Bytes::ZERO,
            ingress: others.ingress,
            priority: frame.priority,
            share: ShareId::NONE,
        };
        self.charges.open(handle, charge, egresses.copies() as u16);
        if let Some(vlans) = &mut self.vlans {
            vlans.note_held(&frame, others.vlan, others.is_tagged);
        }
        self.note_age(now, &frame, egresses.only());
        for egress in others.ports.iter() {
            self.enqueue(
                now,
                others.ingress,
                egress,
                &frame,
                others.level,
                others.length,
            );
        }
        Ok(others.form)
    }

    /// Counts the copies of [`receive_other`](Self::receive_other) as dropped because there is no memory for them. Does
    /// nothing if there are none.
    pub fn drop_other(&mut self) {
        let others = self.vlans.as_mut().and_then(|vlans| vlans.others.take());
        if let Some(others) = others {
            self.count_copies_dropped(&others);
        }
    }

    fn count_copies_dropped(&mut self, others: &OtherCopies) {
        if let Some(vlans) = &mut self.vlans {
            vlans.note_copies_dropped(others.vlan, others.ports.count());
        }
    }
}
