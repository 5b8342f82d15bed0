//! The state of an egress as seen by a caller whose frames bypass the switch.

use crate::support::PRIORITY;
use crate::switch::route_node::{config, port, Node, MEMBERS, X, Y};
use weir_core::{Bytes, Command, Duration};

#[test]
fn an_egress_with_a_release_is_not_clear() {
    let mut node = Node::new(config(0));
    let is_clear = |node: &Node| node.switch.is_egress_clear(node.now, port(1));
    assert!(is_clear(&node));
    let period = Duration::from_millis(1);
    let release = Command::Release {
        ingress: port(0),
        egress: port(1),
        priority: PRIORITY,
        period,
        preference: Duration::ZERO,
        extra: Bytes::new(2048),
    };
    node.switch.apply(node.now, release).unwrap();
    assert!(!is_clear(&node));
    node.now = node.now + period;
    node.switch.handle_timeout(node.now);
    assert!(is_clear(&node));
}

#[test]
fn a_line_is_busy_until_the_time_that_the_caller_states() {
    let mut node = Node::new(config(0));
    let until = node.now + Duration::from_micros(5);
    while node.switch.poll_ready().is_some() {}
    node.switch.occupy_line(port(1), until);
    assert_eq!(node.switch.line_free_at(port(1)), until);
    assert!(!node.switch.is_egress_clear(node.now, port(1)));
    assert!(node.switch.is_egress_clear(until, port(1)));
    assert_eq!(node.switch.poll_ready(), Some(port(1)));
}

#[test]
fn a_port_that_is_down_sends_no_message() {
    let mut node = Node::new(config(0));
    let set_link = |node: &mut Node, up| {
        let command = Command::SetLink { port: port(0), up };
        node.switch.apply(node.now, command).unwrap();
    };
    set_link(&mut node, false);
    set_link(&mut node, true);
    set_link(&mut node, false);
    assert_eq!(node.switch.transmit_told(node.now, port(0)), None);
    set_link(&mut node, true);
    assert!(node.switch.transmit_told(node.now, port(0)).is_some());
}

#[test]
fn the_likely_egress_is_that_of_the_route() {
    let node = Node::new(config(0));
    assert_eq!(node.switch.likely_egress(Y, 7), Some(port(1)));
    for flow_hash in 0..12 {
        let likely = node.switch.likely_egress(X, flow_hash);
        assert!(MEMBERS.map(port).contains(&likely.unwrap()));
        assert_eq!(likely, node.switch.way_to(node.now, port(0), X, flow_hash));
    }
}
