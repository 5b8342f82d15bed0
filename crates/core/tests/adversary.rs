//! An adversary beside honest hosts: a host at an edge port, and another behind a neighbour, which send anything that a
//! host can send, at random. The honest hosts lose nothing, are paused no longer than the storm watchdog allows, and
//! keep their routes, frames and shares of a line; everything from the adversary is counted, each frame once.

use std::collections::BTreeMap;

use weir_core::config::{
    ControlLimits, FloodConfig, LoopConfig, MoveConfig, RouteConfig, StormAction, VlanPort,
};
use weir_core::event::EventKind;
use weir_core::random::SplitMix64;
use weir_core::wire::loop_probe::{LoopProbe, ProbeForm, ProbeSender, LOOP_PROBE_ADDRESS};
use weir_core::wire::mac_control::MacControl;
use weir_core::wire::ControlFrame;
use weir_core::{
    Algorithm, BitRate, Bytes, ClassConfig, ClassMode, Command, DropReason, Duration, Frame,
    FrameHandle, Instant, MacAddress, PfcThresholds, PortConfig, PortId, PortRole, Priority,
    Quanta, Switch, SwitchConfig, Transmission, VlanId, VlanSet, VlanTag, WatchdogConfig,
};

const ADVERSARY: PortId = PortId::new(0);
const HOSTS: [PortId; 2] = [PortId::new(1), PortId::new(2)];
const UPLINK: PortId = PortId::new(3);
const ALL: [PortId; 4] = [ADVERSARY, HOSTS[0], HOSTS[1], UPLINK];
const RATE: BitRate = BitRate::from_mbit(1000);
const LOSSLESS: Priority = Priority::ALL[3];
const ROUND: Duration = Duration::from_millis(1);
const STEP: Duration = Duration::from_micros(50);
const LENGTH: Bytes = Bytes::new(1_000);
const DETECTION: Duration = Duration::from_millis(200);
/// The detection time, an eighth of it until the sample, and the time to send the waiting frames.
const PAUSED_MAX: Duration = Duration::from_millis(240);
/// Maximum number of the adversary's addresses.
const ADDRESSES: u32 = 64;
/// Frames that one with a line to fill keeps waiting, of each priority: more than leave in a step.
const BACKLOG: u64 = 8;

/// Address of the adversary with a static route: others have frames for it.
const OWN: MacAddress = MacAddress([2, 0, 0, 0, 9, 9]);

/// Address of the honest station behind a port, learned; the last host's has a static route.
fn honest(port: PortId) -> MacAddress {
    MacAddress([2, 0, 0, 0, 1, port.get()])
}

fn vlan(number: u16) -> VlanId {
    VlanId::new(number).unwrap()
}

fn config() -> SwitchConfig {
    let mut classes = [ClassConfig::new(ClassMode::Lossy {
        buffer: Bytes::new(64 << 10),
    }); 8];
    let size = |kib: u64| Bytes::new(kib << 10);
    classes[LOSSLESS.index()] = ClassConfig::new(ClassMode::Pfc(
        PfcThresholds::new(size(64), size(48), size(64)).unwrap(),
    ));
    for class in &mut classes {
        class.scheduler.algorithm = Algorithm::Ports;
    }
    let ports = ALL.into_iter().map(|port| {
        let role = match port == UPLINK {
            true => PortRole::Fabric,
            false => PortRole::Edge,
        };
        let mut settings = PortConfig::new(role, RATE, MacAddress([2, 1, 0, 0, 0, port.get()]));
        settings.watchdog = (port != UPLINK).then_some(WatchdogConfig {
            detection: DETECTION,
            restoration: DETECTION,
            action: StormAction::Drop,
        });
        if port == ADVERSARY {
            settings.address_limit = Some(ADDRESSES);
            settings.priorities[7] = false;
        }
        settings
    });
    let last = HOSTS[1];
    let routes = [(honest(last), last), (OWN, ADVERSARY)]
        .map(|(station, port)| RouteConfig::new(station, vec![port]));
    let access = VlanPort::access(vlan(10));
    let trunk = VlanPort::native_untagged(
        vlan(10),
        [vlan(10), vlan(20)].into_iter().collect::<VlanSet>(),
    );
    SwitchConfig {
        flood: FloodConfig {
            edge_rate: Some(200),
            ..FloodConfig::default()
        },
        learning_capacity: 512,
        loops: Some(LoopConfig {
            interval: Duration::from_secs(1),
            hold: Duration::from_secs(30),
            moves: Some(MoveConfig {
                count: 16,
                within: Duration::from_secs(1),
                proves: true,
            }),
        }),
        control_limits: ControlLimits {
            pause_rate: Some(2_000),
            message_rate: Some(1_000),
        },
        vlans: vec![access, access, access, trunk],
        secret: 0x0123_4567_89ab_cdef,
        ..SwitchConfig::new(ports.collect(), classes, routes.to_vec())
    }
}

