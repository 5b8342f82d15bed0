//! Frames without a route, in networks with loops, compared with a model that knows only which ports are on the tree:
//! the copies that every host gets for any set of ports, and that with a tree every host gets one copy and none loops.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use proptest::prelude::*;

use crate::support::{Random, RATE};
use weir_core::config::{FloodConfig, RouteConfig};
use weir_core::{
    Bytes, ClassConfig, ClassMode, DropReason, Duration, Frame, FrameHandle, Instant, MacAddress,
    PfcThresholds, PortConfig, PortId, PortRole, PortSet, Priority, Switch, SwitchConfig,
    Transmission,
};

const P0: Priority = Priority::ALL[0];
const P3: Priority = Priority::ALL[3];
pub(crate) const LENGTH: Bytes = Bytes::new(100);
/// A frame that has crossed this many links is in a loop.
const HOPS_MAX: usize = 12;

pub(crate) fn host(switch: usize) -> MacAddress {
    MacAddress([2, 0, 0, 0, 1, switch as u8])
}

/// Switches with a host each, and links between them, possibly several between two.
#[derive(Clone, Debug)]
pub(crate) struct Shape {
    pub(crate) switches: usize,
    pub(crate) links: Vec<[usize; 2]>,
}

/// Other end of a port: a switch's port, or the switch's host.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Peer {
    Port(usize, usize),
    Host,
}

impl Shape {
    pub(crate) fn ports(&self) -> Vec<Vec<Peer>> {
        let mut ports = vec![Vec::new(); self.switches];
        for [a, b] in &self.links {
            let (at_a, at_b) = (ports[*a].len(), ports[*b].len());
            ports[*a].push(Peer::Port(*b, at_b));
            ports[*b].push(Peer::Port(*a, at_a));
        }
        for of_switch in &mut ports {
            of_switch.push(Peer::Host);
        }
        ports
    }

    /// Returns the ports of the links that `takes` selects at either end, by their number in the list, and all hosts'
    /// ports.
    fn tree(&self, takes: impl Fn(usize, usize) -> bool) -> Vec<PortSet> {
        let mut counts = vec![0; self.switches];
        let mut sets = vec![PortSet::EMPTY; self.switches];
        for (number, link) in self.links.iter().enumerate() {
            for (end, switch) in link.iter().enumerate() {
                if takes(number, end) {
                    sets[*switch].insert(PortId::new(counts[*switch] as u8));
                }
                counts[*switch] += 1;
            }
        }
        for (set, count) in sets.iter_mut().zip(counts) {
            set.insert(PortId::new(count as u8));
        }
        sets
    }

    /// Returns the links of a spanning tree, found in the order of the list.
    pub(crate) fn spanning(&self) -> BTreeSet<usize> {
        let mut group: Vec<usize> = (0..self.switches).collect();
        let mut chosen = BTreeSet::new();
        for (number, [a, b]) in self.links.iter().enumerate() {
            let (of_a, of_b) = (group[*a], group[*b]);
            if of_a != of_b {
                chosen.insert(number);
                for member in group.iter_mut().filter(|member| **member == of_b) {
                    *member = of_a;
                }
            }
        }
        chosen
    }
}

/// Copies by (host's switch, links crossed), and the number of copies that looped.
type Received = (BTreeMap<(usize, usize), usize>, usize);

/// Returns the copies that each host gets of a frame from the host of `origin`, from the sets of ports alone.
fn model(shape: &Shape, sets: &[PortSet], origin: usize) -> Received {
    let ports = shape.ports();
    let mut received = BTreeMap::new();
    let mut round = 0;
    let mut under_way = VecDeque::from([(origin, ports[origin].len() - 1, 0)]);
    while let Some((at, by, hops)) = under_way.pop_front() {
        if hops > HOPS_MAX {
            round += 1;
            continue;
        }
        let on = |port: usize| sets[at].contains(PortId::new(port as u8));
        if !on(by) {
            continue;
        }
        for (port, peer) in ports[at].iter().enumerate() {
            if port == by || !on(port) {
                continue;
            }
            match peer {
                Peer::Host => *received.entry((at, hops)).or_default() += 1,
                Peer::Port(next, their) => under_way.push_back((*next, *their, hops + 1)),
            }
        }
    }
    (received, round)
}

