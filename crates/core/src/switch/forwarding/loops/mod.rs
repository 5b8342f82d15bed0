//! Loops of flooded frames: learning requires that there are none, and no protocol prevents them. Each port
//! periodically sends probes, which all bridges flood, in its VLANs. A returning probe has gone round a loop, and its
//! ingress port stops flooding in its VLAN until no probe has returned for a while.
//!
//! Any station can return or forge a probe. A probe therefore counts only with the nonce of its port for this round or
//! the previous one. It proves that its sender has received the probe of that port, so there is a path from the port to
//! the sender. A probe that returns on the port by which it left proves no more than that. It is reported and blocks
//! nothing, because a station that returns probes must not cut off others behind the same port. If a loop joins a port
//! to a host and one to a switch, the host's port is blocked.
//!
//! Of several switches on one loop, one port must be blocked, not one of each switch. All of them receive each other's
//! probes. Each waits longer the more switches with a smaller identifier it has heard: the first one to block breaks
//! the loop for all.
//!
//! Design: docs/src/internals/design/forwarding.md.

mod alarms;
mod held;
mod nonces;
mod suspects;
mod turns;

use super::Moved;
use crate::config::{LoopConfig, PortRole, SwitchConfig};
use crate::event::EventKind;
use crate::random::mix;
use crate::sets::vlans::{VlanId, VlanSet, VlanTag};
use crate::sets::PortSet;
use crate::switch::Switch;
use crate::units::{Duration, Instant, MacAddress, PortId, Priority};
use crate::wire::loop_probe::{LoopProbe, ProbeForm, ProbeSender};
use crate::wire::ControlFrame;
use alarms::Alarms;
pub use held::BLOCKED_VLANS_MAX;
use held::{hold, HeldPorts};
use nonces::{Nonces, Worthless};
use suspects::Suspects;
use turns::{Needs, Turn, KEPT_MAX};

/// Maximum number of other switches that are remembered.
const HEARD_MAX: usize = 16;
/// Rounds of probes to wait for each switch with a smaller identifier.
const ROUNDS_PER_RANK: u32 = 2;
/// Rounds after which every switch on the loop has been heard.
const ROUNDS_TO_HEAR: u32 = 2;
/// Rounds after which a silent switch is forgotten.
const FORGET_ROUNDS: u64 = 4;

#[derive(Clone, Debug)]
pub(in crate::switch) struct Loops {
    config: LoopConfig,
    id: u32,
    next_round: Instant,
    /// Number of rounds of probes so far.
    round: u64,
    heard: [Option<(u32, Instant)>; HEARD_MAX],
    nonces: Nonces,
    suspects: Suspects,
    alarms: Alarms,
    held: HeldPorts,
    /// By port.
    turns: Vec<Turn>,
    /// VLANs in which frames were flooded in this round, and in the previous one.
    flooded: [VlanSet; 2],
}

/// A probe of this switch that has returned.
#[derive(Clone, Copy, Debug)]
struct Returned {
    /// The port to block, one of the two joined by the probe.
    port: PortId,
    /// The VLAN in which it arrived.
    vlan: VlanId,
    /// The other port.
    origin: PortId,
    /// It is a broadcast.
    is_loud: bool,
}

impl Loops {
    /// For a switch that learns addresses and detects loops.
    pub(in crate::switch) fn of(config: &SwitchConfig) -> Option<Self> {
        let loops = config.loops.filter(|_| config.learning_capacity > 0)?;
        let address = config.ports.first().map_or(0, |port| port.address.to_u64());
        let id = mix(config.seed ^ mix(address)) as u32;
        let ports = config.ports.len();
        Some(Self {
            config: loops,
            id,
            next_round: Instant::ZERO,
            round: 1,
            heard: [None; HEARD_MAX],
            nonces: Nonces::new(config.secret, id, ports),
            suspects: Suspects::default(),
            alarms: Alarms::new(loops.moves.is_some_and(|moves| moves.proves)),
            held: HeldPorts::new(ports, !config.vlans.is_empty()),
            turns: vec![Turn::default(); ports],
            flooded: [VlanSet::EMPTY; 2],
        })
    }

    /// The time at which something is due.
    pub(in crate::switch) fn next(&self) -> Instant {
        self.next_round
    }

