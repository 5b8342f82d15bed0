//! Additions of the Karol paper's section V to protocol P, setting by setting.

use crate::level_node::{address, config, port, Node, EDGE, GAMMA, LENGTH, NOW, P3, X, Y};
use weir_core::config::{ConfigError, LevelRules, Reserve};
use weir_core::event::EventKind;
use weir_core::wire::echo::Echo;
use weir_core::wire::mac_control::MacControl;
use weir_core::wire::ControlFrame;
use weir_core::{
    Admitted, Budgets, Bytes, ClassMode, Command, DropReason, Duration, FeedbackCoding, Frame,
    FrameHandle, Instant, Level, Neighbour, Police, Priority, Quanta, Switch, SwitchConfig,
    Transmission,
};

fn level(number: u8) -> Level {
    Level::new(number).unwrap()
}

fn with_rules(rules: LevelRules) -> SwitchConfig {
    let mut config = config(&[GAMMA; 5]);
    if let ClassMode::Level { rules: old, .. } = &mut config.classes[P3.index()].mode {
        *old = rules;
    }
    config
}

#[test]
fn a_class_that_ignores_feedback_keeps_sending_and_gives_none() {
    let mut node = Node::new(with_rules(LevelRules {
        obeys_feedback: false,
        ..LevelRules::default()
    }));
    for _ in 0..5 {
        node.receive(0, X).unwrap();
    }
    assert_eq!(node.told(0), Vec::<u16>::new());
    node.tell(3, 6);
    node.tell(3, 0);
    assert!(node.data(3).is_some(), "Feedback D");
    // Its buffer is separate; excess frames are lost and counted.
    assert_eq!(node.receive(0, X), Err(DropReason::HeadroomExceeded));
    node.tell(3, 65_535);
    assert_eq!(node.data(3), None, "a pause is no Feedback");
}

#[test]
fn no_frame_of_the_class_is_below_its_minimum_level() {
    let mut node = Node::new(with_rules(LevelRules {
        level_min: level(2),
        ..LevelRules::default()
    }));
    let from_host = node.receive(EDGE + 1, X).unwrap();
    assert_eq!(node.level_of(X), Some(2));
    node.receive(0, Y).unwrap();
    assert_eq!(node.level_of(Y), Some(2));
    assert_eq!(node.m(0), [1, 1, 2, 3, 4], "stored at Level 2");
    node.tell(3, 4);
    assert_eq!(node.data(3), None, "Feedback 3");
    node.tell(3, 3);
    node.tell(3, 0);
    let left = [node.data(3), node.data(3)];
    assert!(left.contains(&Some(from_host)), "Feedback 2: {left:?}");
    let lifts = |number| node.switch.counters(port(number)).priority[P3.index()].lifts;
    assert_eq!([lifts(0), lifts(EDGE + 1)], [0, 0], "nobody lifted it");
}

#[test]
fn a_minimum_level_needs_a_longer_route() {
    let config = with_rules(LevelRules {
        level_min: level(5),
        ..LevelRules::default()
    });
    let error = Switch::new(config).unwrap_err();
    assert!(matches!(error, ConfigError::LevelMinTooHigh { .. }));
    assert!(
        error.to_string().contains("Level 5 must be below D = 5"),
        "{error}"
    );
}

const LIMIT: Duration = Duration::from_millis(50);

fn aging() -> Node {
    let mut config = config(&[GAMMA; 5]);
    config.classes[P3.index()].age_limit = Some(LIMIT);
    Node::new(config)
}

#[test]
fn a_frame_that_waits_for_too_long_is_dropped_and_counted() {
    let mut node = aging();
    node.tell(3, 65_535);
    let old = [node.receive(0, X).unwrap(), node.receive(0, Y).unwrap()];
    let due = NOW + LIMIT;
    node.switch
        .handle_timeout(NOW + Duration::from_nanos(LIMIT.as_nanos() - 1));
    assert_eq!(node.switch.poll_discarded(), None);
    let next = node.switch.next_timeout().unwrap();
    assert!(next <= due, "the caller is woken for it");
    node.switch.handle_timeout(due);
    let back: Vec<_> = std::iter::from_fn(|| node.switch.poll_discarded())
        .map(|discarded| (discarded.handle, discarded.ingress, discarded.reason))
        .collect();
    assert_eq!(
        back,
        old.map(|number| (FrameHandle(number), port(0), DropReason::Aged))
    );
    assert_eq!(
        node.switch.counters(port(0)).drops[DropReason::Aged.index()],
        2
    );
    assert_eq!(node.m(0), [1, 2, 3, 4, 5], "their room is free again");
    assert_eq!((node.level_of(X), node.switch.held_frames()), (None, 0));
    assert_eq!(node.switch.gauges(due, port(3), P3).egress, Bytes::ZERO);
}

