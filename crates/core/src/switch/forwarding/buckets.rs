//! Changes to the flows of one group: buckets move, flows are pinned.

use super::pins::Pin;
use super::{Forwarding, GroupId, PinnedBy, Way};
use crate::command::CommandError;
use crate::units::{Instant, MacAddress, PortId};

impl Forwarding {
    pub(in crate::switch) fn move_bucket(
        &mut self,
        destination: MacAddress,
        bucket: u16,
        to: PortId,
    ) -> Result<(), CommandError> {
        let group = self.group_with(destination, to)?;
        self.set_bucket(group, bucket, to)
    }

    /// Takes one flow out of its bucket.
    pub(in crate::switch) fn pin(
        &mut self,
        now: Instant,
        destination: MacAddress,
        flow_hash: u32,
        port: PortId,
    ) -> Result<(), CommandError> {
        let group = self.group_with(destination, port)?;
        let pin = Pin {
            group,
            flow_hash,
            port,
            by: PinnedBy::Operator,
            used_at: now,
        };
        self.set_pin(pin)
    }

    /// Makes a pinned flow follow its bucket again.
    pub(in crate::switch) fn unpin(
        &mut self,
        destination: MacAddress,
        flow_hash: u32,
    ) -> Result<(), CommandError> {
        self.find(destination.to_u64())
            .map_err(|_| CommandError::NoSuchRoute(destination))?;
        let not_pinned = CommandError::NotPinned {
            destination,
            flow_hash,
        };
        let group = self.group_of(destination).ok_or(not_pinned)?;
        if self.pins.remove(group, flow_hash).is_none() {
            return Err(not_pinned);
        }
        self.groups.note_pins_removed(group, 1);
        Ok(())
    }

    /// Moves one flow to another member of its group. If there is no room, replaces the pin of a flow that was moved
    /// before, if no frame has used it since `idle_since`.
    pub(in crate::switch) fn repin(
        &mut self,
        now: Instant,
        group: GroupId,
        flow_hash: u32,
        port: PortId,
        idle_since: Instant,
    ) -> Result<(), CommandError> {
        let known = self.pins.find(group, flow_hash);
        if known.is_none() && self.pins.is_full() {
            if let Some(evicted) = self.pins.evict_idle(idle_since) {
                self.groups.note_pins_removed(evicted, 1);
            }
        }
        self.set_pin(Pin {
            group,
            flow_hash,
            port,
            by: known.map_or(PinnedBy::Reroute, |pin| pin.by),
            used_at: now,
        })
    }

    pub(in crate::switch) fn set_bucket(
        &mut self,
        group: GroupId,
        bucket: u16,
        to: PortId,
    ) -> Result<(), CommandError> {
        self.groups.set_bucket(group, bucket, to)?;
        let (address, way) = (self.groups.address(group), self.way_by(group));
        if let Ok(index) = self.find(address) {
            self.routes[index].way = way;
            self.index.set(address, way);
        }
        Ok(())
    }

    /// The group of `destination`; fails if `port` is not a member.
    fn group_with(&self, destination: MacAddress, port: PortId) -> Result<GroupId, CommandError> {
        let index = self
            .find(destination.to_u64())
            .map_err(|_| CommandError::NoSuchRoute(destination))?;
        let Way::Group(_, group) = self.routes[index].way else {
            return Err(CommandError::SingleMember(destination));
        };
        if self.groups.members(group).contains(port) {
            Ok(group)
        } else {
            Err(CommandError::NotAMember { destination, port })
        }
    }

    fn set_pin(&mut self, pin: Pin) -> Result<(), CommandError> {
        if self.pins.set(pin)? {
            self.groups.note_pin_added(pin.group);
        }
        Ok(())
    }

    pub(super) fn way_by(&self, group: GroupId) -> Way {
        Way::Group(self.groups.deal(group), group)
    }
}
