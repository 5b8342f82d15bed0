//! Groups of ports, the recent-flow monitor, and moving flows off a blocked egress.

use crate::support::PRIORITY;
use crate::switch::route_node::{config, port, Node, PORTS, X, Y};
use weir_core::config::RouteConfig;
use weir_core::event::EventKind;
use weir_core::{
    Bytes, Command, CommandError, DropReason, Duration, MacAddress, PortId, PortSet, RerouteBy,
    RerouteSelection,
};

/// Flows 0 to 11 from ports 0 and 4 to X, of which 0, 3, 6 and 9 use port 1, and one to Y that can only go there.
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

/// Flows 12 and 24 are in the bucket of flow 0; flow 24 arrives on port 2.
#[test]
fn a_bucket_moves_with_all_its_flows_and_never_to_an_ingress_of_one() {
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
    // Moved by flow, the one from port 2 stays.
    let mut node = loaded();
    node.receive(2, X, 24);
    node.reroute(RerouteSelection::From(port(0)), 1, RerouteBy::Flow);
    node.receive(2, X, 24);
    assert_eq!(node.send(2), []);
    assert_eq!(node.send(3), []);
}

#[test]
fn a_flow_avoids_ports_that_are_down_and_if_possible_suspected_ones() {
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

    // A flow that arrives on that port has no other egress.
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
    // Once the moved flow is no longer recent, its pin is replaced.
    node.now = node.now + Duration::from_secs(11);
    node.receive(0, X, 6);
    let outcome = node.reroute(RerouteSelection::From(port(0)), 1, RerouteBy::Flow);
    assert_eq!((outcome.moved, outcome.stuck), (1, 0));
    assert_eq!(node.switch.pin_count(), 1);
}

/// More flows than events fit: the result of the command is still reported.
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
fn impossible_commands_are_refused() {
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
    // With the monitor, and without it by waiting frames.
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

        // The other members are down, or are the flow's ingress port.
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

#[test]
fn a_pinned_flow_moves_by_its_pin_and_not_by_its_bucket() {
    let mut node = loaded();
    let by_flow = node.reroute(RerouteSelection::From(port(0)), 1, RerouteBy::Flow);
    assert_eq!(node.switch.pin_count(), by_flow.flows.len());
    let (ingress, flow_hash, first) = by_flow.flows[0];
    assert_eq!(node.egress_of(ingress, flow_hash), first);
    let from = RerouteSelection::From(port(ingress));
    let by_bucket = node.reroute(from, first, RerouteBy::Bucket);
    let moved = by_bucket.flows.iter().find(|flow| flow.1 == flow_hash);
    let (.., second) = moved.unwrap();
    assert_ne!(*second, first);
    let way = node.switch.way_to(node.now, port(ingress), X, flow_hash);
    assert_eq!(way, Some(port(*second)));
}

#[test]
fn frames_to_a_group_address_are_no_flow() {
    let group = MacAddress([3, 0, 0, 0, 0, 1]);
    let mut config = config(256);
    config.routes.push(RouteConfig::new(group, vec![port(1)]));
    let mut node = Node::new(config);
    node.receive(0, group, 7);
    assert_eq!(node.send(1), [7]);
    assert_eq!(node.switch.flows(node.now).count(), 0);
}

#[test]
fn one_event_reports_that_paths_changed_however_many_did() {
    let mut node = loaded();
    node.wait_for_suspicion(1);
    node.events();
    for members in [[1, 2], [1, 3], [2, 3]] {
        let set = Command::SetRoute {
            destination: X,
            members: members.map(port).into_iter().collect(),
            buckets: 12,
        };
        node.switch.apply(node.now, set).unwrap();
    }
    assert_eq!(node.events(), [EventKind::WaysChanged]);
}