pub(crate) fn config(ports: &[Peer], flood: FloodConfig, routes: Vec<RouteConfig>) -> SwitchConfig {
    let mut classes = [ClassConfig::new(ClassMode::Lossy {
        buffer: Bytes::new(64 << 10),
    }); 8];
    classes[P3.index()] = ClassConfig::new(ClassMode::Pfc(
        PfcThresholds::new(
            Bytes::new(16 << 10),
            Bytes::new(8 << 10),
            Bytes::new(16 << 10),
        )
        .unwrap(),
    ));
    let ports = ports.iter().zip(0..).map(|(peer, number)| {
        let role = match peer {
            Peer::Host => PortRole::Edge,
            Peer::Port(..) => PortRole::Fabric,
        };
        PortConfig::new(role, RATE, MacAddress([2, 1, 0, 0, 0, number]))
    });
    SwitchConfig {
        flood,
        ..SwitchConfig::new(ports.collect(), classes, routes)
    }
}

/// The same network with switch cores, one frame at a time.
struct Network {
    shape: Vec<Vec<Peer>>,
    switches: Vec<Switch>,
    now: Instant,
    drops: Vec<DropReason>,
}

impl Network {
    fn new(shape: &Shape, sets: &[PortSet], learning_capacity: usize) -> Self {
        let peers = shape.ports();
        let switches = peers.iter().zip(sets).map(|(ports, set)| {
            let flood = FloodConfig {
                tree: Some(*set),
                ..FloodConfig::default()
            };
            let config = SwitchConfig {
                learning_capacity,
                ..config(ports, flood, Vec::new())
            };
            Switch::new(config).expect("a valid switch")
        });
        Self {
            switches: switches.collect(),
            shape: peers,
            now: Instant::from_nanos(1_000_000_000),
            drops: Vec::new(),
        }
    }

    fn send(&mut self, from: usize, to: MacAddress, priority: Priority) -> Received {
        let mut received = BTreeMap::new();
        let mut round = 0;
        let mut under_way = VecDeque::from([(from, self.shape[from].len() - 1, 0)]);
        while let Some((at, by, hops)) = under_way.pop_front() {
            if hops > HOPS_MAX {
                round += 1;
                continue;
            }
            self.now = self.now + Duration::from_millis(1);
            let frame = Frame {
                handle: FrameHandle(0),
                length: LENGTH,
                priority,
                destination: to,
                source: host(from),
                flow_hash: 7,
            };
            let switch = &mut self.switches[at];
            if let Err(reason) = switch.receive(self.now, PortId::new(by as u8), frame) {
                self.drops.push(reason);
                continue;
            }
            for (port, peer) in self.shape[at].iter().enumerate() {
                let port = PortId::new(port as u8);
                while let Some(sent) = switch.transmit(self.now, port) {
                    if let Transmission::Data { handle, .. } = sent {
                        let _ = switch.complete(handle);
                        match peer {
                            Peer::Host => *received.entry((at, hops)).or_default() += 1,
                            Peer::Port(next, their) => {
                                under_way.push_back((*next, *their, hops + 1))
                            }
                        }
                    }
                }
            }
            assert_eq!(switch.held_frames(), 0, "the last copy has completed");
        }
        (received, round)
    }
}

pub(crate) fn shape(seed: u64) -> Shape {
    let mut random = Random(seed | 1);
    let switches = 2 + (random.next() % 7) as usize;
    let mut links: Vec<[usize; 2]> = (1..switches)
        .map(|switch| [(random.next() % switch as u64) as usize, switch])
        .collect();
    for _ in 0..random.next() % 8 {
        let a = (random.next() % switches as u64) as usize;
        let b = (random.next() % switches as u64) as usize;
        if a != b {
            links.push([a, b]);
        }
    }
    // The links that close loops may come first.
    let turn = (random.next() % links.len() as u64) as usize;
    links.rotate_left(turn);
    Shape { switches, links }
}