/// A frame in the switch.
#[derive(Clone, Copy)]
struct Inside {
    /// Of an honest station: its ingress port, and its destination's port.
    honest: Option<(PortId, PortId)>,
    /// Priority of the adversary's frame if it belongs to its greed.
    greedy: Option<Priority>,
}

impl Inside {
    const OTHER: Self = Self {
        honest: None,
        greedy: None,
    };
}

/// The adversary's pattern of pauses.
#[derive(Clone, Copy, PartialEq)]
enum Mood {
    Random,
    Paused,
    Pulsed,
}

struct Trial {
    switch: Switch,
    rounds: u64,
    random: SplitMix64,
    now: Instant,
    free: Vec<FrameHandle>,
    inside: BTreeMap<FrameHandle, Inside>,
    heard: Vec<LoopProbe>,
    /// Honest frames sent and received, by the ports of sender and receiver.
    sent: BTreeMap<(PortId, PortId), u64>,
    received: BTreeMap<(PortId, PortId), u64>,
    /// By honest port: start of the present pause, and the longest pause.
    paused_since: [Option<Instant>; 4],
    paused_max: Duration,
    /// By priority: greedy frames in the switch.
    greed: [u64; 8],
    /// Frames on a line that an honest host and the adversary could fill: those of the honest host, and all.
    contended: [u64; 2],
    /// Frames of the adversary at each of its two places: all, and those admitted.
    attempts: [u64; 4],
    taken: [u64; 4],
    events: BTreeMap<&'static str, u64>,
}

impl Trial {
    fn new(seed: u64) -> Self {
        let mut config = config();
        config.frame_count = config.frames_needed() + 64;
        Self {
            free: (0..config.frame_count as u32).map(FrameHandle).collect(),
            switch: Switch::new(config).unwrap(),
            rounds: 0,
            random: SplitMix64::new(seed),
            now: Instant::ZERO + Duration::from_secs(10),
            inside: BTreeMap::new(),
            heard: Vec::new(),
            sent: BTreeMap::new(),
            received: BTreeMap::new(),
            paused_since: [None; 4],
            paused_max: Duration::ZERO,
            greed: [0; 8],
            contended: [0; 2],
            attempts: [0; 4],
            taken: [0; 4],
            events: BTreeMap::new(),
        }
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.random.next_u64() % bound
    }

