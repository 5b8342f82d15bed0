//! Loops where addresses are learned: after some rounds of probes every host gets each flooded frame once, in any
//! network, and a loop that comes and goes is found and forgotten.

use std::collections::{BTreeMap, VecDeque};

use proptest::prelude::*;

use crate::networks::flooding::{config, host, shape, Peer, Shape, LENGTH};
use weir_core::config::{FloodConfig, LoopConfig};
use weir_core::event::EventKind;
use weir_core::wire::loop_probe::{LoopProbe, ProbeForm, LOOP_PROBE_ADDRESS};
use weir_core::wire::ControlFrame;
use weir_core::{
    Command, DropReason, Duration, Frame, FrameHandle, Instant, MacAddress, PortId, PortSet,
    Priority, Switch, SwitchConfig, Transmission,
};

/// A frame that has gone this far is removed: the copies of a loop are too many to follow.
const HOPS_MAX: usize = 7;
const INTERVAL: Duration = Duration::from_secs(1);
const HOLD: Duration = Duration::from_secs(30);

/// A frame in flight: the switch's port, the hops so far, and the contents.
struct UnderWay {
    at: usize,
    by: usize,
    hops: usize,
    source: MacAddress,
    destination: MacAddress,
    probe: Option<LoopProbe>,
}

struct Network {
    peers: Vec<Vec<Peer>>,
    switches: Vec<Switch>,
    now: Instant,
    /// Disconnected links, by (switch, port) at both ends.
    cut: Vec<(usize, usize)>,
    events: Vec<(usize, EventKind)>,
}

impl Network {
    fn new(shape: &Shape) -> Self {
        let peers = shape.ports();
        let switches = (0u64..).zip(&peers).map(|(seed, ports)| {
            let config = SwitchConfig {
                learning_capacity: 64,
                loops: Some(LoopConfig {
                    interval: INTERVAL,
                    hold: HOLD,
                    moves: None,
                }),
                seed: seed + 1,
                ..config(ports, FloodConfig::default(), Vec::new())
            };
            Switch::new(config).expect("a valid switch")
        });
        Self {
            switches: switches.collect(),
            peers,
            now: Instant::from_nanos(1_000_000_000),
            cut: Vec::new(),
            events: Vec::new(),
        }
    }

    fn sent(&mut self, at: usize, frame: Option<&UnderWay>) -> (Vec<UnderWay>, Vec<usize>) {
        let (mut on, mut to_host) = (Vec::new(), Vec::new());
        for (port, peer) in self.peers[at].clone().into_iter().enumerate() {
            let id = PortId::new(port as u8);
            while let Some(sent) = self.switches[at].transmit(self.now, id) {
                let (source, destination, hops, probe) = match (sent, frame) {
                    (Transmission::Data { handle, .. }, Some(frame)) => {
                        let _ = self.switches[at].complete(handle);
                        (frame.source, frame.destination, frame.hops + 1, frame.probe)
                    }
                    (Transmission::Control(ControlFrame::Probe(probe, _)), _) => {
                        (probe.sender.source(), LOOP_PROBE_ADDRESS, 0, Some(probe))
                    }
                    (sent, _) => panic!("{sent:?}"),
                };
                match peer {
                    Peer::Host if destination != LOOP_PROBE_ADDRESS => to_host.push(at),
                    Peer::Host => {}
                    Peer::Port(..) if self.cut.contains(&(at, port)) => {}
                    Peer::Port(next, their) => on.push(UnderWay {
                        at: next,
                        by: their,
                        hops,
                        source,
                        destination,
                        probe,
                    }),
                }
            }
        }
        (on, to_host)
    }

    /// Carries frames until none is in flight; returns the copies received by hosts, by their switch.
    fn carry(&mut self, first: Vec<UnderWay>) -> BTreeMap<usize, usize> {
        let mut received = BTreeMap::new();
        let mut under_way = VecDeque::from(first);
        while let Some(frame) = under_way.pop_front() {
            if frame.hops > HOPS_MAX {
                continue;
            }
            self.now = self.now + Duration::from_micros(1);
            let taken = Frame {
                handle: FrameHandle(0),
                length: LENGTH,
                priority: Priority::ALL[0],
                destination: frame.destination,
                source: frame.source,
                flow_hash: 7,
            };
            let switch = &mut self.switches[frame.at];
            match switch.receive(self.now, PortId::new(frame.by as u8), taken) {
                Ok(_) => {
                    let (on, to_host) = self.sent(frame.at, Some(&frame));
                    under_way.extend(on);
                    for host in to_host {
                        *received.entry(host).or_default() += 1;
                    }
                }
                Err(DropReason::LoopProbe) => {
                    let mut bytes = [0; 60];
                    let probe = frame.probe.expect("a probe");
                    probe.emit(ProbeForm::default(), &mut bytes);
                    switch.receive_probe(self.now, PortId::new(frame.by as u8), &bytes);
                }
                Err(DropReason::OffTree | DropReason::NoRoute) => {}
                Err(reason) => panic!("{reason:?}"),
            }
            self.take_events(frame.at);
        }
        received
    }

