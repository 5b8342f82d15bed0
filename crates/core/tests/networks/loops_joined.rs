//! One switch with two ports that are joined outside: number and VLANs of its probes, its blocking, and loops of
//! devices that let no probe through, detected by addresses that move, for any behaviour of stations.

use std::collections::VecDeque;

use crate::networks::flooding::{config, host, Peer};
use crate::networks::loops_in_vlans::{
    loops, port, probe_on_line, receive, set, vlan, OnLine, INTERVAL,
};
use weir_core::config::{FloodConfig, MoveConfig, VlanPort};
use weir_core::event::EventKind;
use weir_core::wire::ControlFrame;
use weir_core::{
    Duration, Instant, MacAddress, PortId, PortRole, Priority, Switch, SwitchConfig, Transmission,
    VlanId, VlanSet, VlanTag,
};

/// One switch with three ports, the first two joined outside by a device that passes the frames selected by its filter.
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
        Self::of(
            SwitchConfig {
                learning_capacity: 64,
                loops: loops(moves),
                vlans,
                ..config(&peers, FloodConfig::default(), Vec::new())
            },
            lets_through,
        )
    }

    /// The first two ports are joined for all frames, and one of them leads to a switch.
    fn with_roles(uplink: usize) -> Self {
        let peers = [Peer::Host; 3];
        let mut config = SwitchConfig {
            learning_capacity: 64,
            loops: loops(None),
            ..config(&peers, FloodConfig::default(), Vec::new())
        };
        config.ports[uplink].role = PortRole::Fabric;
        Self::of(config, |frame| frame.probe.is_some())
    }

    fn of(config: SwitchConfig, lets_through: fn(&OnLine) -> bool) -> Self {
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

    /// Carries frames received on these ports, and the resulting ones, up to the maximum number of hops.
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
                            let _ = self.switch.complete(handle);
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

    fn round(&mut self, frames: &[(usize, OnLine)]) {
        let end = self.now + INTERVAL;
        self.switch.handle_timeout(self.now);
        // A frame without a receiver checks all ports.
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
        probe: None,
    }
}

fn number(frame: &OnLine) -> u16 {
    frame.tag.map_or(0, |tag| tag.vlan().unwrap().get())
}

#[test]
fn a_trunk_for_all_vlans_sends_few_probes_a_second_for_vlans_in_turn() {
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
fn a_loop_in_one_of_all_vlans_is_found_by_its_traffic_and_blocks_that_vlan() {
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
    // It stays blocked for as long as the loop exists, and no longer.
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
    // The other one continues in all VLANs, since nothing returns to it from a blocked one.
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

/// Devices that pass broadcasts and known addresses, and no frame to another group.
const EATS_PROBES: fn(&OnLine) -> bool =
    |frame| frame.destination == MacAddress::BROADCAST || !frame.destination.is_group();

#[test]
fn a_loop_of_devices_that_drop_probes_is_found_by_moving_addresses() {
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
            without.round(&[broadcast; 8]);
            reported.round(&[broadcast; 8]);
            joined.round(&[broadcast; 8]);
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
        // It stays broken although no other probe returns, and a few broadcasts keep it so.
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
fn stations_that_move_or_forge_probes_block_no_port() {
    // A station that moves, even repeatedly.
    let mut joined = Joined::new(Vec::new(), Some(MOVES), |_| false);
    for round in 0..60 {
        let at = |number: usize| (number, of(host(1), MacAddress::BROADCAST, None));
        joined.round(&[at(round % 2), at((round + 1) % 2), at(round % 2)]);
    }
    assert!(joined.events.is_empty(), "{:?}", joined.events);

    // One that uses the addresses of others as often as it can while they send: reported, and they lose nothing.
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

/// A station that reflects all frames, forges probes of other ports and rounds, and uses the addresses of others gets
/// no port blocked, including its own, which others may share. Its frames are counted there and reported.
#[test]
fn a_device_that_returns_probes_blocks_no_port_and_is_reported() {
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
        for heard in &known {
            frames.push((0, *heard));
            for origin in [1u8, 2] {
                let mut forged = *heard;
                forged.source.0[5] = origin;
                let probe = forged.probe.as_mut().unwrap();
                probe.sender.port = PortId::new(origin);
                frames.push((0, forged));
                // As if it were of the present round.
                forged.probe.as_mut().unwrap().round += 1;
                frames.push((0, forged));
            }
        }
        joined.round(&frames);
        known.extend(joined.sent_by(0));
        let kept = known.len().saturating_sub(60);
        known.drain(..kept);
    }
    for port in 0..3 {
        assert!(joined.blocked(port).is_empty(), "{:?}", joined.events);
    }
    let counters = joined.switch.counters(port(0));
    assert!(counters.probes_reflected > 0 && counters.probes_old > 0 && counters.probes_forged > 0);
    assert_eq!(counters.probes_looped, 0);
    for other in [1, 2] {
        let counters = joined.switch.counters(port(other));
        let all = [
            counters.probes_reflected,
            counters.probes_old,
            counters.probes_forged,
        ];
        assert_eq!(all, [0; 3]);
    }
    let behind = |event: &&EventKind| matches!(event, EventKind::LoopBehind { port, .. } if port.index() == 0);
    assert!(
        (1..=3).contains(&joined.events.iter().filter(behind).count()),
        "{:?}",
        joined.events
    );
}

/// A loop between a port to a host and one to a switch blocks the host's port, in whichever direction the probes go.
#[test]
fn an_uplink_stays_open_when_a_host_port_closes_a_loop() {
    for uplink in [0, 1] {
        let mut joined = Joined::with_roles(uplink);
        for _ in 0..40 {
            joined.round(&[]);
            assert!(joined.blocked(uplink).is_empty(), "{:?}", joined.events);
        }
        assert_eq!(joined.blocked(1 - uplink), [None]);
    }
}