fn copies(received: &Received) -> BTreeMap<usize, usize> {
    let mut by_host = BTreeMap::new();
    for ((host, _), count) in &received.0 {
        *by_host.entry(*host).or_default() += count;
    }
    by_host
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// With a tree every host gets each frame once, whichever host sends it, and nothing is dropped except on the way
    /// back to the sender.
    #[test]
    fn over_a_tree_every_host_gets_each_frame_once(seed in any::<u64>()) {
        let shape = shape(seed);
        let spanning = shape.spanning();
        let sets = shape.tree(|link, _| spanning.contains(&link));
        for learning in [0, 64] {
            let mut network = Network::new(&shape, &sets, learning);
            for origin in 0..shape.switches {
                let received = network.send(origin, MacAddress::BROADCAST, P0);
                prop_assert_eq!(&received, &model(&shape, &sets, origin));
                let all = (0..shape.switches).filter(|switch| *switch != origin);
                let once: BTreeMap<usize, usize> = all.map(|switch| (switch, 1)).collect();
                prop_assert_eq!((copies(&received), received.1), (once, 0));
            }
            prop_assert!(network.drops.is_empty(), "{:?}", network.drops);
        }
    }

    /// Ports that do not form a tree, at both ends of a link or at one: the switches follow the sets. A link that is on
    /// the tree at one end only carries nothing, and a frame loops only where links selected at both ends form a loop.
    #[test]
    fn any_set_of_flooding_ports_is_kept_to(seed in any::<u64>(), chosen in any::<u64>()) {
        let shape = shape(seed);
        // Few enough for the copies of a loop to be counted.
        let takes = |link: usize, end: usize| chosen >> ((link * 2 + end) % 64) & 1 == 1;
        let sets = shape.tree(takes);
        let both = |link: &usize| takes(*link, 0) && takes(*link, 1);
        let used = Shape {
            switches: shape.switches,
            links: (0..shape.links.len()).filter(both).map(|link| shape.links[link]).collect(),
        };
        let is_loop_free = used.spanning().len() == used.links.len();
        prop_assume!(is_loop_free || used.links.len() <= used.switches + 1);
        let mut network = Network::new(&shape, &sets, 0);
        for origin in 0..shape.switches {
            let received = network.send(origin, MacAddress::BROADCAST, P0);
            let (expected, round) = model(&shape, &sets, origin);
            prop_assert_eq!(&received.0, &expected);
            if is_loop_free {
                prop_assert_eq!((received.1, round), (0, 0));
                prop_assert!(copies(&received).values().all(|count| *count == 1));
            }
        }
        let only = |reason: &DropReason| matches!(reason, DropReason::OffTree | DropReason::NoRoute);
        prop_assert!(network.drops.iter().all(only), "{:?}", network.drops);
    }

    /// With learning, a frame to an unknown address is flooded on the tree, and the answer returns directly.
    #[test]
    fn addresses_are_learnt_on_the_tree_only(seed in any::<u64>()) {
        let shape = shape(seed);
        let spanning = shape.spanning();
        let sets = shape.tree(|link, _| spanning.contains(&link));
        let mut network = Network::new(&shape, &sets, 64);
        let last = shape.switches - 1;
        let asked = network.send(0, host(last), P3);
        prop_assert_eq!(copies(&asked).len(), last, "everybody is asked");
        for (from, to) in [(last, 0), (0, last)] {
            let answered = network.send(from, host(to), P3);
            prop_assert_eq!(copies(&answered), BTreeMap::from([(to, 1)]));
        }
    }
}

/// A switch with two links and a host; the second link is not on the tree.
fn node(flood: FloodConfig, learning_capacity: usize) -> Switch {
    let ports = [Peer::Port(1, 0), Peer::Port(2, 0), Peer::Host];
    let routes = vec![RouteConfig::new(host(1), vec![PortId::new(2)])];
    Switch::new(SwitchConfig {
        learning_capacity,
        ..config(&ports, flood, routes)
    })
    .expect("a valid switch")
}

fn on_tree() -> FloodConfig {
    FloodConfig {
        tree: Some([PortId::new(0), PortId::new(2)].into_iter().collect()),
        ..FloodConfig::default()
    }
}

