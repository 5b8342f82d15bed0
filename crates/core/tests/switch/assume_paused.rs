//! A switch that replaces another one does not send before its neighbours could have repeated their pauses.

use crate::support::PRIORITY;
use crate::switch::route_node::{config, port, Node, PORTS, Y};
use weir_core::wire::mac_control::MacControl;
use weir_core::{Command, Duration, MacAddress, Quanta};

const EGRESS: u8 = 1;

fn taking_over() -> Node {
    let mut node = Node::new(config(8));
    let command = Command::AssumePaused;
    node.switch.apply(node.now, command).unwrap();
    node
}

fn tell(node: &mut Node, quanta: Quanta) {
    let mut times = [None; 8];
    times[PRIORITY.index()] = Some(quanta);
    let mut bytes = [0; 60];
    MacControl::Pfc { times }.emit(MacAddress::default(), &mut bytes);
    let (now, egress) = (node.now, port(EGRESS));
    let told = node.switch.receive_mac_control(now, egress, &bytes);
    told.unwrap();
}

#[test]
fn it_waits_for_the_longest_pause() {
    let mut node = taking_over();
    let longest = Quanta::MAX.at(node.switch.config().ports[usize::from(EGRESS)].rate);
    let began = node.now;
    node.receive(0, Y, 7);
    assert!(node.send(EGRESS).is_empty());
    node.now = began + Duration::from_nanos(longest.as_nanos() - 10_000);
    assert!(node.send(EGRESS).is_empty());
    node.now = began + longest;
    assert_eq!(node.send(EGRESS), [7]);
    // No neighbour has sent a pause, and the counters do not claim one.
    for number in 0..PORTS {
        assert_eq!(node.switch.counters(port(number)).pfc_received, 0);
    }
}

#[test]
fn frames_of_the_neighbour_count_at_once() {
    let mut node = taking_over();
    node.receive(0, Y, 7);
    tell(&mut node, Quanta::ZERO);
    assert_eq!(node.send(EGRESS), [7]);
    tell(&mut node, Quanta::MAX);
    node.receive(0, Y, 8);
    assert!(node.send(EGRESS).is_empty());
    assert_eq!(node.switch.counters(port(EGRESS)).pfc_received, 2);
}
