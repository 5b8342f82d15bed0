//! Loops in some VLANs of trunks: each is broken in its VLAN only, whatever else the ports carry.

use std::collections::{BTreeMap, VecDeque};

use proptest::prelude::*;

use crate::networks::flooding::{config, host, shape, Peer, Shape, LENGTH};
use weir_core::config::{FloodConfig, LoopConfig, MoveConfig, VlanPort};
use weir_core::random::SplitMix64;
use weir_core::wire::loop_probe::{LoopProbe, ProbeForm, LOOP_PROBE_ADDRESS};
use weir_core::wire::ControlFrame;
use weir_core::{
    DropReason, Duration, Frame, FrameHandle, Instant, MacAddress, PortId, Priority, Switch,
    SwitchConfig, Transmission, VlanId, VlanSet, VlanTag,
};

const HOPS_MAX: usize = 7;
pub(crate) const INTERVAL: Duration = Duration::from_secs(1);
const VLANS: [u16; 3] = [0, 20, 30];

pub(crate) fn vlan(number: u16) -> VlanId {
    VlanId::new(number).unwrap()
}

pub(crate) fn set(numbers: impl IntoIterator<Item = u16>) -> VlanSet {
    numbers.into_iter().map(vlan).collect()
}

pub(crate) fn port(number: usize) -> PortId {
    PortId::new(number as u8)
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct OnLine {
    pub(crate) source: MacAddress,
    pub(crate) destination: MacAddress,
    pub(crate) tag: Option<VlanTag>,
    /// The probe, if the frame is one.
    pub(crate) probe: Option<LoopProbe>,
}

pub(crate) fn probe_on_line(probe: LoopProbe, form: ProbeForm) -> OnLine {
    OnLine {
        source: probe.sender.source(),
        destination: match form.is_broadcast {
            true => MacAddress::BROADCAST,
            false => LOOP_PROBE_ADDRESS,
        },
        tag: form.tag,
        probe: Some(probe),
    }
}

pub(crate) fn receive(
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
    let outcome = switch.receive_tagged(now, by, taken, frame.tag);
    if let (Err(DropReason::LoopProbe), Some(probe)) = (&outcome, frame.probe) {
        let form = ProbeForm {
            tag: frame.tag,
            is_broadcast: frame.destination == MacAddress::BROADCAST,
        };
        let mut bytes = [0; 64];
        let length = probe.emit(form, &mut bytes).unwrap();
        switch.receive_probe(now, by, &bytes[..length]);
    }
    outcome
}

pub(crate) fn loops(moves: Option<MoveConfig>) -> Option<LoopConfig> {
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
    /// Hosts' ports are trunks for all of [`VLANS`]; `carried` lists the VLANs of each link.
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

    /// Returns the frames that a switch sends now: to switches, with the hops so far, and the number of copies to its
    /// host.
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
                        let _ = self.switches[at].complete(handle);
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

    /// Carries frames until none is in flight; returns the copies received by hosts, by their switch.
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
            probe: None,
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
            probe: None,
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

/// Returns the number of links of a VLAN beyond its spanning forest, and which switches reach each other.
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
    fn each_loop_is_broken_in_its_vlan_alone_and_no_switch_is_cut_off(seed in any::<u64>()) {
        let mut random = SplitMix64::new(seed);
        let mut shape = shape(seed);
        shape.switches = shape.switches.min(4);
        shape.links.retain(|[a, b]| a.max(b) < &shape.switches);
        shape.links.truncate(6);
        let carried: Vec<VlanSet> = shape
            .links
            .iter()
            .map(|_| set(VLANS.into_iter().filter(|_| !random.next_u64().is_multiple_of(3))))
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
