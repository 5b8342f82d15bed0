//! Groups of ports, and the buckets dealt to them.

use super::GroupId;
use crate::command::CommandError;
use crate::sets::PortSet;
use crate::units::{MacAddress, PortId};

/// A destination with several members.
#[derive(Clone, Copy, Debug)]
struct Group {
    /// Key of its route.
    address: u64,
    deal: DealId,
    pin_count: u32,
}

/// Identifies the buckets of a group. 24 bits, so that a route with it and its group takes eight bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct DealId([u8; 3]);

impl DealId {
    const NONE: Self = Self([0xff; 3]);

    const fn new(index: u32) -> Self {
        let [a, b, c, _] = index.to_le_bytes();
        Self([a, b, c])
    }

    #[inline(always)]
    const fn index(self) -> usize {
        let [a, b, c] = self.0;
        u32::from_le_bytes([a, b, c, 0]) as usize
    }
}

/// Members and the buckets dealt to them. Groups whose buckets were not changed since share a deal. Most destinations
/// of a large network are behind the same few groups of ports, so the data that every frame reads stays in the cache.
#[derive(Clone, Copy, Debug)]
struct Deal {
    members: PortSet,
    /// Index of its first bucket in the arena.
    first: u32,
    /// Number of groups that use it; zero if unused.
    users: u32,
    bucket_count: u16,
    /// No bucket has moved since: the deal can be shared.
    is_as_dealt: bool,
}

/// Recent deals searched for one that can be shared.
const RECENT: usize = 8;

/// Groups in a slab, and the buckets of all deals in one arena without gaps: a lookup reads one deal and one bucket.
/// Adding and removing is O(deals + buckets), since later buckets move up. Memory is allocated as groups need it, or
/// all at once by [`touch`](Self::touch).
#[derive(Debug)]
#[cfg_attr(feature = "testing", derive(Clone))]
pub(super) struct Groups {
    all: Vec<Group>,
    free: Vec<u32>,
    group_capacity: usize,
    deals: Vec<Deal>,
    free_deals: Vec<u32>,
    /// The latest deals, in turn.
    recent: [u32; RECENT],
    next_recent: usize,
    buckets: Vec<PortId>,
    /// Sum over all groups, as if none shared a deal: the capacity does not depend on sharing.
    bucket_count: usize,
    bucket_capacity: usize,
}

impl Groups {
    pub(super) fn new(group_capacity: usize, bucket_capacity: usize) -> Self {
        // Three bytes suffice: a switch has far fewer routes.
        let group_capacity = group_capacity.min(DealId::NONE.index());
        Self {
            all: Vec::new(),
            free: Vec::new(),
            group_capacity,
            deals: Vec::new(),
            free_deals: Vec::new(),
            recent: [0; RECENT],
            next_recent: 0,
            buckets: Vec::new(),
            bucket_count: 0,
            bucket_capacity,
        }
    }

    /// Allocates memory for the maximum number of groups without sharing.
    pub(super) fn touch(&mut self) {
        let Self {
            all,
            free,
            deals,
            free_deals,
            buckets,
            ..
        } = self;
        all.reserve_exact(self.group_capacity - all.len());
        free.reserve_exact(self.group_capacity - free.len());
        deals.reserve_exact(self.group_capacity - deals.len());
        free_deals.reserve_exact(self.group_capacity - free_deals.len());
        buckets.reserve_exact(self.bucket_capacity - buckets.len());
    }

    /// The member for a flow in this deal. O(1).
    #[inline]
    pub(super) fn port(&self, deal: DealId, flow_hash: u32) -> Option<PortId> {
        self.bucket_of_deal(deal, flow_hash).map(|(_, port)| port)
    }

    /// The bucket of a flow and its member. O(1).
    pub(super) fn bucket(&self, group: GroupId, flow_hash: u32) -> Option<(u16, PortId)> {
        self.bucket_of_deal(self.deal(group), flow_hash)
    }

    #[inline(always)]
    fn bucket_of_deal(&self, deal: DealId, flow_hash: u32) -> Option<(u16, PortId)> {
        let deal = self.deals.get(deal.index())?;
        let bucket = flow_hash.checked_rem(u32::from(deal.bucket_count))?;
        let port = self.buckets.get((deal.first + bucket) as usize)?;
        Some((bucket as u16, *port))
    }

    /// The deal of a group; it changes with the group's members and when one of its buckets moves.
    pub(super) fn deal(&self, group: GroupId) -> DealId {
        let group = self.all.get(group.0 as usize);
        group.map_or(DealId::NONE, |group| group.deal)
    }

    pub(super) fn address(&self, group: GroupId) -> u64 {
        let group = self.all.get(group.0 as usize);
        group.map_or(0, |group| group.address)
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
        let deal = self.deals.get(self.deal(group).index());
        deal.map_or(PortSet::EMPTY, |deal| deal.members)
    }

    pub(super) fn destination(&self, group: GroupId) -> MacAddress {
        MacAddress::from_u64(self.address(group))
    }

