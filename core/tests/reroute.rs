//! Groups of ports, the recent-flow monitor, and moving flows off a blocked egress.

mod support;

use std::collections::BTreeMap;

use proptest::prelude::*;
use support::PRIORITY;
use weir_core::config::{FlowMonitorConfig, LevelRules, RouteConfig};
use weir_core::event::EventKind;
use weir_core::wire::mac_control::MacControl;
use weir_core::{
    BitRate, Budgets, Bytes, ClassMode, Command, CommandError, DropReason, Duration, Frame,
    FrameHandle, Instant, MacAddress, PortConfig, PortId, PortRole, PortSet, Priority, Quanta,
    RerouteBy, RerouteSelection, Switch, SwitchConfig, Transmission,
};

const DETECT: Duration = Duration::from_millis(8);
const PORTS: u8 = 6;
/// Member ports of the group of [`X`].
const MEMBERS: [u8; 3] = [1, 2, 3];
/// A destination with a group, and one with a single port.
const X: MacAddress = MacAddress([2, 0, 0, 0, 0, 1]);
const Y: MacAddress = MacAddress([2, 0, 0, 0, 0, 2]);

fn port(number: u8) -> PortId {
    PortId::new(number)
}

fn config(flows: usize) -> SwitchConfig {
    let ports = (0..PORTS)
        .map(|number| {
            let rate = BitRate::from_mbit(10_000);
            PortConfig::new(PortRole::Fabric, rate, MacAddress([2, 1, 0, 0, 0, number]))
        })
        .collect();
    let routes = vec![
        RouteConfig {
            destination: X,
            ports: MEMBERS.map(port).to_vec(),
            buckets: 12,
        },
        RouteConfig::new(Y, vec![port(1)]),
    ];
    let mut config = support::switch_config(ports, routes, DETECT);
    config.shaper_burst = Bytes::new(1 << 20);
    config.flows = FlowMonitorConfig {
        capacity: flows,
        age: Duration::from_secs(10),
    };
    config
}

struct Node {
    switch: Switch,
    now: Instant,
    free: Vec<FrameHandle>,
    /// What a handle carries: ingress, destination, flow hash.
    frames: BTreeMap<FrameHandle, (u8, MacAddress, u32)>,
}

impl Node {
    fn new(config: SwitchConfig) -> Self {
        Self {
            free: (0..config.frame_count as u32).map(FrameHandle).collect(),
            switch: Switch::new(config).unwrap(),
            now: Instant::from_nanos(1),
            frames: BTreeMap::new(),
        }
    }

    fn receive(&mut self, ingress: u8, destination: MacAddress, flow_hash: u32) {
        self.try_receive(ingress, destination, flow_hash).unwrap();
    }

    fn try_receive(
        &mut self,
        ingress: u8,
        destination: MacAddress,
        flow_hash: u32,
    ) -> Result<FrameHandle, DropReason> {
        let handle = self.free.pop().expect("a free frame");
        let frame = Frame {
            handle,
            length: Bytes::new(1000),
            priority: PRIORITY,
            destination,
            source: MacAddress([2, 2, 0, 0, 0, ingress]),
            flow_hash,
        };
        match self.switch.receive(self.now, port(ingress), frame) {
            Ok(_) => {
                self.frames
                    .insert(handle, (ingress, destination, flow_hash));
                Ok(handle)
            }
            Err(reason) => {
                self.free.push(handle);
                Err(reason)
            }
        }
    }

    /// Flow hashes of the frames that `egress` sends now, in order.
    fn send(&mut self, egress: u8) -> Vec<u32> {
        self.transmit(egress)
            .into_iter()
            .map(|handle| {
                self.free.push(handle);
                self.frames.remove(&handle).unwrap().2
            })
            .collect()
    }

    fn transmit(&mut self, egress: u8) -> Vec<FrameHandle> {
        let mut handles = Vec::new();
        let mut waited = false;
        loop {
            match self.switch.transmit(self.now, port(egress)) {
                Some(Transmission::Data { handle, .. }) => {
                    waited = false;
                    handles.extend(self.switch.complete(self.now, port(egress), handle));
                }
                Some(Transmission::Control(_)) => {}
                None if waited => return handles,
                // Longer than the shaper makes any frame wait.
                None => {
                    waited = true;
                    self.now = self.now + Duration::from_micros(2);
                }
            }
        }
    }

