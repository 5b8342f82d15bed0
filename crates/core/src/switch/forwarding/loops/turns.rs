//! VLANs in which a port sends probes. A trunk may have 4,094, and all probes cross the whole network, so a port sends
//! at most [`PROBES_MAX`] in a round. VLANs with blocks or suspects come first, then VLANs in which frames are flooded,
//! since a loop without flooded frames does no harm yet. The rest go to all VLANs in turn.

use super::alarms::Alarms;
use super::held::Keeps;
use super::suspects::Suspects;
use crate::sets::vlans::{VlanId, VlanSet};
use crate::units::PortId;

/// Maximum number of probes that a port sends in a round.
pub(super) const PROBES_MAX: usize = 24;
/// Of these, at most this many for suspects.
const SUSPECTED_MAX: usize = 8;
/// At most this many for blocks.
pub(super) const KEPT_MAX: usize = 6;
/// At most this many for VLANs in which frames were flooded.
const FLOODED_MAX: usize = 6;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Wanted {
    pub(super) vlan: VlanId,
    /// As a broadcast.
    pub(super) is_loud: bool,
}

/// Progress of a port in the present round.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Turn {
    /// The round to which the other fields belong.
    round: u64,
    wanted: [Wanted; PROBES_MAX],
    count: usize,
    sent: usize,
    /// The last VLAN of each kind.
    kept: VlanId,
    flooded: VlanId,
    any: VlanId,
}

/// Inputs of the choice.
pub(super) struct Needs<'a> {
    pub(super) round: u64,
    pub(super) suspects: &'a Suspects,
    pub(super) alarms: &'a Alarms,
    pub(super) keeps: &'a Keeps,
    /// VLANs in which frames were flooded in the previous round.
    pub(super) flooded: &'a VlanSet,
    /// Those that the port carries.
    pub(super) carried: &'a VlanSet,
}

impl Turn {
    pub(super) fn next(&mut self, port: PortId, needs: &Needs<'_>) -> Option<Wanted> {
        if self.round != needs.round {
            self.plan(port, needs);
        }
        let wanted = self.wanted[..self.count].get(self.sent).copied();
        self.sent += usize::from(wanted.is_some());
        wanted
    }

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

    /// Takes VLANs of this set, starting after the last one, until there are `most` probes, or all are taken. Returns
    /// the new last one.
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
        // A VLAN already taken uses no slot, but the loop ends: each step has another VLAN, and not all can be taken.
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
        // A broadcast also serves as the other kind.
        let is_there = self.wanted[..self.count].contains(&wanted);
        if is_there || self.count >= most.min(PROBES_MAX) || !needs.carried.contains(vlan) {
            return;
        }
        self.wanted[self.count] = wanted;
        self.count += 1;
    }
}