    pub(in crate::switch) fn note_flooded(&mut self, vlan: VlanId) {
        self.flooded[0].insert(vlan);
    }

    /// Returns true if a round of probes is due, and schedules the next.
    fn take_round(&mut self, now: Instant) -> bool {
        if self.next_round > now {
            return false;
        }
        self.next_round = now + self.config.interval;
        self.round += 1;
        let [now_flooded, before] = &mut self.flooded;
        *before = core::mem::replace(now_flooded, VlanSet::EMPTY);
        self.suspects.forget_old(self.round);
        self.alarms.forget_old(self.round);
        true
    }

    fn note_heard(&mut self, now: Instant, id: u32) {
        let oldest = |place: &Option<(u32, Instant)>| place.map_or(Instant::ZERO, |(_, at)| at);
        let known = |place: &Option<(u32, Instant)>| place.is_some_and(|(known, _)| known == id);
        let at = self
            .heard
            .iter()
            .position(known)
            .or_else(|| (0..HEARD_MAX).min_by_key(|place| oldest(&self.heard[*place])));
        if let Some(at) = at {
            self.heard[at] = Some((id, now));
        }
    }

    /// Number of switches with a smaller identifier heard recently.
    fn rank(&self, now: Instant) -> u32 {
        let lately = Duration::from_nanos(self.config.interval.as_nanos() * FORGET_ROUNDS);
        let before = self
            .heard
            .iter()
            .flatten()
            .filter(|(id, at)| *id < self.id && now.saturating_since(*at) < lately);
        before.count() as u32
    }

    /// End of a block by a probe of `origin`.
    fn until(&self, now: Instant, origin: PortId) -> Instant {
        let rounds = self.held.rounds(origin, KEPT_MAX);
        now + hold(self.config.hold, self.config.interval, rounds)
    }

    /// A probe of this switch has returned on a blocked port, and would circulate if that were not blocked.
    fn note_kept(&mut self, now: Instant, back: Returned) {
        let until = self.until(now, back.origin);
        self.held
            .refresh(back.port, back.vlan, back.origin, back.is_loud, until);
    }

    /// A probe has returned on a port that is not blocked. Returns true if the port must be blocked now.
    fn note_return(&mut self, now: Instant, back: Returned) -> bool {
        let seen = (back.port, back.vlan);
        let returns = self
            .suspects
            .note(self.round, seen, back.origin, back.is_loud);
        let needed = ROUNDS_TO_HEAR + ROUNDS_PER_RANK * self.rank(now);
        returns.is_some_and(|returns| returns >= needed)
    }

    /// A probe has returned on the port by which it left. Returns true if that must be reported.
    fn note_reflected(&mut self, port: PortId, vlan: VlanId, is_loud: bool) -> bool {
        let seen = (port, vlan);
        self.suspects.note(self.round, seen, port, is_loud) == Some(ROUNDS_TO_HEAR)
    }

    /// Blocks the port; returns the blocked VLAN, or all VLANs.
    fn block(&mut self, now: Instant, back: Returned) -> Option<VlanId> {
        let until = self.until(now, back.origin);
        let vlan = self
            .held
            .block(back.port, back.vlan, back.origin, back.is_loud, until);
        self.suspects.remove(back.port, vlan);
        self.held.settle();
        vlan
    }
}

impl Switch {
    /// Checks a flooded frame by its source: it may be a probe. Returns true for one of this switch: the caller must
    /// pass its bytes to [`receive_probe`](Self::receive_probe), and the frame is not forwarded.
    #[cold]
    pub(in crate::switch) fn hear_probe(
        &mut self,
        now: Instant,
        source: MacAddress,
        is_loud: bool,
    ) -> bool {
        let Some(sender) = ProbeSender::from_source(source) else {
            return false;
        };
        let Some(loops) = &mut self.loops else {
            return false;
        };
        // Another station may have such an address, so its broadcasts count only during an alarm.
        if sender.id != loops.id && (!is_loud || loops.alarms.is_any()) {
            loops.note_heard(now, sender.id);
        }
        sender.id == loops.id
    }

