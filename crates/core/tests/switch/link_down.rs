//! A link that is down pauses no neighbour for longer than permitted, and a link that flaps loses nothing.

use weir_core::config::{DetectorConfig, RouteConfig, WatchdogConfig};
use weir_core::event::EventKind;
use weir_core::wire::mac_control::MacControl;
use weir_core::{
    BitRate, Bytes, ClassConfig, ClassMode, Command, DropReason, Duration, Frame, FrameHandle,
    Instant, MacAddress, PfcThresholds, PortConfig, PortId, PortRole, Priority, Quanta, Switch,
    SwitchConfig, Transmission,
};

const HOLD: Duration = SwitchConfig::LINK_DOWN_HOLD;
const PORTS: u8 = 4;
const LOSSY: Priority = Priority::ALL[0];
const LOSSLESS: Priority = Priority::ALL[3];
/// Number of frames in half of a lossy buffer.
const HALF: u32 = 8;
const CELL: Bytes = Bytes::new(1024);

fn port(number: u8) -> PortId {
    PortId::new(number)
}

fn host(number: u8) -> MacAddress {
    MacAddress([2, 0, 0, 0, 0, number])
}

/// Hosts 0 to 3 behind the ports of the same numbers, by routes or by learning.
struct Node {
    switch: Switch,
    now: Instant,
    next: u32,
    dropped: Vec<(u32, DropReason)>,
}

impl Node {
    fn new(learns: bool) -> Self {
        let lossy = ClassConfig::new(ClassMode::Lossy {
            buffer: Bytes::new(u64::from(2 * HALF) * CELL.get()),
        });
        let mut classes = [lossy; 8];
        let kib = |count: u64| Bytes::new(count * 1024);
        classes[LOSSLESS.index()] = ClassConfig::new(ClassMode::Pfc(
            PfcThresholds::new(kib(8), kib(4), kib(8)).unwrap(),
        ));
        let ports = (0..PORTS).map(|number| PortConfig {
            watchdog: Some(WatchdogConfig {
                detection: Duration::from_millis(40),
                restoration: Duration::from_millis(40),
                action: Default::default(),
            }),
            ..PortConfig::new(
                PortRole::Edge,
                BitRate::from_mbit(10_000),
                host(0x80 + number),
            )
        });
        let route = |number| RouteConfig::new(host(number), vec![port(number)]);
        let routes = match learns {
            true => Vec::new(),
            false => (0..PORTS).map(route).collect(),
        };
        let mut config = SwitchConfig {
            cell: CELL,
            learning_capacity: if learns { 64 } else { 0 },
            detector: Some(DetectorConfig {
                detect: Duration::from_millis(40),
            }),
            ..SwitchConfig::new(ports.collect(), classes, routes)
        };
        config.frame_count = config.frames_needed();
        Self {
            switch: Switch::new(config).unwrap(),
            now: Instant::ZERO + Duration::from_secs(1),
            next: 0,
            dropped: Vec::new(),
        }
    }

    fn receive(&mut self, from: u8, to: u8, priority: Priority) -> Result<u32, DropReason> {
        self.receive_at(from, from, to, priority)
    }

    fn receive_at(
        &mut self,
        at: u8,
        from: u8,
        to: u8,
        priority: Priority,
    ) -> Result<u32, DropReason> {
        let handle = self.next;
        let frame = Frame {
            handle: FrameHandle(handle),
            length: Bytes::new(1000),
            priority,
            destination: host(to),
            source: host(from),
            flow_hash: 0,
        };
        let admitted = self.switch.receive(self.now, port(at), frame)?;
        assert!(!admitted.mark);
        self.next += 1;
        self.collect();
        Ok(handle)
    }

    fn collect(&mut self) {
        while let Some(discarded) = self.switch.poll_discarded() {
            self.dropped.push((discarded.handle.0, discarded.reason));
        }
    }

    fn link(&mut self, number: u8, up: bool) {
        let command = Command::SetLink {
            port: port(number),
            up,
        };
        self.switch.apply(self.now, command).unwrap();
        self.collect();
    }

    /// Runs the timers due within `span`.
    fn wait(&mut self, span: Duration) {
        let end = self.now + span;
        while let Some(due) = self.switch.next_timer().filter(|due| *due <= end) {
            self.now = self.now.max(due);
            self.switch.handle_timeout(self.now);
            self.collect();
        }
        self.now = end;
    }

