//! Loops of flooded frames: where addresses are learnt there must be none, and no protocol keeps them away. Each port sends
//! probes now and then, in the VLANs that it has, which all bridges flood. One that comes back has gone round a loop, and the
//! port that it comes back by floods no more in its VLAN until probes have stayed away for a while.
//!
//! Any station can return a probe or forge one. A probe therefore counts only with the nonce of its port for this round or the
//! one before: its sender has heard the probe of that port, so there is a path from the port to the sender. A probe that returns
//! on the port that it left by proves no more than that. It is reported and blocks nothing, because a station that returns probes
//! must not cut off others behind the same port. If a loop joins a port to a host and one to a switch, the host's port is blocked.
//!
//! Of several switches on one loop one port is to be blocked, not one of each. All of them hear each other's probes. So
//! each waits for the longer the more it has heard of that have a smaller identifier: the first one to block breaks the loop
//! for all.
//!
//! Design: docs/src/internals/design/forwarding.md.

mod alarms;
mod held;
mod nonces;
mod suspects;
mod turns;

use crate::config::{LoopConfig, PortRole, SwitchConfig};
use crate::event::EventKind;
use crate::random::mix;
use crate::sets::vlans::{VlanId, VlanSet, VlanTag};
use crate::sets::PortSet;
use crate::switch::forwarding::Moved;
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

/// Other switches that are remembered.
const HEARD_MAX: usize = 16;
/// Rounds of probes that one waits for each switch before it.
const ROUNDS_PER_RANK: u32 = 2;
/// In so many rounds everybody on the loop has been heard.
const ROUNDS_TO_HEAR: u32 = 2;
/// One that is not heard of for so many rounds is not remembered.
const FORGET_ROUNDS: u64 = 4;

/// What a switch knows of loops.
#[derive(Clone, Debug)]
pub(in crate::switch) struct Loops {
    config: LoopConfig,
    id: u32,
    next_round: Instant,
    /// Rounds of probes so far.
    round: u64,
    heard: [Option<(u32, Instant)>; HEARD_MAX],
    nonces: Nonces,
    suspects: Suspects,
    alarms: Alarms,
    held: HeldPorts,
    /// By port.
    turns: Vec<Turn>,
    /// VLANs in which frames were flooded in this round, and in the one before.
    flooded: [VlanSet; 2],
}

/// A probe of this switch that is back.
#[derive(Clone, Copy, Debug)]
struct Returned {
    /// The port that is to be blocked, one of the two that the probe has joined.
    port: PortId,
    /// The VLAN in which it came in.
    vlan: VlanId,
    /// The other one.
    origin: PortId,
    /// It is a broadcast.
    is_loud: bool,
}

impl Loops {
    /// For a switch that learns addresses and is to look for loops.
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

    /// When there is something to do by the clock.
    pub(in crate::switch) fn next(&self) -> Instant {
        self.next_round
    }

    /// A frame of this VLAN is flooded.
    pub(in crate::switch) fn note_flooded(&mut self, vlan: VlanId) {
        self.flooded[0].insert(vlan);
    }

    /// True when a round of probes is due; it is not any more.
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

    /// Switches with a smaller identifier that were heard of lately.
    fn rank(&self, now: Instant) -> u32 {
        let lately = Duration::from_nanos(self.config.interval.as_nanos() * FORGET_ROUNDS);
        let before = self
            .heard
            .iter()
            .flatten()
            .filter(|(id, at)| *id < self.id && now.saturating_since(*at) < lately);
        before.count() as u32
    }

    /// Until when what a probe of `origin` blocks stays blocked.
    fn until(&self, now: Instant, origin: PortId) -> Instant {
        let rounds = self.held.rounds(origin, KEPT_MAX);
        now + hold(self.config.hold, self.config.interval, rounds)
    }

    /// A probe of this switch is back by a port that is blocked, and would go round if it were not.
    fn note_kept(&mut self, now: Instant, back: Returned) {
        let until = self.until(now, back.origin);
        self.held
            .refresh(back.port, back.vlan, back.origin, back.is_loud, until);
    }

    /// One is back by a port that is not. True if that is to be blocked now.
    fn note_return(&mut self, now: Instant, back: Returned) -> bool {
        let seen = (back.port, back.vlan);
        let returns = self
            .suspects
            .note(self.round, seen, back.origin, back.is_loud);
        let needed = ROUNDS_TO_HEAR + ROUNDS_PER_RANK * self.rank(now);
        returns.is_some_and(|returns| returns >= needed)
    }

    /// One is back by the port that it left by. True if that is to be reported.
    fn note_reflected(&mut self, port: PortId, vlan: VlanId, is_loud: bool) -> bool {
        let seen = (port, vlan);
        self.suspects.note(self.round, seen, port, is_loud) == Some(ROUNDS_TO_HEAR)
    }

    /// Blocks the port: in which VLAN, or in none at all.
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
    /// A frame from this source is flooded that may be a probe. True for one of this switch: the caller has to hand its bytes to
    /// [`receive_probe`](Self::receive_probe), and it goes nowhere.
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
        // Another station may have such an address, so that its broadcasts count for as long as it matters only.
        if sender.id != loops.id && (!is_loud || loops.alarms.is_any()) {
            loops.note_heard(now, sender.id);
        }
        sender.id == loops.id
    }

    /// To be called with the bytes of each frame that was dropped as [`DropReason::LoopProbe`](crate::DropReason::LoopProbe):
    /// what they prove shows there. O(1), but for the round in which a port is blocked: O(ports).
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

    /// A learned address is behind `port`, and was behind another one before.
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

    /// Sends a round of probes where one is due, and lets ports flood again. O(ports).
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

    /// The link of `port` went down: whatever loop it was on is another one when it comes back.
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

    /// Ports that flood and learn nothing because of a loop, in all VLANs or in some.
    pub fn blocked_ports(&self) -> PortSet {
        self.forwarding.blocked_ports()
    }

    /// Where `port` floods and learns nothing because of a loop: in these VLANs, with `None` among them in all.
    pub fn blocked_in(&self, port: PortId) -> impl Iterator<Item = Option<VlanId>> + '_ {
        let loops = self.loops.as_ref();
        let held = loops.map_or(&[][..], |loops| loops.held.of_port(port));
        held.iter().map(|held| held.in_vlan())
    }

    /// Whether the port floods and learns nothing in this VLAN; in a switch to which tags mean nothing: in
    /// [`VlanId::UNTAGGED`].
    pub fn is_blocked(&self, port: PortId, vlan: VlanId) -> bool {
        self.forwarding.is_blocked(port, vlan)
    }

    /// The probe that `port` is to send.
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
