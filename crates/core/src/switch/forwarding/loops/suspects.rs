//! Ports that recently received their own probes but are not yet declared looped.

use crate::sets::vlans::VlanId;
use crate::units::PortId;

/// Maximum number of suspects, in total and of one port: a port with many returned probes leaves room for others.
const SUSPECTS_MAX: usize = 16;
const OF_PORT_MAX: usize = 8;
/// The same for probes that return on the port by which they left, which any host can cause.
const REFLECTED_MAX: usize = 2;
/// Rounds without a returned probe after which a suspect is dropped.
const FORGET_ROUNDS: u64 = 4;

/// A port on which probes return, in one VLAN.
#[derive(Clone, Copy, Debug)]
pub(super) struct Suspect {
    pub(super) port: PortId,
    pub(super) vlan: VlanId,
    /// The port by which the last one left.
    pub(super) origin: PortId,
    /// The last one was a broadcast.
    pub(super) is_loud: bool,
    /// The last round in which one returned.
    returned_in: u64,
    /// Consecutive rounds in which one returned.
    returns: u32,
}

impl Suspect {
    fn is_reflected(&self) -> bool {
        self.origin == self.port
    }
}

#[derive(Clone, Debug, Default)]
pub(super) struct Suspects([Option<Suspect>; SUSPECTS_MAX]);

impl Suspects {
    pub(super) fn iter(&self) -> impl Iterator<Item = &Suspect> {
        self.0.iter().flatten()
    }

    /// Notes a returned probe; returns the number of consecutive rounds in which one returned. `None` if it is not the
    /// first one of the round, or there is no room.
    pub(super) fn note(
        &mut self,
        round: u64,
        seen: (PortId, VlanId),
        origin: PortId,
        is_loud: bool,
    ) -> Option<u32> {
        let (port, vlan) = seen;
        let is_reflected = origin == port;
        let is_kind = |it: &Suspect| it.port == port && it.is_reflected() == is_reflected;
        let is_it = |it: &Suspect| is_kind(it) && it.vlan == vlan;
        let known = self.0.iter().position(|it| it.as_ref().is_some_and(is_it));
        let of_port = self.iter().filter(|it| is_kind(it)).count();
        let most = if is_reflected {
            REFLECTED_MAX
        } else {
            OF_PORT_MAX
        };
        let free = || self.0.iter().position(Option::is_none);
        let at = known.or_else(|| free().filter(|_| of_port < most))?;
        let place = self.0.get_mut(at)?;
        let before = place.map_or((0, 0), |it| (it.returned_in, it.returns));
        if before.0 == round {
            return None;
        }
        let in_a_row = before.0 + 1 == round;
        let returns = if in_a_row { before.1 + 1 } else { 1 };
        *place = Some(Suspect {
            port,
            vlan,
            origin,
            is_loud,
            returned_in: round,
            returns,
        });
        Some(returns)
    }

    pub(super) fn remove(&mut self, port: PortId, vlan: Option<VlanId>) {
        let is_it = |it: &Suspect| it.port == port && vlan.is_none_or(|vlan| it.vlan == vlan);
        for place in &mut self.0 {
            if place.as_ref().is_some_and(is_it) {
                *place = None;
            }
        }
    }

    pub(super) fn forget_old(&mut self, round: u64) {
        for place in &mut self.0 {
            if place.is_some_and(|it| it.returned_in + FORGET_ROUNDS < round) {
                *place = None;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_suspect_is_forgotten_after_four_rounds_without_a_probe() {
        let mut suspects = Suspects::default();
        let seen = (PortId::new(1), VlanId::default());
        let origin = PortId::new(2);
        assert_eq!(suspects.note(10, seen, origin, false), Some(1));
        suspects.forget_old(10 + FORGET_ROUNDS);
        assert_eq!(suspects.iter().count(), 1);
        suspects.forget_old(11 + FORGET_ROUNDS);
        assert_eq!(suspects.iter().count(), 0);
    }
}