fn frame(number: u32, priority: Priority, source: MacAddress, destination: MacAddress) -> Frame {
    Frame {
        handle: FrameHandle(number),
        length: LENGTH,
        priority,
        destination,
        source,
        flow_hash: 0,
    }
}

#[test]
fn frames_not_flooded_are_dropped_with_their_reason() {
    let now = Instant::from_nanos(1_000_000_000);
    let (link, off, edge) = (PortId::new(0), PortId::new(1), PortId::new(2));
    let group = MacAddress([1, 0, 0x5e, 0, 0, 5]);
    for learning in [0, 16] {
        let mut switch = node(on_tree(), learning);
        let mut take = |by, priority, from, to, number| {
            let frame = frame(number, priority, from, to);
            switch.receive(now, by, frame).map(|_| ())
        };
        assert_eq!(take(edge, P0, host(1), group, 0), Ok(()));
        assert_eq!(
            take(off, P0, host(2), group, 1),
            Err(DropReason::OffTree),
            "a group frame from a link that is not on the tree"
        );
        assert_eq!(
            take(link, P3, host(2), group, 1),
            Err(DropReason::LosslessGroup)
        );
        assert_eq!(
            take(off, P3, host(2), host(1), 1),
            Ok(()),
            "a static entry is a way of its own, whatever the port"
        );
        let unknown = take(link, P3, host(3), host(4), 2);
        let unknown_off = take(off, P3, host(3), host(5), 3);
        // A static entry over the other link does not locate host 2; a frame over the tree does.
        let learnt = take(edge, P0, host(1), host(3), 4);
        let learnt_off = take(off, P0, host(6), host(3), 5);
        let expected = match learning {
            0 => [Err(DropReason::NoRoute); 4],
            _ => [
                Ok(()),
                Err(DropReason::OffTree),
                Ok(()),
                Err(DropReason::OffTree),
            ],
        };
        assert_eq!([unknown, unknown_off, learnt, learnt_off], expected);
        let waits = |port| switch.gauges(now, port, P0).egress_frames;
        assert_eq!(waits(off), 0, "nothing is flooded to it");
    }
}

#[test]
fn a_storm_is_cut_to_the_rate_and_others_are_not() {
    let rates = FloodConfig {
        edge_rate: Some(1000),
        ..on_tree()
    };
    let mut switch = node(rates, 0);
    let (link, edge) = (PortId::new(0), PortId::new(2));
    let mut now = Instant::from_nanos(1_000_000_000);
    let (mut stormed, mut others) = (0, 0);
    let send = |switch: &mut Switch, now, by, to| {
        let taken = switch.receive(now, by, frame(0, P0, host(1), to)).is_ok();
        for port in [0, 1, 2].map(PortId::new) {
            while let Some(sent) = switch.transmit(now, port) {
                if let Transmission::Data { handle, .. } = sent {
                    let _ = switch.complete(handle);
                }
            }
        }
        u64::from(taken)
    };
    // Two seconds of 100,000 frames per second from the host, beside 100 per second by the link.
    for tick in 0..200_000u32 {
        now = now + Duration::from_micros(10);
        stormed += send(&mut switch, now, edge, MacAddress::BROADCAST);
        if tick % 1000 == 0 {
            others += send(&mut switch, now, link, MacAddress::BROADCAST);
        }
    }
    // The rate, and one bucket of 50 ms.
    assert!((2000..=2051).contains(&stormed), "{stormed}");
    assert_eq!(others, 200);
    let drops = |port| switch.counters(port).drops[DropReason::FloodRate.index()];
    assert_eq!((drops(edge), drops(link)), (200_000 - stormed, 0));
}

#[test]
fn a_tree_with_unknown_ports_is_refused() {
    let flood = FloodConfig {
        tree: Some([PortId::new(9)].into_iter().collect()),
        ..FloodConfig::default()
    };
    let config = config(&[Peer::Host], flood, Vec::new());
    let error = Switch::new(config).expect_err("port 9 of 1");
    assert_eq!(
        error.to_string(),
        "the flooding tree names port 9, but there are 1 ports"
    );
}
