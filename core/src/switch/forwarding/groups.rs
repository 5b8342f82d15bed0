//! Groups of ports and the buckets that are dealt round them.

use super::GroupId;
use crate::command::CommandError;
use crate::sets::PortSet;
use crate::units::{MacAddress, PortId};

#[derive(Clone, Copy, Debug)]
struct Group {
    destination: MacAddress,
    members: PortSet,
    /// Where its buckets begin in the arena.
    first: u32,
    /// Zero for a group that is not in use.
    bucket_count: u16,
    pin_count: u32,
}

/// Groups in a slab, and the buckets of all of them in one arena without gaps: a lookup is one read of
/// each. Adding and removing is O(groups + buckets), since what lies behind moves up.
#[derive(Debug)]
#[cfg_attr(feature = "testing", derive(Clone))]
pub(super) struct Groups {
    all: Vec<Group>,
    free: Vec<u32>,
    buckets: Vec<PortId>,
    bucket_capacity: usize,
}

const UNUSED: Group = Group {
    destination: MacAddress([0; 6]),
    members: PortSet::EMPTY,
    first: 0,
    bucket_count: 0,
    pin_count: 0,
};

impl Groups {
    pub(super) fn new(group_capacity: usize, bucket_capacity: usize) -> Self {
        Self {
            all: vec![UNUSED; group_capacity],
            free: (0..group_capacity as u32).rev().collect(),
            buckets: Vec::with_capacity(bucket_capacity),
            bucket_capacity,
        }
    }

    /// The bucket of a flow and the member that it belongs to. O(1).
    #[inline]
    pub(super) fn bucket(&self, group: GroupId, flow_hash: u32) -> Option<(u16, PortId)> {
        let group = self.all.get(group.0 as usize)?;
        let bucket = flow_hash.checked_rem(u32::from(group.bucket_count))?;
        let port = self.buckets.get((group.first + bucket) as usize)?;
        Some((bucket as u16, *port))
    }

    #[inline]
    pub(super) fn has_pins(&self, group: GroupId) -> bool {
        self.pin_count(group) > 0
    }

    pub(super) fn pin_count(&self, group: GroupId) -> usize {
        self.all
            .get(group.0 as usize)
            .map_or(0, |group| group.pin_count as usize)
    }

    pub(super) fn members(&self, group: GroupId) -> PortSet {
        self.all
            .get(group.0 as usize)
            .map_or(PortSet::EMPTY, |group| group.members)
    }

    pub(super) fn destination(&self, group: GroupId) -> MacAddress {
        self.all
            .get(group.0 as usize)
            .map_or(MacAddress::default(), |group| group.destination)
    }

    /// By bucket: the member that it belongs to.
    pub(super) fn buckets(&self, group: GroupId) -> &[PortId] {
        let Some(group) = self.all.get(group.0 as usize) else {
            return &[];
        };
        let first = group.first as usize;
        self.buckets
            .get(first..first + usize::from(group.bucket_count))
            .unwrap_or(&[])
    }

    /// A group of its own for `destination`. Buckets are dealt round the members.
    pub(super) fn add(
        &mut self,
        destination: MacAddress,
        members: PortSet,
        bucket_count: u16,
    ) -> Result<GroupId, CommandError> {
        self.check_room(0, bucket_count)?;
        // There are as many groups as routes, which the caller has room for.
        let index = self
            .free
            .pop()
            .ok_or(CommandError::RoutesFull(self.all.len()))?;
        self.all[index as usize] = Group {
            destination,
            ..UNUSED
        };
        self.deal(index as usize, members, bucket_count);
        Ok(GroupId(index))
    }

    /// Deals the buckets anew.
    pub(super) fn replace(
        &mut self,
        group: GroupId,
        members: PortSet,
        bucket_count: u16,
    ) -> Result<(), CommandError> {
        let index = group.0 as usize;
        self.check_room(self.all[index].bucket_count, bucket_count)?;
        self.drop_buckets(index);
        self.deal(index, members, bucket_count);
        Ok(())
    }

    pub(super) fn remove(&mut self, group: GroupId) {
        self.drop_buckets(group.0 as usize);
        self.all[group.0 as usize] = UNUSED;
        self.free.push(group.0);
    }

    pub(super) fn set_bucket(
        &mut self,
        group: GroupId,
        bucket: u16,
        to: PortId,
    ) -> Result<(), CommandError> {
        let Group {
            destination,
            first,
            bucket_count,
            ..
        } = self.all[group.0 as usize];
        if bucket >= bucket_count {
            return Err(CommandError::NoSuchBucket {
                destination,
                bucket,
                buckets: bucket_count,
            });
        }
        self.buckets[first as usize + usize::from(bucket)] = to;
        Ok(())
    }

    pub(super) fn note_pin_added(&mut self, group: GroupId) {
        self.all[group.0 as usize].pin_count += 1;
    }

    pub(super) fn note_pins_removed(&mut self, group: GroupId, count: u32) {
        let state = &mut self.all[group.0 as usize];
        debug_assert!(state.pin_count >= count, "a pin is removed twice");
        state.pin_count = state.pin_count.saturating_sub(count);
    }

    fn check_room(&self, given_back: u16, wanted: u16) -> Result<(), CommandError> {
        let others = self.buckets.len() - usize::from(given_back);
        let free = self.bucket_capacity - others;
        if usize::from(wanted) > free {
            return Err(CommandError::BucketsFull {
                wanted,
                free,
                capacity: self.bucket_capacity,
            });
        }
        Ok(())
    }

    fn deal(&mut self, index: usize, members: PortSet, bucket_count: u16) {
        let group = &mut self.all[index];
        group.members = members;
        group.first = self.buckets.len() as u32;
        group.bucket_count = bucket_count;
        let mut ports = members.iter();
        for _ in 0..bucket_count {
            let port = ports.next().or_else(|| {
                ports = members.iter();
                ports.next()
            });
            self.buckets.extend(port);
        }
    }

    fn drop_buckets(&mut self, index: usize) {
        let Group {
            first,
            bucket_count,
            ..
        } = self.all[index];
        let end = first as usize + usize::from(bucket_count);
        self.buckets.drain(first as usize..end);
        self.all[index].bucket_count = 0;
        for group in &mut self.all {
            if group.bucket_count > 0 && group.first > first {
                group.first -= u32::from(bucket_count);
            }
        }
    }
}