    fn take_events(&mut self, at: usize) {
        while let Some(event) = self.switches[at].poll_event() {
            self.events.push((at, event.kind));
        }
    }

    /// Runs one interval: every switch sends its probes at a different time.
    fn round(&mut self) {
        let count = self.switches.len();
        let begin = self.now;
        for at in 0..count {
            let moment = INTERVAL.as_nanos() * (at as u64 + 1) / (count as u64 + 1);
            self.now = self.now.max(begin + Duration::from_nanos(moment));
            self.switches[at].handle_timeout(self.now);
            self.take_events(at);
            let (on, _) = self.sent(at, None);
            self.carry(on);
        }
        self.now = self.now.max(begin + INTERVAL);
    }

    fn broadcast(&mut self, from: usize) -> BTreeMap<usize, usize> {
        let by = self.peers[from].len() - 1;
        self.carry(vec![UnderWay {
            at: from,
            by,
            hops: 0,
            source: host(from),
            destination: MacAddress::BROADCAST,
            probe: None,
        }])
    }

    fn blocked(&self) -> usize {
        let switches = self.switches.iter();
        switches.map(|switch| switch.blocked_ports().count()).sum()
    }
}

/// Small enough for all copies of a storm to be followed.
fn small(seed: u64) -> Shape {
    let mut shape = shape(seed);
    shape.switches = shape.switches.min(4);
    shape.links.retain(|[a, b]| a.max(b) < &shape.switches);
    let spanning = shape.spanning();
    let mut spare = 2;
    let links = std::mem::take(&mut shape.links).into_iter().enumerate();
    shape.links = links
        .filter(|(number, _)| {
            let kept = spanning.contains(number) || spare > 0;
            spare -= usize::from(!spanning.contains(number) && kept);
            kept
        })
        .map(|(_, link)| link)
        .collect();
    shape
}

/// Maximum number of rounds until a loop is broken: two to hear all switches, two for each preceding switch, and as
/// many again for the second loop.
const ROUNDS: usize = 24;

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn every_loop_is_broken_once_and_no_switch_is_cut_off(seed in any::<u64>()) {
        let shape = small(seed);
        let mut network = Network::new(&shape);
        for _ in 0..ROUNDS {
            network.round();
        }
        let loops = shape.links.len() - shape.spanning().len();
        prop_assert_eq!(network.blocked(), loops, "one port for each loop");
        for origin in 0..shape.switches {
            let received = network.broadcast(origin);
            let all = (0..shape.switches).filter(|switch| *switch != origin);
            let once: BTreeMap<usize, usize> = all.map(|switch| (switch, 1)).collect();
            prop_assert_eq!(received, once);
        }
        // It stays broken for as long as the loop exists.
        let blocked = network.blocked();
        for _ in 0..40 {
            network.round();
            prop_assert_eq!(network.blocked(), blocked);
        }
    }
}

fn ring() -> Shape {
    Shape {
        switches: 3,
        links: vec![[0, 1], [1, 2], [2, 0]],
    }
}

#[test]
fn a_loop_that_is_taken_apart_is_forgotten_after_a_while() {
    let mut network = Network::new(&ring());
    for _ in 0..10 {
        network.round();
    }
    let found = |network: &Network| {
        let events = network.events.iter();
        let found = events.filter(|(_, kind)| matches!(kind, EventKind::ForwardingLoop { .. }));
        found.count()
    };
    assert_eq!((network.blocked(), found(&network)), (1, 1));
    // A cable other than the blocked one is pulled: for a while two switches are cut off.
    let (at, port) = (0..3)
        .flat_map(|at| [(at, 0), (at, 1)])
        .find(|(at, port)| {
            let Peer::Port(next, their) = network.peers[*at][*port] else {
                return false;
            };
            let is_blocked = |at: usize, port: usize| {
                let blocked = network.switches[at].blocked_ports();
                blocked.contains(PortId::new(port as u8))
            };
            !is_blocked(*at, *port) && !is_blocked(next, their)
        })
        .unwrap();
    let Peer::Port(next, their) = network.peers[at][port] else {
        panic!("a link");
    };
    network.cut = vec![(at, port), (next, their)];
    for _ in 0..29 {
        network.round();
    }
    assert_eq!(network.blocked(), 1);
    for _ in 0..4 {
        network.round();
    }
    assert_eq!(network.blocked(), 0);
    assert_eq!(network.broadcast(0).len(), 2, "all are there again");
    // The cable is back, and so is the loop.
    network.cut.clear();
    for _ in 0..10 {
        network.round();
    }
    assert_eq!((network.blocked(), found(&network)), (1, 2));
    // A blocked link that goes down is like a pulled cable.
    let at = (0..3)
        .find(|at| !network.switches[*at].blocked_ports().is_empty())
        .unwrap();
    let port = network.switches[at].blocked_ports().iter().next().unwrap();
    let down = Command::SetLink { port, up: false };
    network.switches[at].apply(network.now, down).unwrap();
    assert_eq!(network.blocked(), 0);
}

