//! Flow pins: flows that do not follow their bucket.

use super::GroupId;
use crate::command::CommandError;
use crate::random::mix;
use crate::units::{Instant, PortId};

crate::named! {
    /// Origin of a pin.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum PinnedBy {
        /// A command. The pin stays until it is removed.
        Operator => "operator",
        /// A reroute that moved the flow. The pin is replaced if the table is full and the flow is no longer recent.
        Reroute => "reroute",
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Pin {
    pub(super) group: GroupId,
    pub(super) flow_hash: u32,
    pub(super) port: PortId,
    pub(super) by: PinnedBy,
    pub(super) used_at: Instant,
}

/// A hash table with open addressing that is at least half empty. All operations on one pin are O(1); nothing
/// allocates.
#[derive(Debug)]
#[cfg_attr(feature = "testing", derive(Clone))]
pub(super) struct Pins {
    slots: Vec<Option<Pin>>,
    count: usize,
    capacity: usize,
}

impl Pins {
    pub(super) fn new(capacity: usize) -> Self {
        Self {
            slots: vec![None; (capacity * 2).next_power_of_two()],
            count: 0,
            capacity,
        }
    }

    pub(super) fn len(&self) -> usize {
        self.count
    }

    pub(super) fn is_full(&self) -> bool {
        self.count >= self.capacity
    }

    pub(super) fn find(&self, group: GroupId, flow_hash: u32) -> Option<Pin> {
        self.slots[self.slot_of(group, flow_hash)]
    }

    /// The port to which a frame's flow is pinned.
    pub(super) fn use_pin(
        &mut self,
        now: Instant,
        group: GroupId,
        flow_hash: u32,
    ) -> Option<PortId> {
        let slot = self.slot_of(group, flow_hash);
        let pin = self.slots[slot].as_mut()?;
        pin.used_at = now;
        Some(pin.port)
    }

    /// Pins a flow to a port; returns true if it was not pinned before.
    pub(super) fn set(&mut self, pin: Pin) -> Result<bool, CommandError> {
        let slot = self.slot_of(pin.group, pin.flow_hash);
        let is_new = self.slots[slot].is_none();
        if is_new && self.is_full() {
            return Err(CommandError::PinsFull(self.capacity));
        }
        self.slots[slot] = Some(pin);
        self.count += usize::from(is_new);
        Ok(is_new)
    }

    pub(super) fn remove(&mut self, group: GroupId, flow_hash: u32) -> Option<Pin> {
        let slot = self.slot_of(group, flow_hash);
        let pin = self.slots[slot]?;
        self.clear(slot);
        Some(pin)
    }

    /// Removes the pins of a group that match `unwanted`; returns their number. O(capacity).
    pub(super) fn remove_group(&mut self, group: GroupId, unwanted: impl Fn(&Pin) -> bool) -> u32 {
        let mut removed = 0;
        let mut slot = 0;
        while slot < self.slots.len() {
            let goes = |pin: &Pin| pin.group == group && unwanted(pin);
            if self.slots[slot].as_ref().is_some_and(goes) {
                // Another pin may have moved up into this slot.
                self.clear(slot);
                removed += 1;
            } else {
                slot += 1;
            }
        }
        removed
    }

    /// Removes the rerouted flow's pin that has been unused for longest, if not used since `idle_since`; returns its
    /// group. O(capacity).
    pub(super) fn evict_idle(&mut self, idle_since: Instant) -> Option<GroupId> {
        let oldest = self
            .iter()
            .filter(|pin| pin.by == PinnedBy::Reroute && pin.used_at <= idle_since)
            .min_by_key(|pin| pin.used_at)
            .copied()?;
        self.remove(oldest.group, oldest.flow_hash)
            .map(|pin| pin.group)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Pin> {
        self.slots.iter().flatten()
    }

    /// The slot of the pin, or its free slot. Terminates, because half of the slots are empty.
    fn slot_of(&self, group: GroupId, flow_hash: u32) -> usize {
        let mut slot = self.home(group, flow_hash);
        while self.slots[slot].is_some_and(|pin| pin.flow_hash != flow_hash || pin.group != group) {
            slot = (slot + 1) & (self.slots.len() - 1);
        }
        slot
    }

    fn home(&self, group: GroupId, flow_hash: u32) -> usize {
        mix(u64::from(group.0) << 32 | u64::from(flow_hash)) as usize & (self.slots.len() - 1)
    }

    /// Empties a slot, and moves up later pins that could no longer be found.
    fn clear(&mut self, slot: usize) {
        let mask = self.slots.len() - 1;
        let mut hole = slot;
        self.slots[hole] = None;
        self.count -= 1;
        let mut next = hole;
        loop {
            next = (next + 1) & mask;
            let Some(pin) = self.slots[next] else {
                return;
            };
            let home = self.home(pin.group, pin.flow_hash);
            if (next.wrapping_sub(home) & mask) >= (next.wrapping_sub(hole) & mask) {
                self.slots[hole] = Some(pin);
                self.slots[next] = None;
                hole = next;
            }
        }
    }
}