#[test]
fn aging_keeps_the_order_and_spares_frames_at_the_transmitter() {
    let mut node = aging();
    let sent = node.receive(0, X).unwrap();
    assert_eq!(node.data(3), Some(sent));
    node.tell(3, 65_535);
    let old = node.receive(0, X).unwrap();
    let later = NOW + Duration::from_millis(30);
    let young = |handle| Frame {
        handle: FrameHandle(handle),
        length: LENGTH,
        priority: P3,
        destination: address(X),
        source: address(0x40),
        flow_hash: 0,
    };
    for handle in [100, 101] {
        let _ = node.switch.receive(later, port(0), young(handle)).unwrap();
    }
    node.switch.handle_timeout(NOW + LIMIT);
    let discarded = node.switch.poll_discarded();
    assert_eq!(
        discarded.map(|discarded| discarded.handle),
        Some(FrameHandle(old))
    );
    assert_eq!(node.switch.poll_discarded(), None);
    node.complete(sent);
    node.tell(3, 0);
    assert_eq!([node.data(3), node.data(3)], [Some(100), Some(101)]);
    assert_eq!(node.data(3), None);
}

#[test]
fn a_zero_age_limit_is_refused() {
    let mut config = config(&[GAMMA; 5]);
    config.classes[P3.index()].age_limit = Some(Duration::ZERO);
    assert_eq!(Switch::new(config).unwrap_err(), ConfigError::ZeroAge(P3));
}

/// Returns the number of frames that a policed host sends until the first is refused, and the number of them to be
/// marked.
fn fill(police: Police) -> (usize, usize, Node) {
    let mut config = config(&[GAMMA; 5]);
    config.ports[usize::from(EDGE) + 1].police = police;
    let mut node = Node::new(config);
    let (mut admitted, mut marked) = (0, 0);
    loop {
        let frame = Frame {
            handle: FrameHandle(admitted as u32),
            length: LENGTH,
            priority: P3,
            destination: address(X),
            source: address(0x40),
            flow_hash: 0,
        };
        match node.switch.receive(NOW, port(EDGE + 1), frame) {
            Ok(Admitted { mark }) => {
                admitted += 1;
                marked += usize::from(mark);
            }
            Err(reason) => {
                assert_eq!(reason, DropReason::Policed);
                return (admitted, marked, node);
            }
        }
    }
}

#[test]
fn a_host_that_does_not_obey_is_policed_instead_of_paused() {
    // xoff is 8 KiB, headroom 8 KiB: 10 frames of 1536 B; a first single drop would need 8 KiB more.
    let (admitted, marked, mut node) = fill(Police::Drop);
    assert_eq!((admitted, marked), (10, 0));
    assert_eq!(node.told(EDGE + 1), Vec::<u16>::new());
    assert_eq!(node.switch.poll_event(), None, "nobody has disobeyed");

    let (admitted, marked, mut node) = fill(Police::Mark);
    assert_eq!((admitted, marked), (10, 4), "marked once 8 KiB are charged");
    assert_eq!(node.told(EDGE + 1), Vec::<u16>::new());
}

/// Returns all PAUSE times that `number` sends now; any other frame except an echo is an error.
fn paused(node: &mut Node, number: u8) -> Vec<u16> {
    let mut times = Vec::new();
    while let Some(transmission) = node.switch.transmit(NOW, port(number)) {
        match transmission {
            Transmission::Control(ControlFrame::Mac(MacControl::Pause { quanta })) => {
                times.push(quanta.0);
            }
            Transmission::Control(ControlFrame::Echo(_)) => {}
            other => panic!("{other:?}"),
        }
    }
    times
}

fn pause(node: &mut Node, number: u8, quanta: u16) {
    let quanta = Quanta(quanta);
    let frame = ControlFrame::Mac(MacControl::Pause { quanta });
    let mut buffer = [0; 128];
    let length = frame.emit(address(0x50), &mut buffer).unwrap();
    node.switch
        .receive_mac_control(NOW, port(number), &buffer[..length])
        .unwrap();
}

fn whole_link(neighbour: Neighbour) -> Node {
    let mut config = config(&[GAMMA; 5]);
    for link in [0, 3] {
        config.ports[link].feedback = FeedbackCoding::Pause;
        config.ports[link].neighbour = neighbour;
    }
    Node::new(config)
}

