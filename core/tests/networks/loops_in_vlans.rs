//! Loops that are in some VLANs of trunks only: each is broken in its VLAN alone, whatever else the ports carry; and loops of
//! devices that let no probe through, by addresses that move, whatever stations do.

use std::collections::{BTreeMap, VecDeque};

use proptest::prelude::*;

use crate::flooding::{config, host, shape, Peer, Shape, LENGTH};
use weir_core::config::{FloodConfig, LoopConfig, MoveConfig, VlanPort};
use weir_core::event::EventKind;
use weir_core::random::SplitMix64;
use weir_core::wire::loop_probe::{LoopProbe, ProbeForm, LOOP_PROBE_ADDRESS};
use weir_core::wire::ControlFrame;
use weir_core::{
    DropReason, Duration, Frame, FrameHandle, Instant, MacAddress, PortId, Priority, Switch,
    SwitchConfig, Transmission, VlanId, VlanSet, VlanTag,
};

const HOPS_MAX: usize = 7;
const INTERVAL: Duration = Duration::from_secs(1);
const VLANS: [u16; 3] = [0, 20, 30];

fn vlan(number: u16) -> VlanId {
    VlanId::new(number).unwrap()
}

fn set(numbers: impl IntoIterator<Item = u16>) -> VlanSet {
    numbers.into_iter().map(vlan).collect()
}

fn port(number: usize) -> PortId {
    PortId::new(number as u8)
}

/// A frame on a line.
#[derive(Clone, Copy, Debug)]
struct OnLine {
    source: MacAddress,
    destination: MacAddress,
    tag: Option<VlanTag>,
}

fn probe_on_line(probe: LoopProbe, form: ProbeForm) -> OnLine {
    OnLine {
        source: probe.source(),
        destination: match form.is_broadcast {
            true => MacAddress::BROADCAST,
            false => LOOP_PROBE_ADDRESS,
        },
        tag: form.tag,
    }
}

fn receive(
    switch: &mut Switch,
    now: Instant,
    by: PortId,
    frame: OnLine,
) -> Result<weir_core::Tagged, DropReason> {
    let taken = Frame {
        handle: FrameHandle(0),
        length: LENGTH,
        priority: Priority::ALL[0],
        destination: frame.destination,
        source: frame.source,
        flow_hash: 7,
    };
    switch.receive_tagged(now, by, taken, frame.tag)
}

fn loops(moves: Option<MoveConfig>) -> Option<LoopConfig> {
    Some(LoopConfig {
        interval: INTERVAL,
        hold: Duration::from_secs(30),
        moves,
    })
}

struct Network {
    peers: Vec<Vec<Peer>>,
    switches: Vec<Switch>,
    now: Instant,
}

impl Network {
    /// Hosts' ports are trunks for all of [`VLANS`]; `carried` says what a link carries by its number.
    fn new(shape: &Shape, carried: &[VlanSet]) -> Self {
        let peers = shape.ports();
        let mut of_link = vec![Vec::new(); shape.switches];
        for (link, ends) in shape.links.iter().enumerate() {
            ends.iter()
                .for_each(|end| of_link[*end].push(carried[link]));
        }
        let switches = peers.iter().zip(of_link).zip(0u64..);
        let switches = switches.map(|((ports, links), seed)| {
            let vlans = links.into_iter().chain([set(VLANS)]).map(VlanPort::trunk);
            let config = SwitchConfig {
                learning_capacity: 64,
                loops: loops(None),
                seed: seed + 1,
                vlans: vlans.collect(),
                ..config(ports, FloodConfig::default(), Vec::new())
            };
            Switch::new(config).expect("a valid switch")
        });
        Self {
            switches: switches.collect(),
            peers,
            now: Instant::from_nanos(1_000_000_000),
        }
    }

    /// What a switch sends now: to switches, with the hops so far, and how often to its host.
    fn sent(
        &mut self,
        at: usize,
        frame: OnLine,
        hops: usize,
    ) -> (Vec<(usize, usize, usize, OnLine)>, usize) {
        let (mut on, mut to_host) = (Vec::new(), 0);
        for (number, peer) in self.peers[at].clone().into_iter().enumerate() {
            while let Some(sent) = self.switches[at].transmit(self.now, port(number)) {
                let (left, hops) = match sent {
                    Transmission::Data { handle, .. } => {
                        let _ = self.switches[at].complete(self.now, port(number), handle);
                        // All links are trunks: frames keep their form.
                        (frame, hops + 1)
                    }
                    Transmission::Control(ControlFrame::Probe(probe, form)) => {
                        (probe_on_line(probe, form), 0)
                    }
                    sent => panic!("{sent:?}"),
                };
                match peer {
                    Peer::Host => to_host += usize::from(left.destination != LOOP_PROBE_ADDRESS),
                    Peer::Port(next, their) => on.push((next, their, hops, left)),
                }
            }
        }
        (on, to_host)
    }

