//! Loops where addresses are learnt: after some rounds of probes every host gets each flooded frame once, in any network, and
//! a loop that comes and goes is found and forgotten.

use std::collections::{BTreeMap, VecDeque};

use proptest::prelude::*;

use crate::networks::flooding::{config, host, shape, Peer, Shape, LENGTH};
use weir_core::config::{FloodConfig, LoopConfig};
use weir_core::event::EventKind;
use weir_core::wire::loop_probe::{LoopProbe, LOOP_PROBE_ADDRESS};
use weir_core::wire::ControlFrame;
use weir_core::{
    Command, DropReason, Duration, Frame, FrameHandle, Instant, MacAddress, PortId, PortSet,
    Priority, Switch, SwitchConfig, Transmission,
};

/// A frame that has gone this far is removed: as many copies as a loop makes cannot be followed.
const HOPS_MAX: usize = 7;
const INTERVAL: Duration = Duration::from_secs(1);
const HOLD: Duration = Duration::from_secs(30);

/// A frame under way: the switch's port, the hops so far, and the contents.
struct UnderWay {
    at: usize,
    by: usize,
    hops: usize,
    source: MacAddress,
    destination: MacAddress,
}

struct Network {
    peers: Vec<Vec<Peer>>,
    switches: Vec<Switch>,
    now: Instant,
    /// Links that carry nothing, by (switch, port) at both ends.
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

    /// Returns the frames that a switch sends now.
    fn sent(&mut self, at: usize, frame: Option<&UnderWay>) -> (Vec<UnderWay>, Vec<usize>) {
        let (mut on, mut to_host) = (Vec::new(), Vec::new());
        for (port, peer) in self.peers[at].clone().into_iter().enumerate() {
            let id = PortId::new(port as u8);
            while let Some(sent) = self.switches[at].transmit(self.now, id) {
                let (source, destination, hops) = match (sent, frame) {
                    (Transmission::Data { handle, .. }, Some(frame)) => {
                        let _ = self.switches[at].complete(self.now, id, handle);
                        (frame.source, frame.destination, frame.hops + 1)
                    }
                    (Transmission::Control(ControlFrame::Probe(probe, _)), _) => {
                        (probe.source(), LOOP_PROBE_ADDRESS, 0)
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
                    }),
                }
            }
        }
        (on, to_host)
    }

    /// Carries frames until none is under way; returns the copies that hosts got, by their switch.
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
                Err(DropReason::LoopProbe | DropReason::OffTree | DropReason::NoRoute) => {}
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

    /// Runs one interval: every switch sends its probes at a time of its own.
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

/// Maximum of rounds until a loop is broken: two to hear all, two for each switch before, and as
/// many again for the second loop.
const ROUNDS: usize = 24;

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn every_loop_is_broken_once_and_nobody_is_cut_off(seed in any::<u64>()) {
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
        // For as long as the loop is there it stays broken.
        let blocked = network.blocked();
        for _ in 0..40 {
            network.round();
            prop_assert_eq!(network.blocked(), blocked);
        }
    }
}

/// Three switches in a ring: the second port of each leads to the next.
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
    // A cable other than the blocked one is pulled: for a while two are cut off.
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
    // A link that goes down where it is blocked is as good as a cable that is pulled.
    let at = (0..3)
        .find(|at| !network.switches[*at].blocked_ports().is_empty())
        .unwrap();
    let port = network.switches[at].blocked_ports().iter().next().unwrap();
    let down = Command::SetLink { port, up: false };
    network.switches[at].apply(network.now, down).unwrap();
    assert_eq!(network.blocked(), 0);
}

#[test]
fn nobody_learns_where_probes_are_from_and_a_forged_one_blocks_its_own_port() {
    let shape = Shape {
        switches: 2,
        links: vec![[0, 1]],
    };
    let mut network = Network::new(&shape);
    network.switches[0].handle_timeout(network.now);
    let link = PortId::new(0);
    let Some(Transmission::Control(ControlFrame::Probe(own, _))) =
        network.switches[0].transmit(network.now, link)
    else {
        panic!("a probe");
    };
    assert_eq!(own.port, link);
    // Those of others go on.
    let other = LoopProbe {
        id: own.id ^ 1,
        port: link,
    };
    for (probe, port) in [(other, 0), (own, 1)] {
        let frame = Frame {
            handle: FrameHandle(1),
            length: LENGTH,
            priority: Priority::ALL[0],
            destination: LOOP_PROBE_ADDRESS,
            source: probe.source(),
            flow_hash: 1,
        };
        let taken = network.switches[0].receive(network.now, PortId::new(port), frame);
        match probe == own {
            true => assert_eq!(taken.map(|_| ()), Err(DropReason::LoopProbe)),
            false => assert!(taken.is_ok()),
        }
        let back = network.switches[0].way_to(network.now, PortId::new(1), probe.source(), 0);
        assert_eq!(back, None, "it is not learnt");
    }
    // A host that sends back what it has got takes its own port out of what is flooded, after rounds in a row.
    for _ in 0..4 {
        network.now = network.now + INTERVAL;
        network.switches[0].handle_timeout(network.now);
        let frame = Frame {
            handle: FrameHandle(2),
            length: LENGTH,
            priority: Priority::ALL[0],
            destination: LOOP_PROBE_ADDRESS,
            source: own.source(),
            flow_hash: 1,
        };
        let host_port = PortId::new(1);
        let taken = network.switches[0].receive(network.now, host_port, frame);
        assert_eq!(taken.map(|_| ()), Err(DropReason::LoopProbe));
    }
    let blocked = network.switches[0].blocked_ports();
    assert_eq!(blocked, PortSet::from_iter([PortId::new(1)]));
}