#[test]
fn feedback_for_a_whole_link_is_sent_as_pause_frames() {
    let mut node = whole_link(Neighbour::Unknown);
    node.receive(0, X).unwrap();
    assert_eq!(paused(&mut node, 0), [2, 0], "PAUSE(1+f), PAUSE(0)");
    for _ in 0..4 {
        node.receive(0, X).unwrap();
    }
    assert_eq!(
        paused(&mut node, 0),
        [65_535],
        "D: a regular neighbour stops"
    );
    let first = node.data(3).unwrap();
    node.complete(first);
    assert_eq!(paused(&mut node, 0).last(), Some(&0));

    let mut node = whole_link(Neighbour::Enhanced);
    node.receive(0, X).unwrap();
    assert_eq!(paused(&mut node, 0), [2]);
    assert_eq!(paused(&mut node, 0), []);
    for up in [false, true] {
        let command = Command::SetLink { port: port(0), up };
        node.switch.apply(NOW, command).unwrap();
    }
    assert_eq!(paused(&mut node, 0), [2], "the first one may be lost");
}

#[test]
fn full_classes_stop_a_whole_link_however_many_they_are() {
    let mut config = config(&[GAMMA; 5]);
    config.ports[0].feedback = FeedbackCoding::Pause;
    let shallow = [Priority::ALL[4], Priority::ALL[5]];
    for priority in shallow {
        let mut class = config.classes[P3.index()];
        if let ClassMode::Level { budgets, .. } = &mut class.mode {
            *budgets = Budgets::new(&[GAMMA]).unwrap();
        }
        config.classes[priority.index()] = class;
    }
    config.frame_count = config.frames_needed();
    let mut node = Node::new(config);
    for (handle, priority) in (0..).zip(shallow) {
        let frame = Frame {
            handle: FrameHandle(handle),
            length: LENGTH,
            priority,
            destination: address(X),
            source: address(0x40),
            flow_hash: 0,
        };
        let _ = node.switch.receive(NOW, port(0), frame).unwrap();
        assert_eq!(paused(&mut node, 0).last(), Some(&65_535), "{priority}");
    }
}

#[test]
fn the_level_that_a_frame_would_get_is_the_one_it_gets() {
    let mut node = Node::tight();
    for destination in [X, Y] {
        let frame = Frame {
            handle: FrameHandle(0),
            length: LENGTH,
            priority: P3,
            destination: address(destination),
            source: address(0x40),
            flow_hash: 0,
        };
        let foreseen = node.switch.explain(NOW, port(0), &frame).outcome.unwrap();
        node.receive(0, destination).unwrap();
        let level = foreseen.level.map(Level::get);
        assert_eq!(level, node.level_of(destination));
        assert_ne!(level, Some(0));
    }
}

#[test]
fn a_port_with_feedback_to_send_is_ready() {
    let mut node = Node::tight();
    while node.switch.poll_ready().is_some() {}
    node.receive(0, X).unwrap();
    let ready: Vec<_> = std::iter::from_fn(|| node.switch.poll_ready()).collect();
    assert_eq!(ready, [port(0), port(3)]);
    assert!(!node.told(0).is_empty());
}

#[test]
fn feedback_of_a_whole_link_is_obeyed() {
    for neighbour in [Neighbour::Unknown, Neighbour::Enhanced] {
        let mut node = whole_link(neighbour);
        let from_host = node.receive(EDGE + 1, X).unwrap();
        let on_the_way = node.receive(0, Y).unwrap();
        pause(&mut node, 3, 2);
        if neighbour == Neighbour::Unknown {
            assert_eq!(node.data(3), None, "a pause, until the second frame comes");
            pause(&mut node, 3, 0);
        }
        assert_eq!(node.data(3), Some(on_the_way), "{neighbour:?}");
        assert_eq!(node.data(3), None, "Level 0 is below Feedback 1");
        pause(&mut node, 3, 1);
        pause(&mut node, 3, 0);
        assert_eq!(node.data(3), Some(from_host));
    }
}

#[test]
fn a_regular_pause_of_a_whole_link_is_obeyed() {
    let mut node = whole_link(Neighbour::Unknown);
    node.receive(0, Y).unwrap();
    pause(&mut node, 3, 1000);
    assert_eq!(node.data(3), None);
    assert_eq!(node.link(3).feedback_received, Level::ZERO);
}

/// Answers the echo request that port 3 sends at `at` after `round_trip`.
fn echo(node: &mut Node, at: Instant, round_trip: Duration) {
    node.switch.handle_timeout(at);
    let mut id = None;
    while let Some(transmission) = node.switch.transmit(at, port(3)) {
        if let Transmission::Control(ControlFrame::Echo(Echo::Request { id: asked, .. })) =
            transmission
        {
            id = Some(asked);
        }
    }
    let reply = Echo::Reply { id: id.unwrap() };
    let mut buffer = [0; 128];
    let length = reply.emit(address(0x50), &mut buffer).unwrap();
    node.switch
        .receive_clcm(at + round_trip, port(3), &buffer[..length])
        .unwrap();
}

