//! Copies of frames for monitoring, sent by a dedicated port.

use weir_core::config::RouteConfig;
use weir_core::{
    BitRate, Bytes, ClassConfig, ClassMode, Command, CommandError, DropReason, Duration, Frame,
    FrameHandle, Instant, MacAddress, PfcThresholds, PortConfig, PortId, PortRole, PortSet,
    Priority, Switch, SwitchConfig, Transmission,
};

const LEFT: PortId = PortId::new(0);
const RIGHT: PortId = PortId::new(1);
const MONITOR: PortId = PortId::new(2);
const NOW: Instant = Instant::from_nanos(1_000);
/// Number of copies that the monitor's buffer holds.
const ROOM: u64 = 10;
const LENGTH: Bytes = Bytes::new(1000);
const CELL: Bytes = Bytes::new(2048);

fn address(number: u8) -> MacAddress {
    MacAddress([2, 0, 0, 0, 0, number])
}

/// Priority 3 is lossless, the others are lossy; addresses are learned.
fn switch() -> Switch {
    let lossy = ClassConfig::new(ClassMode::Lossy {
        buffer: Bytes::new(ROOM * CELL.get()),
    });
    let mut classes = [lossy; 8];
    let kib = |count: u64| Bytes::new(count * 1024);
    classes[3] = ClassConfig::new(ClassMode::Pfc(
        PfcThresholds::new(kib(40), kib(20), kib(40)).unwrap(),
    ));
    let ports = [LEFT, RIGHT, MONITOR].map(|port| {
        PortConfig::new(
            PortRole::Edge,
            BitRate::from_mbit(1000),
            address(0x80 + port.get()),
        )
    });
    let route = RouteConfig::new(address(1), vec![RIGHT]);
    let mut config = SwitchConfig::new(ports.to_vec(), classes, vec![route]);
    config.cell = CELL;
    config.shaper_burst = Bytes::new(1 << 20);
    config.learning_capacity = 64;
    config.frame_count = config.frames_needed();
    Switch::new(config).unwrap()
}

fn frame(handle: u32, priority: usize, destination: MacAddress) -> Frame {
    Frame {
        handle: FrameHandle(handle),
        length: LENGTH,
        priority: Priority::ALL[priority],
        destination,
        source: address(9),
        flow_hash: handle,
    }
}

fn receive(switch: &mut Switch, port: PortId, frame: Frame) {
    let admitted = switch.receive(NOW, port, frame).unwrap();
    assert!(!admitted.mark);
}

fn reserve(switch: &mut Switch, port: PortId, reserved: bool) -> Result<(), CommandError> {
    switch.apply(NOW, Command::Reserve { port, reserved })
}

fn sent(switch: &mut Switch, port: PortId) -> Vec<u32> {
    let mut handles = Vec::new();
    // Longer than all waiting frames take on the line.
    for step in 0..100 {
        let now = NOW + Duration::from_micros(10 * step);
        while let Some(transmission) = switch.transmit(now, port) {
            if let Transmission::Data { handle, .. } = transmission {
                handles.push(handle.0);
                assert_eq!(switch.complete(handle), Some(handle));
            }
        }
    }
    handles
}

#[test]
fn copies_leave_in_order_and_delay_no_frame() {
    let mut switch = switch();
    reserve(&mut switch, MONITOR, true).unwrap();
    // To as many addresses as there are copies: they would take turns.
    for handle in 0..ROOM as u32 + 3 {
        let to = address(0x20 + handle as u8);
        let taken = switch.send_copy(NOW, MONITOR, frame(handle, 0, to));
        let expected = match u64::from(handle) < ROOM {
            true => Ok(()),
            false => Err(DropReason::BufferFull),
        };
        assert_eq!(taken, expected, "{handle}");
    }
    // The monitor is full, and all other traffic continues.
    let gauges = switch.gauges(NOW, LEFT, Priority::ALL[3]);
    assert_eq!((gauges.ingress, gauges.pausing), (Bytes::ZERO, false));
    for handle in 20..25 {
        receive(&mut switch, LEFT, frame(handle, 3, address(1)));
    }
    assert_eq!(sent(&mut switch, RIGHT), [20, 21, 22, 23, 24]);
    let order: Vec<u32> = (0..ROOM as u32).collect();
    assert_eq!(sent(&mut switch, MONITOR), order);
    assert_eq!(switch.held_frames(), 0);
    let counters = &switch.counters(MONITOR).priority[0];
    assert_eq!((counters.rx_frames, counters.tx_frames), (0, ROOM));
}

