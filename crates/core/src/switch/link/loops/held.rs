//! What is blocked, and until when: a port in some VLANs, or as a whole.
//!
//! A loop of one VLAN of a trunk costs that VLAN alone: the others, which may have no other way, go on. A port with loops in so
//! many VLANs has a cable too many, and is blocked as a whole at once, before the other VLANs are found one by one.

use crate::sets::vlans::{VlanId, VlanSet};
use crate::units::{Duration, Instant, PortId};

/// VLANs in which a port is blocked at most; with one more it is blocked as a whole.
pub const BLOCKED_VLANS_MAX: usize = 32;

/// One reason for blocking.
#[derive(Clone, Copy, Debug)]
pub(super) struct Held {
    /// The VLAN that the probes come round in.
    vlan: VlanId,
    /// The port is blocked in all VLANs.
    is_whole: bool,
    /// Where those leave that come back.
    other: PortId,
    /// They are broadcasts.
    is_loud: bool,
    until: Instant,
}

/// VLANs in which a port goes on sending probes, because those keep another port blocked.
#[derive(Clone, Copy, Debug)]
pub(super) struct Keeps {
    pub(super) vlans: VlanSet,
    /// Those whose probes are broadcasts.
    pub(super) loud: VlanSet,
    count: u16,
}

/// Of all ports.
#[derive(Clone, Debug)]
pub(super) struct HeldPorts {
    /// By port; at most [`BLOCKED_VLANS_MAX`] each.
    held: Vec<Vec<Held>>,
    keeps: Vec<Keeps>,
    /// Each port has one VLAN, so to speak.
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

    /// Rounds in which all is asked once that `origin` keeps blocked, where it sends so many of these probes in each.
    pub(super) fn rounds(&self, origin: PortId, a_round: usize) -> u64 {
        u64::from(self.keeps(origin).count).div_ceil(a_round.max(1) as u64)
    }

    /// Blocks `port` because of a probe in `vlan`: in which VLAN, or in none at all.
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

    /// A probe has come back that would go round if `port` were not blocked.
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

    /// Takes one out whose time is over: its port, and its VLAN unless it was blocked as a whole. To be called until it gives `None`.
    pub(super) fn take_over(&mut self, now: Instant) -> Option<(PortId, Option<VlanId>)> {
        let mut all = self.held.iter_mut().enumerate();
        all.find_map(|(index, held)| {
            let at = held.iter().position(|it| it.until <= now)?;
            let over = held.swap_remove(at);
            Some((PortId::from_index(index)?, over.in_vlan()))
        })
    }

    /// Takes the last one of a port out.
    pub(super) fn take(&mut self, port: PortId) -> Option<Held> {
        self.held.get_mut(port.index())?.pop()
    }

    /// Finds anew what each port keeps blocked. O(ports).
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

/// After so long without a probe that came back it is not blocked any more: `hold`, and three times what all of them take.
pub(super) fn hold(hold: Duration, interval: Duration, rounds: u64) -> Duration {
    hold + interval.saturating_mul(3 * rounds.saturating_sub(1))
}
