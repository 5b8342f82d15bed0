//! Round trips measured where a cable bounds them.

use crate::switch::route_node::{config, port, Node};
use weir_core::config::CableRoom;
use weir_core::wire::echo::Echo;
use weir_core::wire::ControlFrame;
use weir_core::{Bytes, Duration, PortRole, Transmission};

#[test]
fn only_a_fabric_port_with_a_bounded_cable_measures_its_round_trip() {
    let room = |round_trip_max| {
        Some(CableRoom {
            headroom: Bytes::new(32 * 1024),
            round_trip_max,
        })
    };
    let mut config = config(0);
    config.ports[0].cable = room(Duration::from_millis(1));
    config.ports[4].cable = room(CableRoom::UNLIMITED);
    config.ports[5].cable = room(Duration::from_millis(1));
    config.ports[5].role = PortRole::Edge;
    let mut node = Node::new(config);
    node.switch.handle_timeout(node.now);
    let mut asks = |number| {
        matches!(
            node.switch.transmit(node.now, port(number)),
            Some(Transmission::Control(ControlFrame::Echo(
                Echo::Request { .. }
            )))
        )
    };
    assert_eq!([0, 4, 5].map(&mut asks), [true, false, false]);
}
