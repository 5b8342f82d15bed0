//! Room for the copies of flooded frames that wait.

use weir_core::{
    BitRate, Bytes, ClassConfig, ClassMode, Command, DropReason, Frame, FrameHandle, Instant,
    MacAddress, PortConfig, PortId, PortRole, Priority, Switch, SwitchConfig,
};

const NOW: Instant = Instant::from_nanos(1);
/// With the monitor, as many as a switch can have: then not all frames can be flooded to all ports.
const PORTS: u8 = 255;
const MONITOR: PortId = PortId::new(PORTS);
/// Frames of one (port, priority).
const FRAMES_EACH: u64 = 4;
const CELL: u64 = 2048;

fn address(port: u8) -> MacAddress {
    MacAddress([2, 0, 0, 0, 0, port])
}

fn switch() -> Switch {
    let port = |number| PortConfig::new(PortRole::Edge, BitRate::from_mbit(1000), address(number));
    let buffer = Bytes::new(FRAMES_EACH * CELL);
    let classes = [ClassConfig::new(ClassMode::Lossy { buffer }); 8];
    let ports = (0..=PORTS).map(port).collect();
    let mut config = SwitchConfig::new(ports, classes, Vec::new());
    config.cell = Bytes::new(CELL);
    config.learning_capacity = 512;
    config.frame_count = config.frames_needed();
    Switch::new(config).unwrap()
}

#[test]
fn floods_beyond_the_room_for_copies_are_refused_and_other_frames_use_the_rest() {
    let mut switch = switch();
    let reserve = Command::Reserve {
        port: MONITOR,
        reserved: true,
    };
    switch.apply(NOW, reserve).unwrap();
    let mut taken = 0;
    let mut full = Vec::new();
    let senders = Priority::ALL
        .into_iter()
        .flat_map(|priority| (0..PORTS).map(move |port| (priority, port)));
    for (priority, port) in senders {
        for _ in 0..FRAMES_EACH {
            // Unknown while floods fit, and then the learned address of another port.
            let to = match full.is_empty() {
                true => MacAddress([2, 9, 0, 0, 0, 0]),
                false => address((port + 1) % PORTS),
            };
            let frame = Frame {
                handle: FrameHandle(taken),
                length: Bytes::new(100),
                priority,
                destination: to,
                source: address(port),
                flow_hash: 0,
            };
            match switch.receive(NOW, PortId::new(port), frame) {
                Ok(_) => taken += 1,
                Err(reason) => full.push(reason),
            }
            if full.len() == 2 {
                let copy = switch.send_copy(NOW, MONITOR, frame);
                assert_eq!(copy, Err(DropReason::TableFull));
            }
        }
        if full.len() >= 2 {
            break;
        }
    }
    assert!(full.iter().all(|reason| *reason == DropReason::TableFull));
    let waiting: u64 = (0..=PORTS)
        .flat_map(|port| Priority::ALL.map(|priority| (PortId::new(port), priority)))
        .map(|(port, priority)| switch.gauges(NOW, port, priority).egress_frames)
        .sum();
    let frame_count = switch.config().frame_count as u64;
    assert_eq!(waiting, frame_count + (1 << 20));
}