#[test]
fn a_round_trip_too_long_for_the_buffers_is_reported() {
    let mut config = config(&[Bytes::new(128 * 1024); 2]);
    config.ports[3].round_trip = Duration::from_micros(100);
    let mut node = Node::new(config);
    echo(&mut node, NOW, Duration::from_micros(100));
    let measured = node.link(3).round_trip_measured;
    assert_eq!(measured, Some(Duration::from_micros(100)));
    assert_eq!(node.switch.poll_event(), None);
    for step in 1..3 {
        let at = NOW + Duration::from_secs(2 * step);
        echo(&mut node, at, Duration::from_micros(101));
    }
    let told: Vec<_> = std::iter::from_fn(|| node.switch.poll_event()).collect();
    let exceeded = EventKind::RoundTripExceeded {
        port: port(3),
        measured: Duration::from_micros(101),
    };
    assert_eq!(told.len(), 1, "once for each span");
    assert_eq!(told[0].kind, exceeded);
    let counters = node.switch.counters(port(3));
    assert_eq!(
        (counters.round_trips_exceeded, counters.echo_replies),
        (2, 3)
    );
}

#[test]
fn no_round_trip_is_too_long_for_grants() {
    let mut config = config(&[Bytes::new(128 * 1024); 2]);
    config.ports[3].round_trip = Duration::from_micros(100);
    config.ports[3].feedback = FeedbackCoding::Grants;
    let mut node = Node::new(config);
    echo(&mut node, NOW, Duration::from_millis(10));
    let counters = node.switch.counters(port(3));
    assert_eq!(
        (counters.round_trips_exceeded, counters.echo_replies),
        (0, 1)
    );
}

#[test]
fn a_measured_round_trip_sets_the_reserve() {
    let first = Bytes::new(128 * 1024);
    let mut config = config(&[first; 2]);
    config.ports[3].round_trip_measured = true;
    config.ports[3].round_trip = Duration::from_micros(100);
    let (rate, cell) = (config.ports[3].rate, config.cell);
    let mut node = Node::new(config);
    // Number of frames that fit before Feedback 1.
    let fits = |node: &mut Node| {
        let mut frames = 0;
        while node.link(3).feedback_sent == Level::ZERO {
            node.receive(3, 12).unwrap();
            frames += 1;
            node.told(3);
        }
        while let Some(handle) = node.data(EDGE) {
            node.complete(handle);
        }
        node.told(3);
        frames
    };
    let room = |round_trip| {
        let reserve = Reserve::new(rate, round_trip, cell, LENGTH).total();
        (first.get() - reserve.get()) / GAMMA.get()
    };
    assert_eq!(fits(&mut node), room(Duration::from_micros(100)));
    echo(&mut node, NOW, Duration::from_micros(20));
    assert_eq!(
        fits(&mut node),
        room(Duration::from_micros(100)),
        "at least"
    );
    let at = NOW + Duration::from_secs(1);
    echo(&mut node, at, Duration::from_micros(60));
    let (after, expected) = (fits(&mut node), room(Duration::from_micros(120)));
    assert_eq!(after, expected, "twice what was measured");
    assert_eq!(node.switch.poll_event(), None, "that fits");
    // 1 ms does not fit: all of the buffer but one frame is reserve, which is reported.
    let at = NOW + Duration::from_secs(3);
    echo(&mut node, at, Duration::from_millis(1));
    assert_eq!(fits(&mut node), 1);
    let told: Vec<_> = std::iter::from_fn(|| node.switch.poll_event()).collect();
    assert!(
        matches!(told[..], [event] if matches!(event.kind, EventKind::RoundTripExceeded { .. })),
        "{told:?}"
    );
}

#[test]
fn echo_from_hosts_and_damaged_echo_is_counted() {
    let mut node = Node::tight();
    let request = Echo::Request {
        id: 7,
        sent: [0; 8],
    };
    let mut buffer = [0; 128];
    let length = request.emit(address(0x50), &mut buffer).unwrap();
    let mut receive = |number, bytes: &[u8]| node.switch.receive_clcm(NOW, port(number), bytes);
    assert_eq!(
        receive(EDGE, &buffer[..length]),
        Err(DropReason::ClcmFromEdge)
    );
    assert_eq!(receive(0, &buffer[..length]), Ok(()));
    assert_eq!(receive(0, &buffer[..20]), Err(DropReason::BadEcho));
    buffer[17] = 3;
    assert_eq!(receive(0, &buffer[..length]), Err(DropReason::BadEcho));
    let reply = node.switch.transmit(NOW, port(0));
    let expected = Transmission::Control(ControlFrame::Echo(Echo::Reply { id: 7 }));
    assert_eq!(reply, Some(expected));
}