    /// Member of each bucket.
    pub(super) fn buckets(&self, group: GroupId) -> &[PortId] {
        let Some(deal) = self.deals.get(self.deal(group).index()) else {
            return &[];
        };
        let first = deal.first as usize;
        self.buckets
            .get(first..first + usize::from(deal.bucket_count))
            .unwrap_or(&[])
    }

    /// Adds a group for the route at `address`, and deals the buckets to the members.
    pub(super) fn add(
        &mut self,
        address: u64,
        members: PortSet,
        bucket_count: u16,
    ) -> Result<GroupId, CommandError> {
        self.check_room(0, bucket_count)?;
        // There are at most as many groups as routes, and the caller has checked the routes.
        if self.free.is_empty() && self.all.len() >= self.group_capacity {
            return Err(CommandError::RoutesFull(self.group_capacity));
        }
        let group = Group {
            address,
            deal: self.take_deal(members, bucket_count),
            pin_count: 0,
        };
        let index = self.free.pop().unwrap_or(self.all.len() as u32);
        match self.all.get_mut(index as usize) {
            Some(free) => *free = group,
            None => self.all.push(group),
        }
        Ok(GroupId(index))
    }

    /// Deals the buckets again.
    pub(super) fn replace(
        &mut self,
        group: GroupId,
        members: PortSet,
        bucket_count: u16,
    ) -> Result<(), CommandError> {
        let before = self.deal(group);
        self.check_room(self.deals[before.index()].bucket_count, bucket_count)?;
        self.leave_deal(before);
        self.all[group.0 as usize].deal = self.take_deal(members, bucket_count);
        Ok(())
    }

    pub(super) fn remove(&mut self, group: GroupId) {
        self.leave_deal(self.deal(group));
        let removed = &mut self.all[group.0 as usize];
        removed.deal = DealId::NONE;
        removed.pin_count = 0;
        self.free.push(group.0);
    }

    /// Number of buckets in the arena, shared ones counted once.
    #[cfg(test)]
    pub(super) fn dealt_bucket_count(&self) -> usize {
        self.buckets.len()
    }

    /// Moves a bucket to another member. The group then has its own [deal](Self::deal).
    pub(super) fn set_bucket(
        &mut self,
        group: GroupId,
        bucket: u16,
        to: PortId,
    ) -> Result<(), CommandError> {
        let deal = self.deal(group);
        let Deal {
            first,
            users,
            bucket_count,
            members,
            ..
        } = self.deals[deal.index()];
        if bucket >= bucket_count {
            return Err(CommandError::NoSuchBucket {
                destination: self.destination(group),
                bucket,
                buckets: bucket_count,
            });
        }
        let mut own = deal.index();
        let mut own_first = first;
        if users > 1 {
            // Unmodified, or it would not be shared.
            self.deals[own].users -= 1;
            let copy = self.deal_anew(members, bucket_count);
            self.all[group.0 as usize].deal = copy;
            own = copy.index();
            own_first = self.deals[own].first;
        }
        self.deals[own].is_as_dealt = false;
        self.buckets[own_first as usize + usize::from(bucket)] = to;
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
        let others = self.bucket_count - usize::from(given_back);
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

    /// A deal for one more group, shared with a recent one if possible.
    fn take_deal(&mut self, members: PortSet, bucket_count: u16) -> DealId {
        self.bucket_count += usize::from(bucket_count);
        for index in self.recent {
            let Some(deal) = self.deals.get_mut(index as usize) else {
                continue;
            };
            // An unused deal has no buckets.
            let is_alike = deal.bucket_count == bucket_count && deal.members == members;
            if deal.is_as_dealt && is_alike {
                deal.users += 1;
                return DealId::new(index);
            }
        }
        let deal = self.deal_anew(members, bucket_count);
        self.recent[self.next_recent] = deal.index() as u32;
        self.next_recent = (self.next_recent + 1) % RECENT;
        deal
    }

    fn deal_anew(&mut self, members: PortSet, bucket_count: u16) -> DealId {
        let deal = Deal {
            members,
            first: self.buckets.len() as u32,
            users: 1,
            bucket_count,
            is_as_dealt: true,
        };
        let mut ports = members.iter();
        for _ in 0..bucket_count {
            let port = ports.next().or_else(|| {
                ports = members.iter();
                ports.next()
            });
            self.buckets.extend(port);
        }
        let index = self.free_deals.pop().unwrap_or(self.deals.len() as u32);
        match self.deals.get_mut(index as usize) {
            Some(free) => *free = deal,
            None => self.deals.push(deal),
        }
        DealId::new(index)
    }

    /// Releases one use of a deal; an unused one is dropped.
    fn leave_deal(&mut self, deal: DealId) {
        let left = &mut self.deals[deal.index()];
        let Deal {
            first,
            bucket_count,
            ..
        } = *left;
        self.bucket_count -= usize::from(bucket_count);
        left.users -= 1;
        if left.users > 0 {
            return;
        }
        left.bucket_count = 0;
        self.free_deals.push(deal.index() as u32);
        let end = first as usize + usize::from(bucket_count);
        self.buckets.drain(first as usize..end);
        for deal in &mut self.deals {
            if deal.first > first {
                deal.first -= u32::from(bucket_count);
            }
        }
    }
}