/// A switch with an uplink and a host, and the frames received there.
struct Lone {
    switch: Switch,
    now: Instant,
}

const UPLINK: PortId = PortId::new(0);
const HOST: PortId = PortId::new(1);

impl Lone {
    fn new() -> Self {
        let shape = Shape {
            switches: 2,
            links: vec![[0, 1]],
        };
        let network = Network::new(&shape);
        let now = network.now;
        let switch = network.switches.into_iter().next().unwrap();
        Self { switch, now }
    }

    fn probe(&mut self, port: PortId) -> LoopProbe {
        match self.switch.transmit(self.now, port) {
            Some(Transmission::Control(ControlFrame::Probe(probe, _))) => probe,
            other => panic!("{other:?}"),
        }
    }

    fn receive(&mut self, by: PortId, probe: LoopProbe) -> bool {
        let frame = Frame {
            handle: FrameHandle(1),
            length: LENGTH,
            priority: Priority::ALL[0],
            destination: LOOP_PROBE_ADDRESS,
            source: probe.sender.source(),
            flow_hash: 1,
        };
        match self.switch.receive(self.now, by, frame) {
            Ok(_) => {
                while let Some(sent) = self.switch.transmit(self.now, PortId::new(1 - by.get())) {
                    if let Transmission::Data { handle, .. } = sent {
                        let _ = self.switch.complete(handle);
                    }
                }
                true
            }
            Err(reason) => {
                assert_eq!(reason, DropReason::LoopProbe);
                let mut bytes = [0; 60];
                probe.emit(ProbeForm::default(), &mut bytes);
                self.switch.receive_probe(self.now, by, &bytes);
                false
            }
        }
    }

    fn round(&mut self) -> [LoopProbe; 2] {
        self.now = self.now + INTERVAL;
        self.switch.handle_timeout(self.now);
        [UPLINK, HOST].map(|port| self.probe(port))
    }

    fn events(&mut self) -> Vec<EventKind> {
        std::iter::from_fn(|| self.switch.poll_event().map(|event| event.kind)).collect()
    }
}

#[test]
fn probes_are_not_learnt_from_and_those_of_others_are_forwarded() {
    let mut lone = Lone::new();
    let [own, _] = lone.round();
    assert_eq!(own.sender.port, UPLINK);
    let mut other = own;
    other.sender.id ^= 1;
    assert!(lone.receive(UPLINK, other));
    assert!(!lone.receive(HOST, own));
    for probe in [other, own] {
        let source = probe.sender.source();
        let back = lone.switch.way_to(lone.now, HOST, source, 0);
        assert_eq!(back, None, "it is not learnt");
    }
}

/// A host behind a neighbour returns each probe of the uplink that it hears, ten times, for three minutes, and later
/// those that it has recorded: the uplink stays up, and each kind is counted there.
#[test]
fn a_host_that_repeats_the_probes_of_an_uplink_never_blocks_it() {
    let mut lone = Lone::new();
    let mut recorded = Vec::new();
    for _ in 0..180 {
        let [heard, _] = lone.round();
        (0..10).for_each(|_| assert!(!lone.receive(UPLINK, heard)));
        recorded.push(heard);
        assert!(lone.switch.blocked_ports().is_empty());
    }
    let behind = EventKind::LoopBehind {
        port: UPLINK,
        vlan: None,
    };
    assert_eq!(lone.events(), [behind], "told once");
    for _ in 0..180 {
        let [heard, of_host] = lone.round();
        let mut forged = heard;
        // Probes that the host behind the neighbour cannot have heard.
        forged.sender.port = HOST;
        assert_ne!(forged.nonce, of_host.nonce);
        for probe in recorded.iter().chain([&forged]) {
            assert!(!lone.receive(UPLINK, *probe));
        }
        assert!(lone.switch.blocked_ports().is_empty());
    }
    assert_eq!(lone.events(), []);
    let counters = lone.switch.counters(UPLINK);
    let counted = [
        counters.probes_looped,
        counters.probes_reflected,
        counters.probes_old,
        counters.probes_forged,
    ];
    // The last recorded one is of the previous round.
    assert_eq!(counted, [0, 1_801, 180 * 180 - 1, 180]);
    assert_eq!(lone.switch.counters(HOST).probes_forged, 0);
}

/// Two hosts, one at the switch and one behind its neighbour, that forward each other's probes create a path between
/// them, and block the host's port.
#[test]
fn hosts_that_forward_probes_get_one_of_their_ports_blocked() {
    let mut lone = Lone::new();
    for _ in 0..4 {
        let [of_uplink, of_host] = lone.round();
        lone.receive(HOST, of_uplink);
        lone.receive(UPLINK, of_host);
    }
    assert_eq!(lone.switch.blocked_ports(), PortSet::from_iter([HOST]));
}