    fn send(&mut self, egress: u8) -> Vec<u32> {
        let mut sent = Vec::new();
        for _ in 0..100 {
            while let Some(out) = self.switch.transmit(self.now, port(egress)) {
                if let Transmission::Data { handle, .. } = out {
                    sent.push(handle.0);
                    let back = self.switch.complete(handle);
                    // The last copy of a flooded frame returns it.
                    assert!(back.is_none_or(|back| back == handle));
                }
            }
            self.now = self.now + Duration::from_micros(1);
        }
        sent
    }

    fn pausing(&self, number: u8) -> bool {
        self.switch.gauges(self.now, port(number), LOSSLESS).pausing
    }

    fn fill_until_paused(&mut self, from: u8, to: u8) -> Vec<u32> {
        let mut handles = Vec::new();
        while !self.pausing(from) {
            handles.push(self.receive(from, to, LOSSLESS).unwrap());
        }
        handles
    }

    fn events(&mut self) -> Vec<EventKind> {
        std::iter::from_fn(|| self.switch.poll_event())
            .map(|event| event.kind)
            .collect()
    }

    fn port_down_drops(&self, number: u8) -> u64 {
        self.switch.counters(port(number)).drops[DropReason::PortDown.index()]
    }
}

#[test]
fn a_link_that_flaps_loses_nothing() {
    let mut node = Node::new(false);
    let before = node.fill_until_paused(0, 1);
    node.link(1, false);
    let during = node.receive(2, 1, LOSSLESS).unwrap();
    node.wait(Duration::from_nanos(HOLD.as_nanos() - 1));
    assert_eq!(node.dropped, []);
    assert!(node.pausing(0));
    node.link(1, true);
    let mut sent = node.send(1);
    sent.sort_unstable();
    assert_eq!(sent, [before, vec![during]].concat());
    node.wait(Duration::from_secs(10));
    assert_eq!(node.dropped, []);
    assert_eq!(node.switch.held_frames(), 0);
}

#[test]
fn a_link_that_stays_down_holds_its_senders_for_the_time_that_is_set() {
    let mut node = Node::new(false);
    node.link(1, false);
    let held = node.fill_until_paused(0, 1);
    node.wait(Duration::from_nanos(HOLD.as_nanos() - 1));
    assert!(node.pausing(0));
    node.wait(Duration::from_nanos(1));
    assert!(!node.pausing(0), "its sender goes on at once");
    let expected: Vec<_> = held.iter().map(|it| (*it, DropReason::PortDown)).collect();
    assert_eq!(node.dropped, expected);
    // Later frames for the port are dropped; other ports get theirs.
    assert_eq!(node.receive(0, 1, LOSSLESS), Err(DropReason::PortDown));
    let other = node.receive(0, 2, LOSSLESS).unwrap();
    assert_eq!(node.send(2), [other]);
    assert_eq!(node.port_down_drops(0), held.len() as u64 + 1);
    node.link(1, true);
    let after = node.receive(0, 1, LOSSLESS).unwrap();
    assert_eq!(node.send(1), [after]);
    // The next outage starts again.
    node.link(1, false);
    node.receive(0, 1, LOSSLESS).unwrap();
}

#[test]
fn a_hold_of_zero_drops_at_once() {
    let mut node = Node::new(false);
    node.switch = Switch::new(SwitchConfig {
        link_down_hold: Duration::ZERO,
        routes: (0..PORTS)
            .map(|number| RouteConfig::new(host(number), vec![port(number)]))
            .collect(),
        ..node.switch.config().clone()
    })
    .unwrap();
    let handle = node.receive(0, 1, LOSSLESS).unwrap();
    node.link(1, false);
    assert_eq!(node.dropped, [(handle, DropReason::PortDown)]);
    assert_eq!(node.receive(0, 1, LOSSLESS), Err(DropReason::PortDown));
}

#[test]
fn lossy_frames_for_it_leave_half_of_the_buffer_to_others() {
    let mut node = Node::new(false);
    // The egress was congested before: the buffer is nearly full.
    for _ in 0..2 * HALF - 2 {
        node.receive(0, 1, LOSSY).unwrap();
    }
    let other = node.receive(0, 2, LOSSY).unwrap();
    node.link(1, false);
    let kept = |node: &Node| node.switch.gauges(node.now, port(1), LOSSY).egress_frames;
    assert_eq!(kept(&node), u64::from(HALF) - 2, "the oldest are dropped");
    assert_eq!(node.send(2), [other]);
    node.receive(0, 1, LOSSY).unwrap();
    node.receive(0, 1, LOSSY).unwrap();
    assert_eq!(kept(&node), u64::from(HALF));
    assert_eq!(node.receive(0, 1, LOSSY), Err(DropReason::PortDown));
    // A whole burst to another host fits the other half.
    for _ in 0..HALF {
        node.receive(0, 2, LOSSY).unwrap();
    }
    assert_eq!(node.send(2).len() as u32, HALF);
    assert_eq!(node.receive(0, 1, LOSSY), Err(DropReason::PortDown));
    // Another sender has a separate half.
    node.receive(3, 1, LOSSY).unwrap();
    node.link(1, true);
    assert_eq!(node.send(1).len() as u32, HALF + 1);
}