    /// Carries frames until none is under way; copies that hosts got, by their switch.
    fn carry(&mut self, first: Vec<(usize, usize, usize, OnLine)>) -> BTreeMap<usize, usize> {
        let mut received = BTreeMap::new();
        let mut under_way = VecDeque::from(first);
        while let Some((at, by, hops, frame)) = under_way.pop_front() {
            if hops > HOPS_MAX {
                continue;
            }
            self.now = self.now + Duration::from_micros(20);
            match receive(&mut self.switches[at], self.now, port(by), frame) {
                Ok(_) => {
                    let (on, to_host) = self.sent(at, frame, hops);
                    under_way.extend(on);
                    if to_host > 0 {
                        *received.entry(at).or_default() += to_host;
                    }
                }
                Err(
                    DropReason::LoopProbe
                    | DropReason::OffTree
                    | DropReason::NoRoute
                    | DropReason::Vlan,
                ) => {}
                Err(reason) => panic!("{reason:?}"),
            }
            while self.switches[at].poll_event().is_some() {}
        }
        received
    }

    fn round(&mut self) {
        let count = self.switches.len();
        let begin = self.now;
        let nothing = OnLine {
            source: host(0),
            destination: host(0),
            tag: None,
        };
        for at in 0..count {
            let moment = INTERVAL.as_nanos() * (at as u64 + 1) / (count as u64 + 1);
            self.now = self.now.max(begin + Duration::from_nanos(moment));
            self.switches[at].handle_timeout(self.now);
            let (on, _) = self.sent(at, nothing, 0);
            self.carry(on);
        }
        self.now = self.now.max(begin + INTERVAL);
    }

    fn broadcast(&mut self, from: usize, number: u16) -> BTreeMap<usize, usize> {
        let by = self.peers[from].len() - 1;
        let frame = OnLine {
            source: host(from),
            destination: MacAddress::BROADCAST,
            tag: (number > 0).then(|| VlanTag::new(Priority::ALL[0], vlan(number))),
        };
        self.carry(vec![(from, by, 0, frame)])
    }

    fn blocked(&self, number: u16) -> usize {
        let of = |switch: &Switch| {
            let ports = switch.blocked_ports();
            ports
                .iter()
                .filter(|it| switch.is_blocked(*it, vlan(number)))
                .count()
        };
        self.switches.iter().map(of).sum()
    }
}

/// The links that carry a VLAN: those behind its spanning forest, and who reaches whom.
fn in_vlan(shape: &Shape, carried: &[VlanSet], number: u16) -> (usize, Vec<usize>) {
    let mut group: Vec<usize> = (0..shape.switches).collect();
    let mut spare = 0;
    for ([a, b], _) in shape
        .links
        .iter()
        .zip(carried)
        .filter(|(_, it)| it.contains(vlan(number)))
    {
        let (a, b) = (group[*a], group[*b]);
        spare += usize::from(a == b);
        group
            .iter_mut()
            .filter(|it| **it == b)
            .for_each(|it| *it = a);
    }
    (spare, group)
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn each_loop_is_broken_in_its_vlan_alone_and_nobody_is_cut_off(seed in any::<u64>()) {
        let mut random = SplitMix64::new(seed);
        let mut shape = shape(seed);
        shape.switches = shape.switches.min(4);
        shape.links.retain(|[a, b]| a.max(b) < &shape.switches);
        shape.links.truncate(6);
        let carried: Vec<VlanSet> = shape
            .links
            .iter()
            .map(|_| set(VLANS.into_iter().filter(|_| random.next_u64() % 3 > 0)))
            .collect();
        let mut network = Network::new(&shape, &carried);
        // For each VLAN: at most three loops and four switches.
        for _ in 0..40 {
            network.round();
        }
        for number in VLANS {
            let (spare, group) = in_vlan(&shape, &carried, number);
            prop_assert_eq!(network.blocked(number), spare, "one port for each loop of VLAN {}", number);
            for origin in 0..shape.switches {
                let received = network.broadcast(origin, number);
                let others = (0..shape.switches).filter(|it| *it != origin && group[*it] == group[origin]);
                let once: BTreeMap<usize, usize> = others.map(|it| (it, 1)).collect();
                prop_assert_eq!(received, once, "VLAN {}", number);
            }
        }
        for _ in 0..40 {
            network.round();
        }
        for number in VLANS {
            prop_assert_eq!(network.blocked(number), in_vlan(&shape, &carried, number).0);
        }
    }
}