    fn hold(&mut self, egress: u8) {
        let mut times = [None; 8];
        times[PRIORITY.index()] = Some(Quanta::MAX);
        let mut bytes = [0; 60];
        MacControl::Pfc { times }.emit(MacAddress::default(), &mut bytes);
        self.switch
            .receive_mac_control(self.now, port(egress), &bytes)
            .unwrap();
    }

    /// Nothing leaves `egress` for long enough to be suspected.
    fn wait_for_suspicion(&mut self, egress: u8) {
        for _ in 0..20 {
            self.hold(egress);
            self.now = self.now + Duration::from_millis(1);
            self.switch.handle_timeout(self.now);
        }
        assert!(
            self.switch
                .gauges(self.now, port(egress), PRIORITY)
                .suspected
        );
    }

    fn reroute(&mut self, selection: RerouteSelection, egress: u8, by: RerouteBy) -> Outcome {
        self.events();
        let command = Command::Reroute {
            selection,
            egress: port(egress),
            priority: PRIORITY,
            by,
        };
        self.switch.apply(self.now, command).unwrap();
        let mut outcome = Outcome::default();
        for event in self.events() {
            match event {
                EventKind::FlowMoved {
                    ingress,
                    from,
                    to,
                    priority,
                    destination,
                    flow_hash,
                } => {
                    assert_eq!((from, priority, destination), (port(egress), PRIORITY, X));
                    outcome.flows.push((ingress.get(), flow_hash, to.get()));
                }
                EventKind::Rerouted {
                    selection: told,
                    egress: from,
                    priority,
                    moved,
                    stuck,
                } => {
                    assert_eq!((told, from, priority), (selection, port(egress), PRIORITY));
                    (outcome.moved, outcome.stuck) = (moved, stuck);
                }
                _ => {}
            }
        }
        outcome.flows.sort_unstable();
        outcome
    }

    fn events(&mut self) -> Vec<EventKind> {
        std::iter::from_fn(|| self.switch.poll_event())
            .map(|event| event.kind)
            .collect()
    }

    fn egress_of(&mut self, ingress: u8, flow_hash: u32) -> u8 {
        self.receive(ingress, X, flow_hash);
        let left = (0..PORTS).find(|egress| self.send(*egress).contains(&flow_hash));
        left.expect("the frame leaves by some port")
    }
}

/// What a reroute told.
#[derive(Debug, Default, PartialEq, Eq)]
struct Outcome {
    /// (ingress, flow hash, to).
    flows: Vec<(u8, u32, u8)>,
    moved: u32,
    stuck: u32,
}

/// Flows 0 to 11 from ports 0 and 4 to X, of which 0, 3, 6 and 9 go by port 1, and one to Y that can only.
fn loaded() -> Node {
    let mut node = Node::new(config(256));
    node.hold(1);
    for flow_hash in 0..12 {
        let ingress = if flow_hash < 6 { 0 } else { 4 };
        node.receive(ingress, X, flow_hash);
    }
    node.receive(0, Y, 500);
    assert_eq!(node.send(2), [1, 7, 4, 10], "turns between ingress ports");
    assert_eq!(node.send(3).len(), 4);
    assert_eq!(node.send(1), []);
    node
}

#[test]
fn the_monitor_sees_every_admitted_frame() {
    let mut node = loaded();
    assert_eq!(
        node.try_receive(0, MacAddress([2; 6]), 1),
        Err(DropReason::NoRoute)
    );
    assert_eq!(node.switch.flows(node.now).count(), 13);
    node.receive(4, X, 9);
    let again = node
        .switch
        .flows(node.now)
        .find(|flow| flow.flow_hash == 9)
        .unwrap();
    assert_eq!((again.frames, again.bytes), (2, Bytes::new(2000)));
    assert_eq!((again.ingress, again.egress), (port(4), port(1)));
    let idle = node.now + Duration::from_secs(10);
    assert_eq!(node.switch.flows(idle).count(), 0);
}