#[test]
fn nothing_is_suspected_or_called_a_storm() {
    let mut node = Node::new(false);
    node.link(1, false);
    node.switch = Switch::new(SwitchConfig {
        link_down_hold: Duration::from_secs(5),
        routes: vec![RouteConfig::new(host(1), vec![port(1)])],
        ..node.switch.config().clone()
    })
    .unwrap();
    // The neighbour was paused when it went down.
    let mut times = [None; 8];
    times[LOSSLESS.index()] = Some(Quanta::MAX);
    let mut bytes = [0; 60];
    MacControl::Pfc { times }.emit(MacAddress::default(), &mut bytes);
    for (up, expected) in [(false, 0), (true, 2)] {
        node.link(1, up);
        if node.switch.held_frames() == 0 {
            node.receive(0, 1, LOSSLESS).unwrap();
        }
        for _ in 0..300 {
            node.switch
                .receive_mac_control(node.now, port(1), &bytes)
                .unwrap();
            node.wait(Duration::from_millis(1));
        }
        let events = node.events();
        assert_eq!(events.len(), expected, "{events:?}");
    }
    // A present suspicion ends with the link.
    assert_eq!(node.switch.suspected_count(), 1);
    node.link(1, false);
    node.wait(Duration::from_millis(20));
    assert_eq!(node.switch.suspected_count(), 0);
}

#[test]
fn addresses_behind_it_are_forgotten_and_learnt_at_their_new_port() {
    let mut node = Node::new(true);
    for number in 0..PORTS {
        // Silent hosts are unknown.
        let _ = node.receive(number, 99, LOSSLESS);
    }
    for number in 0..PORTS {
        node.send(number);
    }
    assert_eq!(node.switch.learnt_at(port(1)), 1);
    node.link(1, false);
    let waits = node.receive(0, 1, LOSSLESS).unwrap();
    node.wait(HOLD);
    assert_eq!(node.dropped, [(waits, DropReason::PortDown)]);
    assert_eq!(node.switch.learnt_at(port(1)), 0);
    assert_eq!(node.switch.learnt_at(port(2)), 1);
    // It may be at any port that is up.
    let flooded = node.receive(0, 1, LOSSLESS).unwrap();
    assert_eq!(node.switch.held_frames(), 1);
    let at = |node: &Node, number| {
        let gauges = node.switch.gauges(node.now, port(number), LOSSLESS);
        gauges.egress_frames
    };
    assert_eq!([1, 2, 3].map(|number| at(&node, number)), [0, 1, 1]);
    let _ = flooded;
}

#[test]
fn frames_that_wait_for_a_moved_address_are_dropped_at_once() {
    let mut node = Node::new(true);
    for number in [0, 1] {
        let _ = node.receive(number, 99, LOSSLESS);
    }
    for number in 0..PORTS {
        node.send(number);
    }
    node.link(1, false);
    let held = node.fill_until_paused(0, 1);
    // The host is connected elsewhere, and sends.
    node.receive_at(2, 1, 0, LOSSLESS).unwrap();
    let expected: Vec<_> = held.iter().map(|it| (*it, DropReason::PortDown)).collect();
    assert_eq!(node.dropped, expected);
    assert!(!node.pausing(0));
    let after = node.receive(0, 1, LOSSLESS).unwrap();
    assert_eq!(node.send(2), [after]);
    // From a port whose link is up they leave as before, and no other port gets the address within a second.
    let waits = node.receive(0, 1, LOSSLESS).unwrap();
    let taken = node.receive_at(3, 1, 0, LOSSLESS);
    assert_eq!(taken, Err(DropReason::ForeignSource));
    node.wait(Duration::from_secs(1));
    node.receive_at(3, 1, 0, LOSSLESS).unwrap();
    assert_eq!(node.send(2), [waits]);
}

