//! Messages sent as a link went down may be lost. They are sent again when the link is back, not at the next refresh.

use crate::level_node::{Node as LevelNode, NOW, X};
use crate::support::PRIORITY;
use crate::switch::route_node::{config, port, Node, Y};
use weir_core::wire::mac_control::MacControl;
use weir_core::wire::ControlFrame;
use weir_core::{Command, DropReason, Quanta, Transmission};

fn pauses(node: &mut Node, number: u8) -> Vec<Quanta> {
    let mut told = Vec::new();
    while let Some(Transmission::Control(frame)) = node.switch.transmit(node.now, port(number)) {
        if let ControlFrame::Mac(MacControl::Pfc { times }) = frame {
            told.extend(times[PRIORITY.index()]);
        }
    }
    told
}

fn link(node: &mut Node, up: bool) {
    let command = Command::SetLink { port: port(0), up };
    node.switch.apply(node.now, command).unwrap();
}

#[test]
fn xoff_and_xon_are_sent_again() {
    let mut node = Node::new(config(8));
    node.hold(1);
    while pauses(&mut node, 0).is_empty() {
        node.receive(0, Y, 7);
    }
    link(&mut node, false);
    link(&mut node, true);
    let xoff = node.switch.config().pause_time;
    assert_eq!(pauses(&mut node, 0), [xoff], "the buffer is still full");
    link(&mut node, true);
    assert!(pauses(&mut node, 0).is_empty(), "it was up already");

    link(&mut node, false);
    let mut times = [None; 8];
    times[PRIORITY.index()] = Some(Quanta::ZERO);
    let mut bytes = [0; 60];
    MacControl::Pfc { times }.emit(Default::default(), &mut bytes);
    let now = node.now;
    node.switch
        .receive_mac_control(now, port(1), &bytes)
        .unwrap();
    assert!(!node.send(1).is_empty());
    assert!(pauses(&mut node, 0).is_empty(), "the link is down");
    link(&mut node, true);
    assert_eq!(pauses(&mut node, 0), [Quanta::ZERO]);
}

#[test]
fn feedback_is_sent_again() {
    let mut node = LevelNode::tight();
    node.receive(0, X).unwrap();
    let told = node.told(0);
    assert!(!told.is_empty());
    assert_eq!(node.told(0), [0; 0]);
    for up in [false, true] {
        let command = Command::SetLink { port: port(0), up };
        node.switch.apply(NOW, command).unwrap();
    }
    assert_eq!(node.told(0), told);
}

/// A new device may have another neighbour, which has paused nothing. Frames that waited for the old one are dropped.
#[test]
fn a_new_device_begins_without_pauses() {
    let mut node = Node::new(config(8));
    node.hold(1);
    node.receive(0, Y, 7);
    let (now, gone) = (node.now, port(1));
    let apply = |node: &mut Node, command| node.switch.apply(now, command).unwrap();
    let up = Command::SetLink {
        port: gone,
        up: true,
    };
    apply(&mut node, Command::DeviceGone { port: gone });
    apply(&mut node, up);
    assert_eq!(node.try_receive(0, Y, 7), Err(DropReason::PortDown));
    apply(&mut node, Command::DeviceBack { port: gone });
    node.receive(0, Y, 7);
    assert!(node.send(1).is_empty(), "its link is down");
    apply(&mut node, up);
    assert_eq!(node.send(1), [7], "only what came since");
}