#[test]
fn only_the_flows_on_the_pair_move_and_only_their_later_frames() {
    for by in [RerouteBy::Flow, RerouteBy::Bucket] {
        let mut node = loaded();
        let outcome = node.reroute(RerouteSelection::From(port(0)), 1, by);
        let hashes: Vec<_> = outcome
            .flows
            .iter()
            .map(|(from, hash, _)| (*from, *hash))
            .collect();
        assert_eq!(hashes, [(0, 0), (0, 3)], "{by:?}");
        assert_eq!((outcome.moved, outcome.stuck), (2, 1), "the one to Y stays");
        let targets: PortSet = outcome.flows.iter().map(|(.., to)| port(*to)).collect();
        assert_eq!(
            targets,
            PortSet::from_iter([port(2), port(3)]),
            "spread evenly"
        );
        for (ingress, flow_hash, to) in outcome.flows {
            assert_eq!(node.egress_of(ingress, flow_hash), to);
        }
        node.receive(4, X, 6);
        assert_eq!(node.send(2), []);
        assert_eq!(node.send(3), []);
        let waiting = node
            .switch
            .gauges(node.now, port(1), PRIORITY)
            .egress_frames;
        assert_eq!(
            waiting, 6,
            "those that were buffered, and the one of flow 6"
        );
        let counters = node.switch.counters(port(1)).priority[PRIORITY.index()];
        assert_eq!(counters.flows_moved, 2);
        let again = node.reroute(RerouteSelection::From(port(0)), 1, by);
        assert_eq!((again.moved, again.stuck), (0, 1), "they are gone already");
    }
}

#[test]
fn the_alternative_behaviour_moves_those_that_come_from_elsewhere() {
    let mut node = loaded();
    let outcome = node.reroute(RerouteSelection::NotFrom(port(0)), 1, RerouteBy::Flow);
    let hashes: Vec<_> = outcome
        .flows
        .iter()
        .map(|(from, hash, _)| (*from, *hash))
        .collect();
    assert_eq!(hashes, [(4, 6), (4, 9)]);
    assert_eq!((outcome.moved, outcome.stuck), (2, 0));
}

/// Flow 12 is in the bucket of flow 0, and flow 24 too, which comes in by port 2.
#[test]
fn a_bucket_moves_with_all_its_flows_and_never_to_where_one_comes_from() {
    let mut node = loaded();
    node.receive(4, X, 12);
    node.receive(2, X, 24);
    let outcome = node.reroute(RerouteSelection::From(port(0)), 1, RerouteBy::Bucket);
    let of_bucket: Vec<_> = outcome
        .flows
        .iter()
        .filter(|flow| flow.1 % 12 == 0)
        .collect();
    assert_eq!(of_bucket, [&(0, 0, 3), &(2, 24, 3), &(4, 12, 3)]);
    assert_eq!((outcome.moved, outcome.stuck), (4, 1));
    // By flow, the one that comes from port 2 stays where it is.
    let mut node = loaded();
    node.receive(2, X, 24);
    node.reroute(RerouteSelection::From(port(0)), 1, RerouteBy::Flow);
    node.receive(2, X, 24);
    assert_eq!(node.send(2), []);
    assert_eq!(node.send(3), []);
}

#[test]
fn a_flow_goes_to_no_port_that_is_down_and_rather_to_none_that_is_suspected() {
    let mut node = loaded();
    node.hold(2);
    node.receive(0, X, 1);
    node.wait_for_suspicion(1);
    node.wait_for_suspicion(2);
    let outcome = node.reroute(RerouteSelection::From(port(0)), 1, RerouteBy::Flow);
    assert_eq!(outcome.flows, [(0, 0, 3), (0, 3, 3)], "not to port 2");

    // From port 4 only the suspected port is left when port 3 is down.
    let down = Command::SetLink {
        port: port(3),
        up: false,
    };
    node.switch.apply(node.now, down).unwrap();
    let outcome = node.reroute(RerouteSelection::NotFrom(port(0)), 1, RerouteBy::Flow);
    assert_eq!(outcome.flows, [(4, 6, 2), (4, 9, 2)]);

    // And a flow that comes in by that one has nowhere to go.
    node.receive(2, X, 48);
    let outcome = node.reroute(RerouteSelection::From(port(2)), 1, RerouteBy::Flow);
    assert_eq!((outcome.moved, outcome.stuck), (0, 1));
}

#[test]
fn without_room_for_pins_flows_are_stuck() {
    let mut config = config(256);
    config.ecmp.pin_capacity = 1;
    let mut node = Node::new(config);
    for flow_hash in [0, 3] {
        node.receive(0, X, flow_hash);
    }
    let outcome = node.reroute(RerouteSelection::From(port(0)), 1, RerouteBy::Flow);
    assert_eq!((outcome.moved, outcome.stuck), (1, 1));
    // Once the moved flow is recent no more, its pin makes place.
    node.now = node.now + Duration::from_secs(11);
    node.receive(0, X, 6);
    let outcome = node.reroute(RerouteSelection::From(port(0)), 1, RerouteBy::Flow);
    assert_eq!((outcome.moved, outcome.stuck), (1, 0));
    assert_eq!(node.switch.pin_count(), 1);
}