#[test]
fn a_transmitter_that_completes_nothing_blocks_no_other_port() {
    let mut node = Node::new(false);
    let held = node.fill_until_paused(0, 1);
    let set = |node: &mut Node, completes| {
        let command = Command::SetTransmitter {
            port: port(1),
            completes,
        };
        node.switch.apply(node.now, command).unwrap();
        node.collect();
    };
    set(&mut node, false);
    assert_eq!(node.dropped.len(), held.len());
    assert!(!node.pausing(0));
    assert_eq!(node.receive(0, 1, LOSSLESS), Err(DropReason::PortDown));
    set(&mut node, false);
    set(&mut node, true);
    let events = node.events();
    assert!(
        matches!(
            events[..],
            [
                EventKind::TransmitterStalled { .. },
                EventKind::TransmitterResumed { .. }
            ]
        ),
        "{events:?}"
    );
    let after = node.receive(0, 1, LOSSLESS).unwrap();
    assert_eq!(node.send(1), [after]);
}

/// Frames that a stuck transmitter has already taken do not pause their sender until it completes them: they are charged to
/// the lossy buffers of its own port, with the same memory.
#[test]
fn frames_in_a_stuck_transmitter_pause_nobody() {
    let mut node = Node::new(false);
    let mut taken = Vec::new();
    let mut take_all = |node: &mut Node| {
        while let Some(out) = node.switch.transmit(node.now, port(1)) {
            if let Transmission::Data { handle, .. } = out {
                taken.push(handle);
            }
            node.now = node.now + Duration::from_micros(1);
        }
    };
    // xoff is 8 KiB, and each frame is charged 1 KiB.
    for _ in 0..8 {
        node.receive(0, 1, LOSSLESS).unwrap();
        take_all(&mut node);
    }
    for _ in 0..HALF {
        node.receive(2, 1, LOSSY).unwrap();
        take_all(&mut node);
    }
    let charged = |node: &Node, number, priority| node.switch.occupancy(port(number), priority).0;
    assert!(node.pausing(0));
    assert_eq!(taken.len() as u32, 8 + HALF);
    for handle in &taken {
        assert!(node.switch.charge_to_egress(port(1), *handle));
    }
    assert!(node.pausing(0), "the transmitter is not stuck yet");

    let set = |node: &mut Node, completes| {
        let command = Command::SetTransmitter {
            port: port(1),
            completes,
        };
        node.switch.apply(node.now, command).unwrap();
    };
    set(&mut node, false);
    assert!(node.switch.drops_all_to(port(1)));
    assert!(node.pausing(0), "the transmitter has all of the frames");
    for handle in &taken {
        assert!(node.switch.charge_to_egress(port(1), *handle));
    }
    assert!(!node.pausing(0));
    assert_eq!(charged(&node, 0, LOSSLESS), Bytes::ZERO);
    assert_eq!(charged(&node, 2, LOSSY), Bytes::ZERO);
    let of_port: Bytes = Priority::ALL
        .into_iter()
        .map(|priority| charged(&node, 1, priority))
        .sum();
    assert_eq!(of_port.get(), CELL.get() * (8 + u64::from(HALF)));
    assert!(!node.pausing(1));

    set(&mut node, true);
    for handle in taken {
        assert_eq!(node.switch.complete(handle), Some(handle));
    }
    for number in 0..PORTS {
        for priority in Priority::ALL {
            assert_eq!(charged(&node, number, priority), Bytes::ZERO);
        }
    }
    assert_eq!(node.switch.held_frames(), 0);
}

/// Without room in the lossy buffers of the port, frames remain charged to their senders: no buffer exceeds its memory.
#[test]
fn a_port_is_charged_no_more_than_it_has_room_for() {
    let mut node = Node::new(false);
    let room = 2 * HALF * (8 - 1);
    let mut left = Vec::new();
    let command = Command::SetTransmitter {
        port: port(1),
        completes: false,
    };
    // Frames that wait elsewhere fill all lossy buffers of the port but one place.
    let mut handles = Vec::new();
    for _ in 0..2 {
        node.receive(0, 1, LOSSLESS).unwrap();
        if let Some(Transmission::Data { handle, .. }) = node.switch.transmit(node.now, port(1)) {
            handles.push(handle);
        }
        node.now = node.now + Duration::from_micros(1);
    }
    assert_eq!(handles.len(), 2);
    for priority in Priority::ALL.into_iter().filter(|it| *it != LOSSLESS) {
        while node.receive(1, 2, priority).is_ok() {
            left.push(priority);
            if left.len() as u32 == room - 1 {
                break;
            }
        }
    }
    assert_eq!(left.len() as u32, room - 1);
    node.switch.apply(node.now, command).unwrap();
    let moved: Vec<_> = handles
        .iter()
        .map(|handle| node.switch.charge_to_egress(port(1), *handle))
        .collect();
    assert_eq!(moved, [true, false]);
    assert_eq!(node.switch.occupancy(port(0), LOSSLESS).0, CELL);
}
