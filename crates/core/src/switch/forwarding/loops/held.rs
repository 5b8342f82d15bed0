//! Blocked ports, in some VLANs or as a whole, with the end of each block.
//!
//! A loop in one VLAN of a trunk blocks that VLAN only: the others, which may have no other path, continue. A port with
//! loops in many VLANs has a cable too many, and is blocked as a whole at once, before the other VLANs are found one by
//! one.

use crate::sets::vlans::{VlanId, VlanSet};
use crate::units::{Duration, Instant, PortId};

/// Maximum number of VLANs in which a port is blocked; with one more it is blocked as a whole.
pub const BLOCKED_VLANS_MAX: usize = 32;

#[derive(Clone, Copy, Debug)]
pub(super) struct Held {
    /// The VLAN in which the probes go round.
    vlan: VlanId,
    /// The port is blocked in all VLANs.
    is_whole: bool,
    /// The port by which the returning probes leave.
    other: PortId,
    /// They are broadcasts.
    is_loud: bool,
    until: Instant,
}

/// VLANs in which a port keeps sending probes, because they keep another port blocked.
#[derive(Clone, Copy, Debug)]
pub(super) struct Keeps {
    pub(super) vlans: VlanSet,
    /// Those whose probes are broadcasts.
    pub(super) loud: VlanSet,
    count: u16,
}

#[derive(Clone, Debug)]
pub(super) struct HeldPorts {
    /// By port; at most [`BLOCKED_VLANS_MAX`] each.
    held: Vec<Vec<Held>>,
    keeps: Vec<Keeps>,
    /// False if VLANs are not distinguished.
    is_aware: bool,
}

const KEEPS_NOTHING: Keeps = Keeps {
    vlans: VlanSet::EMPTY,
    loud: VlanSet::EMPTY,
    count: 0,
};

impl HeldPorts {
    pub(super) fn new(ports: usize, is_aware: bool) -> Self {
        let capacity = if is_aware { BLOCKED_VLANS_MAX } else { 1 };
        let held = (0..ports).map(|_| Vec::with_capacity(capacity));
        Self {
            held: held.collect(),
            keeps: vec![KEEPS_NOTHING; ports],
            is_aware,
        }
    }

    pub(super) fn of_port(&self, port: PortId) -> &[Held] {
        self.held.get(port.index()).map_or(&[], Vec::as_slice)
    }

    pub(super) fn keeps(&self, port: PortId) -> &Keeps {
        self.keeps.get(port.index()).unwrap_or(&KEEPS_NOTHING)
    }

    /// Rounds needed to probe everything that `origin` keeps blocked, at this many probes per round.
    pub(super) fn rounds(&self, origin: PortId, a_round: usize) -> u64 {
        u64::from(self.keeps(origin).count).div_ceil(a_round.max(1) as u64)
    }

    /// Blocks `port` because of a probe in `vlan`; returns the blocked VLAN, or all VLANs.
    pub(super) fn block(
        &mut self,
        port: PortId,
        vlan: VlanId,
        other: PortId,
        is_loud: bool,
        until: Instant,
    ) -> Option<VlanId> {
        let held = self.held.get_mut(port.index())?;
        let is_whole = !self.is_aware || held.len() >= BLOCKED_VLANS_MAX;
        if is_whole {
            held.clear();
        }
        held.push(Held {
            vlan,
            is_whole,
            other,
            is_loud,
            until,
        });
        (!is_whole).then_some(vlan)
    }

    /// Extends the block for a returned probe that would circulate if `port` were not blocked.
    pub(super) fn refresh(
        &mut self,
        port: PortId,
        vlan: VlanId,
        other: PortId,
        is_loud: bool,
        until: Instant,
    ) {
        let held = self.held.get_mut(port.index());
        let mut held = held.into_iter().flatten();
        if let Some(held) = held.find(|it| it.is_whole || it.vlan == vlan) {
            *held = Held {
                vlan,
                other,
                is_loud,
                until,
                ..*held
            };
        }
    }

    /// Removes a block whose time is over: returns its port, and its VLAN unless the whole port was blocked. Call until
    /// `None`.
    pub(super) fn take_over(&mut self, now: Instant) -> Option<(PortId, Option<VlanId>)> {
        let mut all = self.held.iter_mut().enumerate();
        all.find_map(|(index, held)| {
            let at = held.iter().position(|it| it.until <= now)?;
            let over = held.swap_remove(at);
            Some((PortId::from_index(index)?, over.in_vlan()))
        })
    }

    /// Removes the last block of a port.
    pub(super) fn take(&mut self, port: PortId) -> Option<Held> {
        self.held.get_mut(port.index())?.pop()
    }

    /// Recomputes the ports and VLANs that each port keeps blocked. O(ports).
    pub(super) fn settle(&mut self) {
        self.keeps.fill(KEEPS_NOTHING);
        for held in self.held.iter().flatten() {
            let Some(keeps) = self.keeps.get_mut(held.other.index()) else {
                continue;
            };
            keeps.count += u16::from(!keeps.vlans.contains(held.vlan));
            keeps.vlans.insert(held.vlan);
            if held.is_loud {
                keeps.loud.insert(held.vlan);
            }
        }
    }
}

impl Held {
    /// `None` for a port that is blocked as a whole.
    pub(super) fn in_vlan(&self) -> Option<VlanId> {
        (!self.is_whole).then_some(self.vlan)
    }
}

/// Time without a returned probe after which a block ends: `hold`, and three times as long as all probes take.
pub(super) fn hold(hold: Duration, interval: Duration, rounds: u64) -> Duration {
    hold + interval.saturating_mul(3 * rounds.saturating_sub(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_vlan_that_blocks_two_ports_is_probed_once() {
        let mut held = HeldPorts::new(4, true);
        let [origin, first, second] = [0, 1, 2].map(PortId::new);
        for (port, vlan) in [(first, 10), (second, 10), (first, 20)] {
            let vlan = VlanId::new(vlan).unwrap();
            held.block(port, vlan, origin, false, Instant::ZERO);
        }
        held.settle();
        assert_eq!(held.rounds(origin, 1), 2);
    }
}