/// More flows than events fit: what the command did at all is told still.
#[test]
fn the_end_of_a_reroute_is_told_however_many_flows_move() {
    let mut config = config(16_384);
    config.ecmp.pin_capacity = 4096;
    let mut node = Node::new(config);
    for flow_hash in 0..1500 {
        node.receive(0, X, 3 * flow_hash * 4);
        node.send(1);
    }
    let outcome = node.reroute(RerouteSelection::From(port(0)), 1, RerouteBy::Flow);
    assert_eq!((outcome.moved, outcome.stuck), (1500, 0));
    let told = outcome.flows.len() as u64;
    assert!(told < 1500);
    assert_eq!(told + node.switch.events_lost(), 1500);
}

#[test]
fn commands_that_cannot_be_done_are_refused() {
    let mut node = Node::new(config(0));
    let refused = |node: &mut Node, command| node.switch.apply(node.now, command).unwrap_err();
    let reroute = |egress| Command::Reroute {
        selection: RerouteSelection::From(port(0)),
        egress: port(egress),
        priority: PRIORITY,
        by: RerouteBy::Flow,
    };
    assert_eq!(refused(&mut node, reroute(1)), CommandError::NoFlowMonitor);
    assert_eq!(
        refused(&mut node, reroute(PORTS)),
        CommandError::NoSuchPort(port(PORTS))
    );
    let set = Command::SetRoute {
        destination: X,
        members: PortSet::from_iter([port(1), port(PORTS)]),
        buckets: 64,
    };
    assert_eq!(
        refused(&mut node, set),
        CommandError::NoSuchPort(port(PORTS))
    );
    let pin = Command::PinFlow {
        destination: X,
        flow_hash: 1,
        port: port(PORTS),
    };
    let (destination, member) = (X, port(PORTS));
    assert_eq!(
        refused(&mut node, pin),
        CommandError::NotAMember {
            destination,
            port: member
        }
    );
}

fn suspicion(node: &mut Node) -> Vec<(u8, bool, PortSet)> {
    node.events()
        .into_iter()
        .filter_map(|event| match event {
            EventKind::Suspected {
                egress,
                alternatives,
                alternatives_from,
                ..
            } => Some((egress.get(), alternatives, alternatives_from)),
            _ => None,
        })
        .collect()
}

#[test]
fn a_suspicion_says_whose_flows_have_another_way() {
    let from = |ports: &[u8]| ports.iter().copied().map(PortId::new).collect::<PortSet>();
    // With the monitor, and without it by what waits.
    for flows in [256, 0] {
        let mut node = Node::new(config(flows));
        node.hold(1);
        node.receive(0, X, 0);
        node.receive(4, X, 3);
        node.receive(5, Y, 3);
        node.wait_for_suspicion(1);
        assert_eq!(suspicion(&mut node), [(1, true, from(&[0, 4]))], "{flows}");

        let mut node = Node::new(config(flows));
        node.hold(1);
        node.receive(5, Y, 3);
        node.wait_for_suspicion(1);
        assert_eq!(suspicion(&mut node), [(1, false, from(&[]))], "{flows}");

        // The other members are down, or are the port that the flow comes in by.
        let mut node = Node::new(config(flows));
        let down = Command::SetLink {
            port: port(3),
            up: false,
        };
        node.switch.apply(node.now, down).unwrap();
        node.hold(1);
        node.receive(2, X, 0);
        node.wait_for_suspicion(1);
        assert_eq!(suspicion(&mut node), [(1, false, from(&[]))], "{flows}");
    }
}

#[derive(Clone, Copy, Debug)]
enum Step {
    Receive(u8, u32),
    Send(u8),
    Bucket(u16, u8),
    Pin(u32, u8),
    Unpin(u32),
    Replace(u8),
    Reroute(u8, u8, bool),
    Feedback(u8, u16),
}

fn step() -> impl Strategy<Value = Step> {
    let member = prop::sample::select(&MEMBERS[..]);
    prop_oneof![
        8 => (0..PORTS, 0u32..30).prop_map(|(ingress, flow)| Step::Receive(ingress, flow)),
        4 => (0..PORTS).prop_map(Step::Send),
        1 => (0u16..12, member.clone()).prop_map(|(bucket, to)| Step::Bucket(bucket, to)),
        1 => (0u32..30, member.clone()).prop_map(|(flow, to)| Step::Pin(flow, to)),
        1 => (0u32..30).prop_map(Step::Unpin),
        1 => (1u8..8).prop_map(Step::Replace),
        1 => (0..PORTS, member.clone(), any::<bool>()).prop_map(|(i, e, by)| Step::Reroute(i, e, by)),
        2 => (member, 0u16..5).prop_map(|(port, feedback)| Step::Feedback(port, feedback)),
    ]
}

