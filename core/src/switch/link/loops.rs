//! Loops of flooded frames: where addresses are learnt there must be none, and no protocol keeps them away. Each port sends a
//! probe now and then, which all bridges flood. One that comes back has gone round a loop, and a port on it floods no more
//! until probes have stayed away for a while.
//!
//! Of several switches on one loop one port is to be blocked, not one of each. All of them hear each other's probes. So
//! each waits for the longer the more it has heard of that have a smaller identifier: the first one to block breaks the loop
//! for all.

use crate::config::{LoopConfig, SwitchConfig};
use crate::event::EventKind;
use crate::random::mix;
use crate::sets::PortSet;
use crate::switch::Switch;
use crate::units::{Duration, Instant, MacAddress, PortId};
use crate::wire::loop_probe::LoopProbe;

/// Other switches that are remembered.
const HEARD_MAX: usize = 16;
/// Rounds of probes that one waits for each switch before it.
const ROUNDS_PER_RANK: u32 = 2;
/// In so many rounds everybody on the loop has been heard.
const ROUNDS_TO_HEAR: u32 = 2;
/// One that is not heard of for so many rounds is not remembered.
const FORGET_ROUNDS: u64 = 4;
/// Rounds that a switch waits for others where its probes come back by the port that they left by: the loop is behind that
/// port, and who is on it can break it without cutting this switch off.
const BEHIND_ROUNDS: u32 = 2 * HEARD_MAX as u32 + 8;

/// What a switch knows of loops.
#[derive(Clone, Debug)]
pub(in crate::switch) struct Loops {
    config: LoopConfig,
    id: u32,
    next_round: Instant,
    /// Rounds of probes so far.
    round: u64,
    /// The last round in which a probe came back.
    returned_in: u64,
    /// Rounds in a row in which one did.
    returns: u32,
    heard: [Option<(u32, Instant)>; HEARD_MAX],
    blocked: PortSet,
    /// By port: when a blocked one floods again.
    until: Vec<Instant>,
}

impl Loops {
    /// For a switch that learns addresses and is to look for loops.
    pub(in crate::switch) fn of(config: &SwitchConfig) -> Option<Self> {
        let loops = config.loops.filter(|_| config.learning_capacity > 0)?;
        let address = config.ports.first().map_or(0, |port| port.address.to_u64());
        let id = mix(config.seed ^ mix(address)) as u32;
        Some(Self::new(loops, id, config.ports.len()))
    }

    fn new(config: LoopConfig, id: u32, port_count: usize) -> Self {
        Self {
            config,
            id,
            next_round: Instant::ZERO,
            round: 1,
            returned_in: 0,
            returns: 0,
            heard: [None; HEARD_MAX],
            blocked: PortSet::EMPTY,
            until: vec![Instant::FAR_FUTURE; port_count],
        }
    }

    /// Ports that flood nothing and learn nothing.
    pub(in crate::switch) fn blocked(&self) -> PortSet {
        self.blocked
    }

    /// When there is something to do by the clock.
    pub(in crate::switch) fn next(&self) -> Instant {
        let until = self.blocked.iter().map(|port| self.until[port.index()]);
        until.fold(self.next_round, Instant::min)
    }

    /// True when a round of probes is due; it is not any more.
    fn take_round(&mut self, now: Instant) -> bool {
        if self.next_round > now {
            return false;
        }
        self.next_round = now + self.config.interval;
        self.round += 1;
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

    /// A probe of this switch that left by `origin` is back by `port`. The port to block for that, if any.
    fn note_return(&mut self, now: Instant, port: PortId, origin: PortId) -> Option<PortId> {
        // It would go round if the port were not blocked.
        let known = [port, origin]
            .into_iter()
            .filter(|it| self.blocked.contains(*it));
        let mut is_known = false;
        for known in known {
            is_known = true;
            self.until[known.index()] = now + self.config.hold;
        }
        if is_known || self.returned_in == self.round {
            return None;
        }
        let in_a_row = self.returned_in + 1 == self.round;
        self.returns = if in_a_row { self.returns + 1 } else { 1 };
        self.returned_in = self.round;
        let needed = match port == origin {
            false => ROUNDS_TO_HEAR + ROUNDS_PER_RANK * self.rank(now),
            true => BEHIND_ROUNDS,
        };
        if self.returns < needed {
            return None;
        }
        self.returns = 0;
        let port = port.max(origin);
        self.blocked.insert(port);
        self.until[port.index()] = now + self.config.hold;
        Some(port)
    }

    /// Ports whose time is over; they are blocked no more.
    fn take_over(&mut self, now: Instant) -> PortSet {
        let over = |port: &PortId| self.until[port.index()] <= now;
        let over: PortSet = self.blocked.iter().filter(over).collect();
        for port in over.iter() {
            self.unblock(port);
        }
        over
    }

    /// True when it was blocked.
    pub(in crate::switch) fn unblock(&mut self, port: PortId) -> bool {
        let was = self.blocked.contains(port);
        self.blocked.remove(port);
        was
    }
}

impl Switch {
    /// A frame to the probes' address came in by `port`. True for a probe of this switch, which goes no further.
    #[cold]
    pub(in crate::switch) fn hear_probe(
        &mut self,
        now: Instant,
        port: PortId,
        source: MacAddress,
    ) -> bool {
        let Some(probe) = LoopProbe::from_source(source) else {
            return false;
        };
        let port_count = self.ports.len();
        let Some(loops) = &mut self.loops else {
            return false;
        };
        if probe.id != loops.id {
            loops.note_heard(now, probe.id);
            return false;
        }
        if probe.port.index() >= port_count {
            return true;
        }
        if let Some(blocked) = loops.note_return(now, port, probe.port) {
            self.forwarding.set_blocked(loops.blocked());
            self.ports[blocked.index()].counters.loops_found += 1;
            self.ready.note_timers();
            let other = match blocked == port {
                true => probe.port,
                false => port,
            };
            let port = blocked;
            self.push_event(now, EventKind::ForwardingLoop { port, other });
        }
        true
    }

    /// Sends a round of probes where one is due, and lets ports flood again.
    pub(in crate::switch) fn look_for_loops(&mut self, now: Instant) {
        let Some(loops) = &mut self.loops else {
            return;
        };
        let over = loops.take_over(now);
        let is_due = loops.take_round(now);
        if !over.is_empty() {
            self.forwarding.set_blocked(loops.blocked());
        }
        if is_due {
            for state in &mut self.ports {
                state.due.seldom.set_probe(state.takes_frames);
            }
        }
        for port in over.iter() {
            self.push_event(now, EventKind::ForwardingLoopEnded { port });
        }
    }

    /// The link of `port` went down: whatever loop it was on is another one when it comes back.
    pub(in crate::switch) fn forget_loop(&mut self, now: Instant, port: PortId) {
        if let Some(loops) = &mut self.loops {
            if loops.unblock(port) {
                self.forwarding.set_blocked(loops.blocked());
                self.push_event(now, EventKind::ForwardingLoopEnded { port });
            }
        }
    }

    /// Ports that flood and learn nothing because of a loop.
    pub fn blocked_ports(&self) -> PortSet {
        self.loops
            .as_ref()
            .map_or(PortSet::EMPTY, |loops| loops.blocked())
    }

    /// The probe that `port` is to send.
    pub(in crate::switch) fn next_probe(&mut self, port: PortId) -> Option<LoopProbe> {
        let is_due = self.ports[port.index()].due.seldom.take_probe();
        let id = self.loops.as_ref()?.id;
        is_due.then_some(LoopProbe { id, port })
    }
}