    fn one_of<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.below(all.len() as u64) as usize]
    }

    fn happens(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }

    fn receive(
        &mut self,
        by: PortId,
        frame: Frame,
        tag: Option<VlanTag>,
        inside: Inside,
    ) -> Result<(), DropReason> {
        let outcome = self.switch.receive_tagged(self.now, by, frame, tag);
        if outcome.is_ok_and(|tagged| tagged.has_other) {
            self.switch.drop_other();
        }
        match outcome {
            Ok(_) => self.inside.insert(frame.handle, inside).map_or((), drop),
            Err(_) => self.free.push(frame.handle),
        }
        outcome.map(|_| ())
    }

    fn frame(&mut self, source: MacAddress, destination: MacAddress, priority: Priority) -> Frame {
        Frame {
            handle: self.free.pop().expect("as many as there may be"),
            length: LENGTH,
            priority,
            destination,
            source,
            flow_hash: self.random.next_u64() as u32,
        }
    }

    /// Sends a frame from an honest station to another, unless it is paused. None may be lost.
    fn send(&mut self, from: PortId, to: PortId) {
        if self.switch.gauges(self.now, from, LOSSLESS).pausing {
            return;
        }
        let destination = match to == ADVERSARY {
            true => OWN,
            false => honest(to),
        };
        let frame = self.frame(honest(from), destination, LOSSLESS);
        let inside = Inside {
            honest: Some((from, to)),
            greedy: None,
        };
        *self.sent.entry((from, to)).or_default() += 1;
        match self.receive(from, frame, None, inside) {
            Ok(()) => {}
            // Frames to the adversary may be lost.
            Err(DropReason::Storm) if to == ADVERSARY => {}
            Err(reason) => panic!("{from} to {to}: {reason:?}"),
        }
    }

    fn pfc(&mut self, by: PortId, quanta: Quanta) {
        let control = MacControl::Pfc {
            times: [Some(quanta); 8],
        };
        let mut bytes = [0; 60];
        control.emit(MacAddress::default(), &mut bytes);
        let outcome = self.switch.receive_mac_control(self.now, by, &bytes);
        self.count(by, outcome.is_ok());
    }

    /// A pause without end, or 180 ms of each 180.3 ms, by mood.
    fn pause(&mut self, step: u64) {
        let of_cycle = self.rounds % 180;
        let quanta = match (self.mood(), of_cycle, step) {
            (Mood::Pulsed, 0, 0) => Quanta::ZERO,
            (Mood::Pulsed, 0, 6) => Quanta::MAX,
            (Mood::Pulsed | Mood::Paused, 1.., 0) if of_cycle.is_multiple_of(10) => Quanta::MAX,
            _ => return,
        };
        self.pfc(ADVERSARY, quanta);
    }

    fn mood(&self) -> Mood {
        [Mood::Random, Mood::Paused, Mood::Random, Mood::Pulsed][(self.rounds / 1_000 % 4) as usize]
    }

    fn mac_control(&mut self, by: PortId) {
        let quanta = self.one_of(&[Quanta::ZERO, Quanta(200), Quanta(9_000), Quanta::MAX]);
        let control = match self.happens(80) {
            true => MacControl::Pfc {
                times: [Some(quanta); 8],
            },
            false => MacControl::Pause { quanta },
        };
        let mut bytes = [0; 60];
        control.emit(MacAddress::default(), &mut bytes);
        if self.happens(5) {
            bytes[15] = 0xff;
        }
        let outcome = self.switch.receive_mac_control(self.now, by, &bytes);
        self.count(by, outcome.is_ok());
    }

    fn count(&mut self, by: PortId, taken: bool) {
        self.attempts[by.index()] += 1;
        self.taken[by.index()] += u64::from(taken);
    }

    fn clcm(&mut self, by: PortId) {
        let mut bytes = [0; 60];
        for byte in &mut bytes {
            *byte = self.random.next_u64() as u8;
        }
        bytes[..6].copy_from_slice(&[1, 0x80, 0xc2, 0, 0, 0xe]);
        bytes[12..14].copy_from_slice(&[0x88, 0xb5]);
        if self.happens(50) {
            bytes[14..16].copy_from_slice(&[0x57, 0x45]);
        }
        let outcome = self.switch.receive_clcm(self.now, by, &bytes);
        self.count(by, outcome.is_ok());
    }

    /// Sends a probe that was heard, changed or not, or a forged one.
    fn probe(&mut self, by: PortId) {
        let id = self.random.next_u64() as u32;
        let made_up = ProbeSender { id, port: by }.probe(1, id).unwrap();
        let mut probe = match self.heard.is_empty() {
            true => made_up,
            false => self.heard[self.random.next_u64() as usize % self.heard.len()],
        };
        if self.happens(30) {
            probe.sender.port = self.one_of(&ALL);
        }
        if self.happens(30) {
            probe.round = probe.round.wrapping_add(1);
        }
        let is_broadcast = self.happens(20);
        let form = ProbeForm {
            tag: None,
            is_broadcast,
        };
        let destination = match is_broadcast {
            true => MacAddress::BROADCAST,
            false => LOOP_PROBE_ADDRESS,
        };
        let frame = self.frame(probe.sender.source(), destination, Priority::ALL[0]);
        let outcome = self.receive(by, frame, None, Inside::OTHER);
        if outcome == Err(DropReason::LoopProbe) {
            let mut bytes = [0; 64];
            probe.emit(form, &mut bytes);
            self.switch.receive_probe(self.now, by, &bytes);
        }
        self.count(by, outcome.is_ok());
    }

    fn data(&mut self, by: PortId) {
        let mut made_up =
            || MacAddress::from_u64(0x0200_0500_0000 | (self.random.next_u64() % 6_000));
        let (one, two) = (made_up(), made_up());
        let own = OWN;
        let victims = [honest(HOSTS[0]), honest(HOSTS[1]), honest(UPLINK)];
        let victim = self.one_of(&victims);
        let source = match by == UPLINK {
            // The neighbour refuses sources that it knows at another port; a regular switch does not.
            true => self.one_of(&[honest(HOSTS[0]), honest(HOSTS[1]), one, one]),
            false => self.one_of(&[own, own, victim, victim, one, MacAddress::BROADCAST]),
        };
        let destination =
            self.one_of(&[victim, two, own, MacAddress::BROADCAST, LOOP_PROBE_ADDRESS]);
        let number = self.below(8) as usize;
        let mut frame = self.frame(source, destination, Priority::ALL[number]);
        frame.length = Bytes::new(self.one_of(&[0, 60, 1_000, 1_500, 100_000]));
        let tag = match by == ADVERSARY {
            true => self.one_of(&[None, None, Some(0), Some(10), Some(20)]),
            // No honest station is in VLAN 20.
            false => Some(20),
        };
        let tag = tag.map(|number| VlanTag::new(Priority::ALL[0], vlan(number)));
        let inside = Inside::OTHER;
        if self.happens(10)
            && self
                .switch
                .check_nested_tag(by, frame.priority, tag)
                .is_err()
        {
            self.free.push(frame.handle);
            return self.count(by, false);
        }
        let outcome = self.receive(by, frame, tag, inside);
        self.count(by, outcome.is_ok());
    }

    /// An honest host and the adversary both fill the line of another host, the adversary in all priorities.
    fn compete(&mut self) {
        let [one, two] = HOSTS;
        let waiting = |trial: &Self| trial.sent[&(one, two)] - trial.received_on((one, two));
        while waiting(self) < BACKLOG {
            let before = self.sent[&(one, two)];
            self.send(one, two);
            if self.sent[&(one, two)] == before {
                break;
            }
        }
        for priority in Priority::ALL {
            for _ in self.greed[priority.index()]..BACKLOG {
                let frame = self.frame(OWN, honest(two), priority);
                let inside = Inside {
                    honest: None,
                    greedy: Some(priority),
                };
                let outcome = self.receive(ADVERSARY, frame, None, inside);
                self.greed[priority.index()] += u64::from(outcome.is_ok());
                self.count(ADVERSARY, outcome.is_ok());
                if outcome.is_err() {
                    break;
                }
            }
        }
    }

    fn received_on(&self, way: (PortId, PortId)) -> u64 {
        self.received.get(&way).copied().unwrap_or(0)
    }

    /// One in ten rounds, a hundred at a time.
    fn is_greedy(&self) -> bool {
        self.rounds / 100 % 10 == 9
    }

    fn attack(&mut self, by: PortId) {
        match self.below(10) {
            // The neighbour is responsible for its own pauses.
            0..=2 if by == ADVERSARY && self.mood() == Mood::Random => self.mac_control(by),
            3 => self.probe(by),
            4 => self.clcm(by),
            _ => self.data(by),
        }
    }

    /// Sends frames that may leave, and declares each stall at a host a storm, as the control plane does.
    fn step(&mut self) {
        self.now = self.now + STEP;
        self.switch.handle_timeout(self.now);
        while let Some(event) = self.switch.poll_event() {
            if let EventKind::PauseStalled {
                egress, priority, ..
            } = event.kind
            {
                assert_eq!(egress, ADVERSARY, "nobody else pauses");
                let call = Command::CallStorm { egress, priority };
                let _ = self.switch.apply(self.now, call);
            }
            let name = match event.kind {
                EventKind::StormDetected { .. } => "storm",
                EventKind::AddressMoves { .. } => "moves",
                EventKind::LearningTableFull { .. } => "limit",
                EventKind::LoopBehind { port, .. } => {
                    assert!(!HOSTS.contains(&port));
                    "behind"
                }
                EventKind::ForwardingLoop { port, .. } => {
                    assert_eq!(port, ADVERSARY, "a way that is none of its own");
                    "loop"
                }
                _ => "other",
            };
            *self.events.entry(name).or_default() += 1;
        }
        for port in ALL {
            while let Some(sent) = self.switch.transmit(self.now, port) {
                match sent {
                    Transmission::Data { handle, .. } => self.leave(port, handle),
                    Transmission::Control(ControlFrame::Probe(probe, _)) => {
                        // The adversary receives its own frames, and those that the neighbour floods.
                        if port == ADVERSARY || port == UPLINK {
                            self.heard.push(probe);
                        }
                    }
                    Transmission::Control(_) => {}
                }
            }
        }
        while let Some(discarded) = self.switch.poll_discarded() {
            let inside = self.inside.remove(&discarded.handle).expect("inside");
            if let Some((from, to)) = inside.honest {
                assert_eq!(to, ADVERSARY, "{from} to {to}: {:?}", discarded.reason);
            }
            self.free.push(discarded.handle);
        }
        for port in HOSTS.into_iter().chain([UPLINK]) {
            let since = &mut self.paused_since[port.index()];
            match self.switch.gauges(self.now, port, LOSSLESS).pausing {
                true => {
                    let since = *since.get_or_insert(self.now);
                    self.paused_max = self.paused_max.max(self.now.saturating_since(since));
                }
                false => *since = None,
            }
        }
    }

    fn leave(&mut self, by: PortId, handle: FrameHandle) {
        let inside = self.inside[&handle];
        if let Some(priority) = inside.greedy {
            self.greed[priority.index()] -= 1;
        }
        let [one, two] = HOSTS;
        let could = self.sent.get(&(one, two)).copied() > Some(self.received_on((one, two)));
        if by == two && could && self.greed[0] > 0 && self.is_greedy() {
            let is_honest = inside.honest == Some((one, two));
            self.contended[0] += u64::from(is_honest);
            self.contended[1] += 1;
        }
        match inside.honest {
            Some((from, to)) if by == to => *self.received.entry((from, to)).or_default() += 1,
            Some((from, to)) => assert_eq!(to, ADVERSARY, "{from} to {to} left by {by}"),
            None => {}
        }
        if let Some(handle) = self.switch.complete(handle) {
            self.inside.remove(&handle);
            self.free.push(handle);
        }
    }

    fn round(&mut self) {
        let end = self.now + ROUND;
        let [one, two] = HOSTS;
        for (from, to) in [
            (one, two),
            (two, one),
            (one, UPLINK),
            (UPLINK, one),
            (UPLINK, two),
            (one, ADVERSARY),
        ] {
            self.send(from, to);
        }
        self.rounds += 1;
        let mut step = 0;
        while self.now < end {
            self.pause(step);
            step += 1;
            for _ in 0..self.below(4) {
                self.attack(ADVERSARY);
            }
            if self.happens(10) {
                self.attack(UPLINK);
            }
            if self.is_greedy() {
                self.compete();
            }
            self.step();
        }
    }

    fn check(&mut self) {
        // Until nothing is in flight any more.
        for _ in 0..20_000 {
            self.step();
        }
        for (way, sent) in &self.sent {
            if way.1 != ADVERSARY {
                // A paused station sends less: at most half of the time.
                assert!(*sent > self.rounds / 2, "{way:?}: {sent}");
                assert_eq!(self.received.get(way), Some(sent), "{way:?}");
            }
        }
        assert!(self.paused_max <= PAUSED_MAX, "{:?}", self.paused_max);
        // A half each, but for the few frames of others.
        let [ours, all] = self.contended;
        assert!(all > self.rounds, "{all} frames");
        assert!(ours * 100 > all * 45, "{ours} of {all} frames");
        let blocked = self.switch.blocked_ports();
        assert!(ALL[1..].iter().all(|port| !blocked.contains(*port)));
        for port in [ADVERSARY, UPLINK] {
            let counters = self.switch.counters(port);
            let honest: u64 = self
                .sent
                .iter()
                .filter(|((from, _), _)| *from == port)
                .map(|(_, it)| it)
                .sum();
            let dropped = self.attempts[port.index()] - self.taken[port.index()];
            // An admitted frame may be dropped later: for the adversary's own port, in a storm.
            assert!(
                counters.drops_total() >= dropped,
                "{port}: {honest} honest ones"
            );
        }
        let drops = self.switch.counters(ADVERSARY).drops;
        for reason in [
            DropReason::ForeignSource,
            DropReason::AddressLimit,
            DropReason::Priority,
            DropReason::NestedTag,
            DropReason::Vlan,
            DropReason::LoopProbe,
            DropReason::FloodRate,
            DropReason::ControlRate,
            DropReason::ClcmFromEdge,
            DropReason::BadMacControl,
            DropReason::BadSource,
            DropReason::BadLength,
        ] {
            assert!(drops[reason.index()] > 0, "{reason:?}");
        }
        assert!(self.switch.learnt_at(ADVERSARY) <= ADDRESSES);
        for name in ["storm", "moves", "limit"] {
            assert!(self.events.contains_key(name), "{name}: {:?}", self.events);
        }
    }
}

fn trial(rounds: u32, seed: u64) {
    let mut trial = Trial::new(seed);
    // All stations announce themselves before the adversary has heard any of them.
    for port in HOSTS.into_iter().chain([UPLINK]) {
        let frame = trial.frame(honest(port), MacAddress::BROADCAST, Priority::ALL[0]);
        trial.receive(port, frame, None, Inside::OTHER).unwrap();
        trial.step();
    }
    (0..rounds).for_each(|_| trial.round());
    trial.check();
}

#[test]
fn honest_hosts_lose_nothing_to_an_adversary_in_ten_thousand_rounds() {
    for seed in 0..3 {
        trial(10_000, seed);
    }
}
