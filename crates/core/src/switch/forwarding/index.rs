//! Index of static entries: a hash table in addition to the sorted list, for lookups in O(1).

use super::Way;
use crate::random::spread;
use crate::units::PortId;

/// Not a MAC address: those have 48 bits.
const EMPTY: u64 = u64::MAX;

#[derive(Clone, Copy, Debug)]
struct Slot {
    address: u64,
    way: Way,
}

/// Open addressing with linear probing, at most four fifths full, four slots to a cache line: a lookup usually reads
/// one line. All operations are O(1), and nothing allocates after [`new`](Self::new).
#[derive(Debug)]
#[cfg_attr(feature = "testing", derive(Clone))]
pub(super) struct RouteIndex {
    slots: Vec<Slot>,
}

impl RouteIndex {
    pub(super) fn new(capacity: usize) -> Self {
        let slot = Slot {
            address: EMPTY,
            way: Way::Port(PortId::new(0)),
        };
        Self {
            slots: vec![slot; (capacity + capacity / 4 + 1).next_power_of_two()],
        }
    }

    pub(super) fn find(&self, address: u64) -> Option<Way> {
        let slot = &self.slots[self.slot_of(address)];
        (slot.address == address).then_some(slot.way)
    }

    /// The result of [`find`](Self::find) for an entry with a single port, in as few steps as possible.
    #[inline(always)]
    pub(super) fn find_port(&self, address: u64) -> Option<PortId> {
        let mask = self.slots.len() - 1;
        let mut home = self.home(address);
        loop {
            let slot = &self.slots[home & mask];
            if slot.address == address {
                return match slot.way {
                    Way::Port(port) => Some(port),
                    Way::Group(..) => None,
                };
            }
            if slot.address == EMPTY {
                return None;
            }
            home += 1;
        }
    }

    /// Prefetches the likely slot of an entry.
    #[inline]
    pub(super) fn reads(&self, address: u64) -> u64 {
        self.slots[self.home(address)].address
    }

    /// Adds an entry, for which there must be room, or changes it.
    pub(super) fn set(&mut self, address: u64, way: Way) {
        let slot = self.slot_of(address);
        self.slots[slot] = Slot { address, way };
    }

    /// Removes an entry, and moves up later ones that could no longer be found.
    pub(super) fn remove(&mut self, address: u64) {
        let mask = self.slots.len() - 1;
        let mut hole = self.slot_of(address);
        let mut next = hole;
        self.slots[hole].address = EMPTY;
        loop {
            next = (next + 1) & mask;
            let slot = self.slots[next];
            if slot.address == EMPTY {
                return;
            }
            let home = self.home(slot.address);
            if (next.wrapping_sub(home) & mask) >= (next.wrapping_sub(hole) & mask) {
                self.slots[hole] = slot;
                self.slots[next].address = EMPTY;
                hole = next;
            }
        }
    }

    /// The slot of the entry, or its free slot. Terminates, because some slots are empty.
    #[inline]
    fn slot_of(&self, address: u64) -> usize {
        let mask = self.slots.len() - 1;
        let mut slot = self.home(address);
        while self.slots[slot].address != address && self.slots[slot].address != EMPTY {
            slot = (slot + 1) & mask;
        }
        slot
    }

    fn home(&self, address: u64) -> usize {
        spread(address) as usize & (self.slots.len() - 1)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Compared with an ordered map, in a table small enough for collisions.
        #[test]
        fn lookups_equal_those_of_a_map(
            steps in prop::collection::vec((0..40u64, prop::option::of(0..9u8)), 1..400),
        ) {
            let mut index = RouteIndex::new(24);
            let mut map = BTreeMap::new();
            for (address, port) in steps {
                match port {
                    Some(port) if map.len() < 24 || map.contains_key(&address) => {
                        index.set(address, Way::Port(PortId::new(port)));
                        map.insert(address, port);
                    }
                    Some(_) => {}
                    None => {
                        if map.remove(&address).is_some() {
                            index.remove(address);
                        }
                    }
                }
                for address in 0..40 {
                    let wanted = map.get(&address).map(|port| Way::Port(PortId::new(*port)));
                    prop_assert_eq!(index.find(address), wanted);
                    let port = map.get(&address).map(|port| PortId::new(*port));
                    prop_assert_eq!(index.find_port(address), port);
                }
            }
        }
    }
}
