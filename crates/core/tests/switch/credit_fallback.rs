//! Hosts that do not use credits, at a switch with a class that has them.

use weir_core::wire::mac_control::MacControl;
use weir_core::wire::ControlFrame;
use weir_core::{
    Bytes, CreditConfig, CreditFallback, CreditState, DropReason, Duration, Quanta, Transmission,
};

use crate::support::PRIORITY;
use crate::switch::route_node::{config, port, Node, Y};

fn node(fallback: CreditFallback) -> Node {
    let mut config = config(8);
    config.classes[PRIORITY.index()].credits = Some(CreditConfig {
        size: Bytes::new(1024),
        overhead: 0,
        fallback,
    });
    Node::new(config)
}

/// No answer for longer than a neighbour with credits would take.
fn give_up(node: &mut Node) {
    node.switch.handle_timeout(node.now);
    let patience = node.switch.config().credits.patience;
    node.now = node.now + patience + Duration::from_millis(1);
    node.switch.handle_timeout(node.now);
}

fn pauses(node: &mut Node, number: u8) -> bool {
    let mut paused = false;
    while let Some(Transmission::Control(frame)) = node.switch.transmit(node.now, port(number)) {
        if let ControlFrame::Mac(MacControl::Pfc { times }) = frame {
            paused |= times[PRIORITY.index()].is_some_and(|time| time != Quanta::ZERO);
        }
    }
    paused
}

#[test]
fn a_host_without_credits_is_served_by_pfc() {
    let mut node = node(CreditFallback::Pfc);
    // Its frames are accepted from the start: it does not know that it should wait.
    node.receive(0, Y, 7);
    assert!(node.send(1).is_empty(), "it may answer yet");
    give_up(&mut node);
    assert_eq!(node.send(1), [7]);
    let gauges = node.switch.credit_gauges(port(1), PRIORITY).unwrap();
    assert_eq!(gauges.sending.state, CreditState::Fallback);

    node.hold(1);
    node.receive(0, Y, 8);
    assert!(node.send(1).is_empty(), "its pauses are obeyed");
    while !pauses(&mut node, 0) {
        node.receive(0, Y, 9);
    }
    // Frames that arrive until the pause takes effect use the headroom.
    for _ in 0..30 {
        node.receive(0, Y, 10);
    }
}

#[test]
fn a_closed_class_admits_nothing_from_a_host_without_credits() {
    let mut node = node(CreditFallback::Closed);
    assert_eq!(node.try_receive(0, Y, 7), Err(DropReason::Priority));
    give_up(&mut node);
    assert_eq!(node.try_receive(0, Y, 7), Err(DropReason::Priority));
}