    /// Evaluates the bytes of a frame that was dropped as [`DropReason::LoopProbe`](crate::DropReason::LoopProbe); to
    /// be called for each. O(1), except for the round in which a port is blocked: O(ports).
    #[cold]
    pub fn receive_probe(&mut self, now: Instant, port: PortId, bytes: &[u8]) {
        let Some((probe, tag)) = LoopProbe::parse(bytes) else {
            return;
        };
        let is_loud = bytes.starts_with(&MacAddress::BROADCAST.0);
        let vlan = match self.is_vlan_aware() {
            true => self.vlan_of(port, tag),
            false => Some(VlanId::UNTAGGED),
        };
        let role = |port: PortId| self.ports.get(port.index()).map(|state| state.role);
        let (came, left) = (role(port), role(probe.sender.port));
        let (Some(loops), Some(vlan), Some(_)) = (&mut self.loops, vlan, came) else {
            return;
        };
        let worth = match probe.sender.id == loops.id {
            true => loops.nonces.check(loops.round, probe),
            false => Err(Worthless::Forged),
        };
        let counters = &mut self.ports[port.index()].counters;
        match worth {
            Err(Worthless::Forged) => counters.probes_forged += 1,
            Err(Worthless::Old) => counters.probes_old += 1,
            Ok(()) if probe.sender.port == port => {
                counters.probes_reflected += 1;
                if loops.note_reflected(port, vlan, is_loud) {
                    let vlan = self.is_vlan_aware().then_some(vlan);
                    self.push_event(now, EventKind::LoopBehind { port, vlan });
                }
            }
            Ok(()) => {
                counters.probes_looped += 1;
                let leads_to_host = |role| role == Some(PortRole::Edge);
                let (blocked, other) = match leads_to_host(left) && !leads_to_host(came) {
                    true => (probe.sender.port, port),
                    false => (port, probe.sender.port),
                };
                self.note_loop(
                    now,
                    Returned {
                        port: blocked,
                        vlan,
                        origin: other,
                        is_loud,
                    },
                );
            }
        }
    }

    fn note_loop(&mut self, now: Instant, back: Returned) {
        let Some(loops) = &mut self.loops else {
            return;
        };
        let (port, other) = (back.port, back.origin);
        if self.forwarding.is_blocked(port, back.vlan) {
            loops.note_kept(now, back);
        } else if !self.forwarding.is_blocked(other, back.vlan) && loops.note_return(now, back) {
            let vlan = loops.block(now, back);
            self.forwarding.block(port, vlan);
            self.ports[port.index()].counters.loops_found += 1;
            self.push_event(now, EventKind::ForwardingLoop { port, other, vlan });
        }
    }

    #[cold]
    pub(in crate::switch) fn note_move(
        &mut self,
        now: Instant,
        vlan: Option<VlanId>,
        address: MacAddress,
        port: PortId,
        moved: Moved,
    ) {
        self.ports[port.index()].counters.address_moves += 1;
        let Some(loops) = self.loops.as_mut().filter(|_| moved.is_too_often) else {
            return;
        };
        let ports = [port, moved.from];
        if loops
            .alarms
            .note(loops.round, vlan.unwrap_or_default(), ports)
        {
            let event = EventKind::AddressMoves {
                address,
                vlan,
                port,
                other: moved.from,
            };
            self.push_event(now, event);
        }
    }

    /// Sends a round of probes if one is due, and lets ports flood again. O(ports).
    pub(in crate::switch) fn look_for_loops(&mut self, now: Instant) {
        let is_due = self
            .loops
            .as_mut()
            .is_some_and(|loops| loops.take_round(now));
        if !is_due {
            return;
        }
        for state in &mut self.ports {
            state.due.seldom.set_probe(state.takes_frames);
        }
        let over = |loops: &mut Loops| loops.held.take_over(now);
        while let Some((port, vlan)) = self.loops.as_deref_mut().and_then(over) {
            self.forwarding.unblock(port, vlan);
            self.push_event(now, EventKind::ForwardingLoopEnded { port, vlan });
        }
        if let Some(loops) = &mut self.loops {
            loops.held.settle();
        }
    }

