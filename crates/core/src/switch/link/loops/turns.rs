//! Which VLANs a port sends probes in. A trunk may have 4,094, and all probes go through all of the network: a port sends
//! [`PROBES_MAX`] in a round at most. First come those on which something hangs, then VLANs in which frames are flooded, since a
//! loop in one where nothing is flooded does no harm yet; and some in any case go to all VLANs in turn.

use super::alarms::Alarms;
use super::held::Keeps;
use super::suspects::Suspects;
use crate::sets::vlans::{VlanId, VlanSet};
use crate::units::PortId;

/// Probes that a port sends in a round at most.
pub(super) const PROBES_MAX: usize = 24;
/// Of these for what is suspected, …
const SUSPECTED_MAX: usize = 8;
/// … for what is blocked, …
pub(super) const KEPT_MAX: usize = 6;
/// … and for VLANs in which frames were flooded.
const FLOODED_MAX: usize = 6;

/// One probe that is to be sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Wanted {
    pub(super) vlan: VlanId,
    /// As a broadcast.
    pub(super) is_loud: bool,
}

/// Where a port is.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Turn {
    /// The round that the rest is of.
    round: u64,
    wanted: [Wanted; PROBES_MAX],
    count: usize,
    sent: usize,
    /// The last VLAN of each kind.
    kept: VlanId,
    flooded: VlanId,
    any: VlanId,
}

/// What decides.
pub(super) struct Needs<'a> {
    pub(super) round: u64,
    pub(super) suspects: &'a Suspects,
    pub(super) alarms: &'a Alarms,
    pub(super) keeps: &'a Keeps,
    /// VLANs in which frames were flooded in the round before.
    pub(super) flooded: &'a VlanSet,
    /// Those that the port carries.
    pub(super) carried: &'a VlanSet,
}

impl Turn {
    /// The next probe of this round.
    pub(super) fn next(&mut self, port: PortId, needs: &Needs<'_>) -> Option<Wanted> {
        if self.round != needs.round {
            self.plan(port, needs);
        }
        let wanted = self.wanted[..self.count].get(self.sent).copied();
        self.sent += usize::from(wanted.is_some());
        wanted
    }

    /// Whether there is another one in this round.
    pub(super) fn has_more(&self) -> bool {
        self.sent < self.count
    }

    fn plan(&mut self, port: PortId, needs: &Needs<'_>) {
        (self.round, self.count, self.sent) = (needs.round, 0, 0);
        for vlan in needs.alarms.loud_at(needs.round, port) {
            self.want(needs, SUSPECTED_MAX, vlan, true);
        }
        for suspect in needs.suspects.iter() {
            if suspect.port == port || suspect.origin == port {
                self.want(needs, SUSPECTED_MAX, suspect.vlan, suspect.is_loud);
            }
        }
        let most = self.count + KEPT_MAX;
        let kept = needs.carried.and(&needs.keeps.vlans);
        self.kept = self.want_in_turn(needs, &kept, &needs.keeps.loud, self.kept, most);
        let most = self.count + FLOODED_MAX;
        let flooded = needs.carried.and(needs.flooded);
        self.flooded = self.want_in_turn(needs, &flooded, &VlanSet::EMPTY, self.flooded, most);
        self.any = self.want_in_turn(needs, needs.carried, &VlanSet::EMPTY, self.any, PROBES_MAX);
    }

    /// VLANs of this set from behind the last one on, until there are `most` probes, or all are wanted. Gives the new last one.
    fn want_in_turn(
        &mut self,
        needs: &Needs<'_>,
        set: &VlanSet,
        loud: &VlanSet,
        last: VlanId,
        most: usize,
    ) -> VlanId {
        let Some(first) = set.next_after(last) else {
            return last;
        };
        let (mut vlan, mut last) = (first, last);
        // What is wanted already takes no place, but it ends: each step has another VLAN, and not all can be wanted.
        while self.count < most.min(PROBES_MAX) {
            self.want(needs, most, vlan, loud.contains(vlan));
            last = vlan;
            match set.next_after(vlan) {
                Some(next) if next != first => vlan = next,
                _ => break,
            }
        }
        last
    }

    fn want(&mut self, needs: &Needs<'_>, most: usize, vlan: VlanId, is_loud: bool) {
        let wanted = Wanted { vlan, is_loud };
        // A broadcast is as good as the other kind where that one gets through as well.
        let is_there = self.wanted[..self.count].contains(&wanted);
        if is_there || self.count >= most.min(PROBES_MAX) || !needs.carried.contains(vlan) {
            return;
        }
        self.wanted[self.count] = wanted;
        self.count += 1;
    }
}