/// One switch whose first two ports, of three, are joined outside by something that lets through what it says.
struct Joined {
    switch: Switch,
    now: Instant,
    lets_through: fn(&OnLine) -> bool,
    probes: Vec<(usize, OnLine)>,
    events: Vec<EventKind>,
    dropped: usize,
}

impl Joined {
    fn new(
        vlans: Vec<VlanPort>,
        moves: Option<MoveConfig>,
        lets_through: fn(&OnLine) -> bool,
    ) -> Self {
        let peers = [Peer::Host; 3];
        let config = SwitchConfig {
            learning_capacity: 64,
            loops: loops(moves),
            vlans,
            ..config(&peers, FloodConfig::default(), Vec::new())
        };
        Self {
            switch: Switch::new(config).unwrap(),
            now: Instant::from_nanos(1_000_000_000),
            lets_through,
            probes: Vec::new(),
            events: Vec::new(),
            dropped: 0,
        }
    }

    fn trunks(moves: Option<MoveConfig>, lets_through: fn(&OnLine) -> bool) -> Self {
        Self::new(
            vec![VlanPort::trunk(VlanSet::all()); 3],
            moves,
            lets_through,
        )
    }

    /// Frames that come in by these ports, and what becomes of them, as often as a frame goes round at most.
    fn carry(&mut self, frames: Vec<(usize, OnLine)>) {
        let mut under_way: VecDeque<_> = frames
            .into_iter()
            .map(|(by, frame)| (by, frame, 0))
            .collect();
        while let Some((by, frame, rounds)) = under_way.pop_front() {
            self.now = self.now + Duration::from_micros(1);
            if receive(&mut self.switch, self.now, port(by), frame).is_err() {
                self.dropped += 1;
            }
            for number in 0..3 {
                while let Some(sent) = self.switch.transmit(self.now, port(number)) {
                    let left = match sent {
                        Transmission::Data { handle, .. } => {
                            let _ = self.switch.complete(self.now, port(number), handle);
                            frame
                        }
                        Transmission::Control(ControlFrame::Probe(probe, form)) => {
                            let left = probe_on_line(probe, form);
                            self.probes.push((number, left));
                            left
                        }
                        sent => panic!("{sent:?}"),
                    };
                    if number < 2 && rounds < 20 && (self.lets_through)(&left) {
                        under_way.push_back((1 - number, left, rounds + 1));
                    }
                }
            }
            while let Some(event) = self.switch.poll_event() {
                self.events.push(event.kind);
            }
        }
    }

    /// A round of probes, with these frames in the middle of it.
    fn round(&mut self, frames: &[(usize, OnLine)]) {
        let end = self.now + INTERVAL;
        self.switch.handle_timeout(self.now);
        // A frame that nobody takes asks all ports.
        self.carry(vec![(2, of(host(9), host(9), None))]);
        self.carry(frames.to_vec());
        assert!(self.now < end);
        self.now = end;
    }

    fn blocked(&self, port: usize) -> Vec<Option<u16>> {
        let mut blocked: Vec<_> = self
            .switch
            .blocked_in(PortId::new(port as u8))
            .map(|vlan| vlan.map(VlanId::get))
            .collect();
        blocked.sort_unstable();
        blocked
    }

    fn sent_by(&mut self, number: usize) -> Vec<OnLine> {
        let sent = std::mem::take(&mut self.probes).into_iter();
        sent.filter(|(by, _)| *by == number)
            .map(|(_, probe)| probe)
            .collect()
    }
}

fn of(source: MacAddress, destination: MacAddress, number: Option<u16>) -> OnLine {
    OnLine {
        source,
        destination,
        tag: number.map(|number| VlanTag::new(Priority::ALL[0], vlan(number))),
    }
}

fn number(frame: &OnLine) -> u16 {
    frame.tag.map_or(0, |tag| tag.vlan().unwrap().get())
}