    /// The link of `port` went down: when it comes back, any loop is a different one.
    pub(in crate::switch) fn forget_loop(&mut self, now: Instant, port: PortId) {
        let last = |loops: &mut Loops| loops.held.take(port);
        while let Some(held) = self.loops.as_deref_mut().and_then(last) {
            let vlan = held.in_vlan();
            self.forwarding.unblock(port, vlan);
            self.push_event(now, EventKind::ForwardingLoopEnded { port, vlan });
        }
        if let Some(loops) = &mut self.loops {
            loops.suspects.remove(port, None);
            loops.held.settle();
        }
    }

    /// Ports that neither flood nor learn because of a loop, in all VLANs or in some.
    pub fn blocked_ports(&self) -> PortSet {
        self.forwarding.blocked_ports()
    }

    /// VLANs in which `port` neither floods nor learns because of a loop; `None` means all.
    pub fn blocked_in(&self, port: PortId) -> impl Iterator<Item = Option<VlanId>> + '_ {
        let loops = self.loops.as_ref();
        let held = loops.map_or(&[][..], |loops| loops.held.of_port(port));
        held.iter().map(|held| held.in_vlan())
    }

    /// Returns true if the port neither floods nor learns in this VLAN; in a switch that ignores tags, use
    /// [`VlanId::UNTAGGED`].
    pub fn is_blocked(&self, port: PortId, vlan: VlanId) -> bool {
        self.forwarding.is_blocked(port, vlan)
    }

    pub(in crate::switch) fn next_probe(&mut self, port: PortId) -> Option<ControlFrame> {
        let seldom = &mut self.ports[port.index()].due.seldom;
        if !seldom.take_probe() {
            return None;
        }
        let loops = self.loops.as_deref_mut()?;
        let settings = self.config.vlans.get(port.index());
        let untagged = || [VlanId::UNTAGGED].into_iter().collect();
        let carried = settings.map_or_else(untagged, |settings| *settings.carried());
        let turn = loops.turns.get_mut(port.index())?;
        let needs = Needs {
            round: loops.round,
            suspects: &loops.suspects,
            alarms: &loops.alarms,
            keeps: loops.held.keeps(port),
            flooded: &loops.flooded[1],
            carried: &carried,
        };
        let wanted = turn.next(port, &needs)?;
        seldom.set_probe(turn.has_more());
        let is_tagged = settings.is_some_and(|settings| settings.leaves_tagged(wanted.vlan));
        let form = ProbeForm {
            tag: is_tagged.then(|| VlanTag::new(Priority::ALL[0], wanted.vlan)),
            is_broadcast: wanted.is_loud,
        };
        let probe = loops.nonces.probe(port, loops.round)?;
        Some(ControlFrame::Probe(probe, form))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{ClassConfig, ClassMode, LoopConfig, PortConfig};
    use crate::units::{BitRate, Bytes};

    #[test]
    fn a_switch_is_ranked_by_the_quiet_probes_that_it_has_recently_heard() {
        let interval = Duration::from_secs(1);
        let rate = BitRate::from_mbit(1000);
        let port = PortConfig::new(PortRole::Fabric, rate, MacAddress([2, 0, 0, 0, 0, 1]));
        let buffer = Bytes::new(4096);
        let classes = [ClassConfig::new(ClassMode::Lossy { buffer }); 8];
        let mut switch = Switch::new(SwitchConfig {
            learning_capacity: 16,
            loops: Some(LoopConfig {
                interval,
                hold: interval,
                moves: None,
            }),
            ..SwitchConfig::new(vec![port; 2], classes, Vec::new())
        })
        .unwrap();
        let (now, own) = (Instant::ZERO + interval, switch.loops.as_ref().unwrap().id);
        let mut hear = |id, is_loud| {
            let port = PortId::new(0);
            switch.hear_probe(now, ProbeSender { id, port }.source(), is_loud)
        };
        assert!(!hear(own - 1, false));
        assert!(!hear(own + 1, false));
        assert!(!hear(own - 2, true), "it may be another station");
        assert!(hear(own, false));
        let loops = switch.loops.as_ref().unwrap();
        let after = |rounds| loops.rank(now + interval.saturating_mul(rounds));
        assert_eq!([0, FORGET_ROUNDS - 1, FORGET_ROUNDS].map(after), [1, 1, 0]);
    }
}