fn with_levels() -> SwitchConfig {
    let mut config = config(64);
    let (each, xoff) = (config.gamma_max(), Bytes::new(16 * 1024));
    config.classes[PRIORITY.index()].mode = ClassMode::Level {
        rules: LevelRules::default(),
        budgets: Budgets::derived(4, each + xoff, each).unwrap(),
        xoff,
        xon: Bytes::new(8 * 1024),
        headroom: Bytes::new(64 * 1024),
    };
    config.frame_count = config.frames_needed();
    config
}

proptest! {
    /// In a class with Levels and in one without, whatever is moved while frames wait: what was admitted
    /// leaves once, frames of one (ingress, destination, egress) in order, and nothing stays charged.
    #[test]
    fn moving_loses_nothing_and_keeps_the_order_on_each_way(
        levels: bool,
        steps in prop::collection::vec(step(), 1..300),
    ) {
        let mut node = Node::new(if levels { with_levels() } else { config(64) });
        let mut order: BTreeMap<FrameHandle, u64> = BTreeMap::new();
        let mut last: BTreeMap<(u8, u8), u64> = BTreeMap::new();
        let (mut admitted, mut left) = (0u64, 0u64);
        let send = |node: &mut Node, egress: u8, order: &BTreeMap<FrameHandle, u64>, last: &mut BTreeMap<(u8, u8), u64>| {
            let handles = node.transmit(egress);
            let count = handles.len() as u64;
            for handle in handles {
                let (ingress, ..) = node.frames.remove(&handle).unwrap();
                node.free.insert(0, handle);
                let before = last.insert((ingress, egress), order[&handle]);
                assert!(before < Some(order[&handle]), "{ingress} to {egress}");
                assert_ne!(ingress, egress);
            }
            count
        };
        for step in steps {
            node.now = node.now + Duration::from_micros(10);
            node.switch.handle_timeout(node.now);
            let command = match step {
                Step::Receive(ingress, flow) => {
                    if let Ok(handle) = node.try_receive(ingress, X, flow) {
                        admitted += 1;
                        order.insert(handle, admitted);
                    }
                    continue;
                }
                Step::Send(egress) => {
                    left += send(&mut node, egress, &order, &mut last);
                    continue;
                }
                Step::Feedback(egress, feedback) => {
                    let mut times = [None; 8];
                    times[PRIORITY.index()] = Some(Quanta(1 + feedback));
                    let mut bytes = [0; 60];
                    MacControl::Pfc { times }.emit(MacAddress::default(), &mut bytes);
                    node.switch.receive_mac_control(node.now, port(egress), &bytes).unwrap();
                    continue;
                }
                Step::Bucket(bucket, to) => Command::MoveBucket { destination: X, bucket, to: port(to) },
                Step::Pin(flow_hash, to) => Command::PinFlow { destination: X, flow_hash, port: port(to) },
                Step::Unpin(flow_hash) => Command::UnpinFlow { destination: X, flow_hash },
                Step::Replace(bits) => Command::SetRoute {
                    destination: X,
                    members: MEMBERS.into_iter().filter(|n| bits & (1 << (n - 1)) != 0).map(port).collect(),
                    buckets: 12,
                },
                Step::Reroute(ingress, egress, by_flow) => Command::Reroute {
                    selection: RerouteSelection::From(port(ingress)),
                    egress: port(egress),
                    priority: PRIORITY,
                    by: if by_flow { RerouteBy::Flow } else { RerouteBy::Bucket },
                },
            };
            let _ = node.switch.apply(node.now, command);
            while node.switch.poll_event().is_some() {}
        }
        // What a neighbour said expires, and everything leaves.
        node.now = node.now + Duration::from_secs(1);
        node.switch.handle_timeout(node.now);
        for _ in 0..2 {
            for egress in 0..PORTS {
                left += send(&mut node, egress, &order, &mut last);
            }
            node.now = node.now + Duration::from_secs(1);
        }
        prop_assert_eq!(left, admitted);
        prop_assert_eq!(node.switch.held_frames(), 0);
        prop_assert_eq!(node.switch.level_table_len(), 0);
        for ingress in 0..PORTS {
            for priority in Priority::ALL {
                let gauges = node.switch.gauges(node.now, port(ingress), priority);
                prop_assert_eq!((gauges.ingress, gauges.egress), (Bytes::ZERO, Bytes::ZERO));
            }
        }
    }
}