#[test]
fn a_trunk_for_all_vlans_sends_few_probes_a_second_and_all_vlans_have_their_turn() {
    let mut joined = Joined::trunks(None, |_| false);
    let mut seen = [0u32; 4095];
    let rounds = 4095usize.div_ceil(24) + 1;
    for _ in 0..rounds {
        joined.round(&[]);
        let sent = joined.sent_by(0);
        assert!(sent.len() <= 24, "{}", sent.len());
        sent.iter()
            .for_each(|probe| seen[usize::from(number(probe))] += 1);
    }
    assert!(seen.iter().all(|count| *count > 0));
}

#[test]
fn a_loop_of_one_vlan_of_all_is_found_at_once_where_frames_go_round_and_blocks_that_vlan() {
    let only: fn(&OnLine) -> bool = |frame| number(frame) == 3000;
    let mut joined = Joined::trunks(None, only);
    for _ in 0..6 {
        joined.round(&[(2, of(host(1), MacAddress::BROADCAST, Some(3000)))]);
    }
    let blocked = [joined.blocked(0), joined.blocked(1)].concat();
    assert_eq!(blocked, [Some(3000)], "{:?}", joined.events);
    let at = usize::from(joined.blocked(0).is_empty());
    assert!(matches!(
        joined.events[..],
        [EventKind::ForwardingLoop { port, vlan: Some(vlan), .. }]
            if port.index() == at && vlan.get() == 3000
    ));
    // It stays so for as long as the loop is there, whatever else has its turn, and is over after that.
    for _ in 0..200 {
        joined.round(&[]);
    }
    assert_eq!(joined.events.len(), 1, "{:?}", joined.events);
    joined.lets_through = |_| false;
    for _ in 0..35 {
        joined.round(&[]);
    }
    assert!(joined.switch.blocked_ports().is_empty());
    assert!(matches!(
        joined.events[1..],
        [EventKind::ForwardingLoopEnded { vlan: Some(vlan), .. }] if vlan.get() == 3000
    ));
}

#[test]
fn a_second_cable_for_all_vlans_is_blocked_as_a_whole() {
    let mut joined = Joined::trunks(None, |_| true);
    let mut rounds = 0;
    while joined.blocked(0) != [None] && joined.blocked(1) != [None] {
        joined.round(&[]);
        rounds += 1;
        assert!(
            rounds < 60,
            "{:?} {:?}",
            joined.blocked(0),
            joined.blocked(1)
        );
    }
    // The other one goes on in all VLANs, since nothing comes back to it from one that is blocked.
    for _ in 0..100 {
        joined.round(&[]);
    }
    let all = [joined.blocked(0), joined.blocked(1)];
    let whole = usize::from(all[0] != [None]);
    assert_eq!(all[whole], [None]);
    assert!(all[1 - whole].is_empty(), "{all:?}");
    for number in [0, 1, 20, 4094] {
        assert!(joined.switch.is_blocked(port(whole), vlan(number)));
    }
}

const MOVES: MoveConfig = MoveConfig {
    count: 16,
    within: Duration::from_secs(1),
    proves: true,
};

/// Devices that let broadcasts and known addresses through, and no frame to another group.
const EATS_PROBES: fn(&OnLine) -> bool =
    |frame| frame.destination == MacAddress::BROADCAST || !frame.destination.is_group();

