//! Addresses that move between two ports more often than a station would.
//!
//! This happens round a loop of devices that let no probe through. It also happens if a station uses another's address,
//! and if moves sufficed, an attacker could have any port blocked whose address is known. So moves are a sign and no
//! proof: for some rounds the two ports send probes as broadcasts, which anything that carries a broadcast storm lets
//! through.

use crate::sets::vlans::VlanId;
use crate::units::PortId;

/// Maximum number of concurrent alarms; others are considered when one ends.
const ALARMS_MAX: usize = 4;
/// Rounds that an alarm lasts after the last address that moved too often.
const ALARM_ROUNDS: u64 = 10;
/// Rounds in which probes are broadcasts after an alarm begins.
const LOUD_ROUNDS: u64 = 4;
/// While addresses keep moving, this is repeated after this many rounds.
const LOUD_AGAIN_ROUNDS: u64 = 60;

#[derive(Clone, Copy, Debug)]
struct Alarm {
    vlan: VlanId,
    ports: [PortId; 2],
    began: u64,
    until: u64,
}

#[derive(Clone, Debug)]
pub(super) struct Alarms {
    places: [Option<Alarm>; ALARMS_MAX],
    /// True if probes are sent for it.
    proves: bool,
}

impl Alarms {
    pub(super) fn new(proves: bool) -> Self {
        Self {
            places: [None; ALARMS_MAX],
            proves,
        }
    }

    /// Notes that an address moves too often; returns true if the alarm is new.
    pub(super) fn note(&mut self, round: u64, vlan: VlanId, ports: [PortId; 2]) -> bool {
        let until = round + ALARM_ROUNDS;
        let known = self.places.iter_mut().flatten().find(|it| it.vlan == vlan);
        if let Some(alarm) = known {
            alarm.until = until;
            alarm.ports = ports;
            return false;
        }
        let free = self.places.iter_mut().find(|it| it.is_none());
        let is_new = free.is_some();
        if let Some(place) = free {
            *place = Some(Alarm {
                vlan,
                ports,
                began: round,
                until,
            });
        }
        is_new
    }

    pub(super) fn forget_old(&mut self, round: u64) {
        for place in &mut self.places {
            if place.is_some_and(|it| it.until < round) {
                *place = None;
            }
        }
    }

    /// VLANs in which `port` sends probes as broadcasts in this round.
    pub(super) fn loud_at(&self, round: u64, port: PortId) -> impl Iterator<Item = VlanId> + '_ {
        let is_loud = move |it: &&Alarm| {
            let since = round.saturating_sub(it.began) % LOUD_AGAIN_ROUNDS;
            self.proves && it.ports.contains(&port) && since <= LOUD_ROUNDS
        };
        let alarms = self.places.iter().flatten();
        alarms.filter(is_loud).map(|it| it.vlan)
    }

    pub(super) fn is_any(&self) -> bool {
        self.places.iter().any(Option::is_some)
    }
}