#[test]
fn a_reserved_port_sends_nothing_else_and_takes_nothing() {
    let mut switch = switch();
    // It was a normal port, and addresses were learned there.
    let known = Frame {
        source: address(7),
        ..frame(0, 0, address(1))
    };
    receive(&mut switch, MONITOR, known);
    reserve(&mut switch, MONITOR, true).unwrap();
    assert_eq!(
        switch.receive(NOW, MONITOR, frame(1, 0, address(1))),
        Err(DropReason::MirrorPort)
    );
    assert_eq!(
        switch.receive(NOW, LEFT, frame(2, 0, address(7))),
        Err(DropReason::MirrorPort)
    );
    // Frames to unknown addresses are flooded to the others.
    receive(&mut switch, LEFT, frame(3, 0, address(8)));
    assert_eq!(
        switch.waiting_from(LEFT, Priority::ALL[0]),
        PortSet::from_iter([RIGHT])
    );
    assert_eq!(sent(&mut switch, MONITOR), []);
    assert_eq!(
        switch.counters(MONITOR).drops[DropReason::MirrorPort.index()],
        1
    );
    // The explanation predicts the same.
    let explained = switch.explain(NOW, MONITOR, &frame(4, 0, address(1)));
    assert_eq!(explained.outcome.map(|_| ()), Err(DropReason::MirrorPort));
    let explained = switch.explain(NOW, LEFT, &frame(4, 0, address(7)));
    assert_eq!(explained.outcome.map(|_| ()), Err(DropReason::MirrorPort));
    // As a normal port again.
    reserve(&mut switch, MONITOR, false).unwrap();
    let handle = FrameHandle(5);
    receive(&mut switch, MONITOR, Frame { handle, ..known });
    assert_eq!(
        switch.send_copy(NOW, MONITOR, frame(6, 0, address(1))),
        Err(DropReason::NoRoute)
    );
}

#[test]
fn routes_to_reserved_ports_are_refused() {
    let mut switch = switch();
    assert_eq!(
        reserve(&mut switch, RIGHT, true),
        Err(CommandError::PortInUse(RIGHT))
    );
    reserve(&mut switch, MONITOR, true).unwrap();
    let set = Command::SetRoute {
        destination: address(2),
        members: PortSet::from_iter([RIGHT, MONITOR]),
        buckets: 64,
    };
    assert_eq!(
        switch.apply(NOW, set),
        Err(CommandError::PortReserved(MONITOR))
    );
    assert_eq!(switch.route_count(), 1);
    let nowhere = PortId::new(9);
    assert_eq!(
        reserve(&mut switch, nowhere, true),
        Err(CommandError::NoSuchPort(nowhere))
    );
}

#[test]
fn frames_that_cannot_be_sent_stay_with_the_caller() {
    let mut switch = switch();
    reserve(&mut switch, MONITOR, true).unwrap();
    let lossless = frame(0, 3, address(1));
    assert_eq!(
        switch.send_copy(NOW, MONITOR, lossless),
        Err(DropReason::NoRoute)
    );
    let empty = Frame {
        length: Bytes::ZERO,
        ..frame(0, 0, address(1))
    };
    assert_eq!(
        switch.send_copy(NOW, MONITOR, empty),
        Err(DropReason::BadLength)
    );
    switch
        .send_copy(NOW, MONITOR, frame(0, 0, address(1)))
        .unwrap();
    assert_eq!(
        switch.send_copy(NOW, MONITOR, frame(0, 0, address(1))),
        Err(DropReason::TableFull),
        "its handle is in the switch"
    );
    // A link that went down keeps waiting frames; a device that is gone does not.
    let down = Command::SetLink {
        port: MONITOR,
        up: false,
    };
    switch.apply(NOW, down).unwrap();
    assert_eq!(
        switch.send_copy(NOW, MONITOR, frame(1, 0, address(1))),
        Err(DropReason::PortDown)
    );
    switch
        .apply(NOW, Command::DeviceGone { port: MONITOR })
        .unwrap();
    let discarded = switch.poll_discarded().unwrap();
    assert_eq!(
        (discarded.handle, discarded.ingress),
        (FrameHandle(0), MONITOR)
    );
    assert_eq!(switch.held_frames(), 0);
}