#[test]
fn a_loop_of_devices_that_eat_probes_is_found_by_addresses_that_move() {
    for tag in [None, Some(20)] {
        let vlans = match tag {
            None => Vec::new(),
            Some(_) => vec![VlanPort::trunk(set([20])); 3],
        };
        let broadcast = (2, of(host(1), MacAddress::BROADCAST, tag));
        let mut without = Joined::new(vlans.clone(), None, EATS_PROBES);
        let mut reports = MOVES;
        reports.proves = false;
        let mut reported = Joined::new(vlans.clone(), Some(reports), EATS_PROBES);
        let mut joined = Joined::new(vlans, Some(MOVES), EATS_PROBES);
        for _ in 0..8 {
            without.round(&[broadcast]);
            reported.round(&[broadcast]);
            joined.round(&[broadcast]);
        }
        assert!(without.switch.blocked_ports().is_empty() && without.events.is_empty());
        assert!(reported.switch.blocked_ports().is_empty());
        assert!(
            matches!(reported.events[..], [EventKind::AddressMoves { .. }]),
            "{:?}",
            reported.events
        );
        assert_eq!(
            joined.switch.blocked_ports().count(),
            1,
            "{:?}",
            joined.events
        );
        let moved = |event: &&EventKind| matches!(event, EventKind::AddressMoves { address, vlan, .. } if *address == host(1) && vlan.map(VlanId::get) == tag);
        let found = |event: &&EventKind| matches!(event, EventKind::ForwardingLoop { vlan, .. } if vlan.map(VlanId::get) == tag);
        assert_eq!(joined.events.iter().filter(moved).count(), 1);
        assert_eq!(joined.events.iter().filter(found).count(), 1);
        let moves: u64 = (0..3)
            .map(|at| joined.switch.counters(port(at)).address_moves)
            .sum();
        assert!(moves >= 16, "{moves}");
        // It stays broken although no other probe comes round, and few broadcasts keep it so.
        joined.probes.clear();
        for _ in 0..100 {
            joined.round(&[broadcast]);
        }
        assert_eq!(joined.switch.blocked_ports().count(), 1);
        let loud = joined
            .probes
            .iter()
            .filter(|(_, probe)| probe.destination == MacAddress::BROADCAST);
        assert!((1..=110).contains(&loud.count()));
        joined.lets_through = |_| false;
        for _ in 0..35 {
            joined.round(&[]);
        }
        assert!(
            joined.switch.blocked_ports().is_empty(),
            "{:?}",
            joined.events
        );
    }
}

#[test]
fn stations_that_move_or_lie_block_nobody() {
    // A station that moves, also one that cannot decide.
    let mut joined = Joined::new(Vec::new(), Some(MOVES), |_| false);
    for round in 0..60 {
        let at = |number: usize| (number, of(host(1), MacAddress::BROADCAST, None));
        joined.round(&[at(round % 2), at((round + 1) % 2), at(round % 2)]);
    }
    assert!(joined.events.is_empty(), "{:?}", joined.events);

    // One that uses the addresses of others, as often as it can, while they send: reported, and they lose nothing.
    for seconds in [20, 200] {
        let mut joined = Joined::new(Vec::new(), Some(MOVES), |_| false);
        for _ in 0..seconds {
            let victims = (0..8).map(|victim| (0, of(host(victim), MacAddress::BROADCAST, None)));
            let lies = (0..8).map(|victim| (1, of(host(victim), MacAddress::BROADCAST, None)));
            let frames: Vec<_> = victims.zip(lies).flat_map(|(a, b)| [a, b]).collect();
            joined.round(&frames.repeat(40));
        }
        assert!(joined.switch.blocked_ports().is_empty());
        let alarms = joined
            .events
            .iter()
            .filter(|it| matches!(it, EventKind::AddressMoves { .. }));
        assert_eq!(alarms.count(), 1, "once for as long as it goes on");
        let loud = joined.sent_by(0);
        let loud = loud
            .iter()
            .filter(|it| it.destination == MacAddress::BROADCAST)
            .count();
        assert!(
            loud <= 5 + 5 * seconds / 60,
            "{loud} broadcasts in {seconds} s"
        );
    }
}

/// A station that sends back whatever it gets, and says of probes that they come from another port, gets its own port blocked
/// and no other one, for moves or without.
#[test]
fn whoever_sends_probes_back_blocks_his_own_port() {
    let mut joined = Joined::new(
        vec![VlanPort::trunk(set([0, 20, 30])); 3],
        Some(MOVES),
        |_| false,
    );
    let mut known: Vec<OnLine> = Vec::new();
    for _ in 0..60 {
        let lies = (0..8).map(|victim| (0, of(host(victim), MacAddress::BROADCAST, Some(20))));
        let truth = (0..8).map(|victim| (2, of(host(victim), MacAddress::BROADCAST, Some(20))));
        let mut frames: Vec<_> = lies
            .zip(truth)
            .flat_map(|(a, b)| [a, b])
            .collect::<Vec<_>>()
            .repeat(8);
        for probe in &known {
            for origin in [0u8, 1, 2] {
                let mut forged = *probe;
                forged.source.0[5] = origin;
                frames.push((0, forged));
            }
        }
        joined.round(&frames);
        known.extend(joined.sent_by(0));
        known.truncate(200);
    }
    assert_eq!(joined.blocked(0), [Some(0), Some(20), Some(30)]);
    assert!(joined.blocked(1).is_empty() && joined.blocked(2).is_empty());
    assert!(joined.dropped > 0);
}
