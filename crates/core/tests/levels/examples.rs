//! Examples of protocol P: Figure 4 of the Karol paper, the wire format, and refused frames.

use crate::level_node::{address, config, port, Node, EDGE, GAMMA, LENGTH, NOW, P3, X, Y, Z};
use weir_core::config::ConfigError;
use weir_core::event::EventKind;
use weir_core::{
    Bytes, Command, CommandError, DropReason, Duration, Level, Neighbour, Switch, Transmission,
};

/// Figure 4: "the Level of a packet destined for X went from 1 to 4 to 2 as it passed from A to B to C".
#[test]
fn figure_4_number_for_number() {
    let (mut a, mut b, mut c) = (Node::tight(), Node::tight(), Node::tight());

    // A's Level Table: X 1, Y 1, Z 2. Each link gives Level 1 to the first frame, 2 to the second.
    let x = a.receive(0, X).unwrap();
    a.receive(1, Y).unwrap();
    a.receive(1, Z).unwrap();
    assert_eq!([X, Y, Z].map(|n| a.level_of(n).unwrap()), [1, 1, 2]);

    // B's: X 4, Y 1. Three frames to others behind the same link raise the fourth, to X, to Level 4.
    b.receive(1, Y).unwrap();
    for other in 4..6 {
        b.receive(1, other).unwrap();
    }
    b.receive(1, X).unwrap();
    assert_eq!([X, Y].map(|n| b.level_of(n).unwrap()), [4, 1]);
    assert_eq!(b.link(0).feedback_sent, Level::ZERO);

    // C's: X 1, Y 1, Z 3. Its link from B holds one frame, so its Feedback there is 1.
    c.receive(0, Y).unwrap();
    c.receive(1, X).unwrap();
    c.receive(2, 4).unwrap();
    c.receive(2, 5).unwrap();
    c.receive(2, Z).unwrap();
    assert_eq!([X, Y, Z].map(|n| c.level_of(n).unwrap()), [1, 1, 3]);
    assert_eq!(c.told(0), [2, 0], "Feedback 1, then zero");

    // f = 0 on the link from A to B: the frame to X, of Level 1, may leave.
    assert_eq!(b.told(0), Vec::<u16>::new(), "nothing has changed there");
    assert_eq!(a.data(3), Some(x));
    a.complete(x);
    assert_eq!(a.level_of(X), None, "entries leave with their last frame");
    let x = b.receive(0, X).unwrap();
    assert_eq!(
        b.level_of(X),
        Some(4),
        "lifted to 4 when it is buffered at B"
    );
    assert_eq!(b.m(0), [1, 2, 3, 3, 4], "stored at Level 4");

    // f = 1 on the link from B to C: 4 is not less than 1.
    b.tell(3, 2);
    b.tell(3, 0);
    assert_eq!(b.link(3).feedback_received.get(), 1);
    let mut sent = Vec::new();
    while let Some(handle) = b.data(3) {
        sent.push(handle);
    }
    assert!(sent.contains(&x), "{sent:?}");

    // At C the entry for X rises to 2, and with it the frame buffered there behind another link.
    assert_eq!(c.m(1), [0, 1, 2, 3, 4]);
    c.receive(0, X).unwrap();
    assert_eq!(c.level_of(X), Some(2));
    assert_eq!(
        c.m(1),
        [1, 1, 2, 3, 4],
        "rule 4: m_1 rises by the lifted frame"
    );
    assert_eq!(c.m(0), [0, 0, 1, 2, 3]);
}

#[test]
fn frames_below_the_feedback_stay_and_leave_once_it_falls() {
    let mut node = Node::tight();
    let from_host = node.receive(EDGE + 1, X).unwrap();
    let on_the_way = node.receive(0, Y).unwrap();
    assert_eq!([node.level_of(X), node.level_of(Y)], [Some(0), Some(1)]);
    node.tell(3, 2);
    node.tell(3, 0);
    assert_eq!(node.data(3), Some(on_the_way));
    assert_eq!(node.data(3), None, "Level 0 is below Feedback 1");
    assert_eq!(node.link(3).held_frames, 1);
    assert_eq!(node.link(3).held, LENGTH);
    assert_eq!(node.link(3).eligible, Bytes::ZERO);
    // Lifted by a frame from another switch, it may leave, and leaves first.
    let behind = node.receive(1, X).unwrap();
    assert_eq!(node.link(3).held, Bytes::ZERO);
    assert_eq!(node.link(3).eligible, LENGTH + LENGTH);
    let left = [node.data(3), node.data(3)];
    assert!(
        left.contains(&Some(from_host)) && left.contains(&Some(behind)),
        "{left:?}"
    );
    node.receive(EDGE + 1, Z).unwrap();
    assert_eq!(node.data(3), None);
    node.tell(3, 1);
    node.tell(3, 0);
    assert!(node.data(3).is_some(), "Feedback 0 lets all leave");
}

#[test]
fn with_feedback_d_nothing_leaves() {
    for quanta in [vec![6], vec![65_535]] {
        let mut node = Node::tight();
        let mut sent = 0;
        for _ in 0..5 {
            node.receive(0, X).unwrap();
        }
        assert_eq!(node.level_of(X), Some(5));
        quanta.iter().for_each(|quanta| node.tell(3, *quanta));
        sent += u32::from(node.data(3).is_some());
        assert_eq!(sent, 0, "{quanta:?}");
    }
}

#[test]
fn feedback_says_what_a_full_buffer_takes_and_nothing_is_lost() {
    let mut node = Node::tight();
    let mut told = Vec::new();
    for n in 0..5 {
        node.receive(0, n).unwrap();
        told.push(node.told(0));
    }
    assert_eq!(told[..4], [vec![2, 0], vec![3, 0], vec![4, 0], vec![5, 0]]);
    assert_eq!(told[4], [65_535], "D: a regular neighbour stops, too");
    assert_eq!(node.receive(0, X), Err(DropReason::HeadroomExceeded));
    let seen = |kind: &EventKind| matches!(kind, EventKind::HeadroomExceeded { .. });
    assert!(std::iter::from_fn(|| node.switch.poll_event()).any(|event| seen(&event.kind)));
    let first = node.data(3).unwrap();
    node.complete(first);
    let told = node.told(0);
    assert_eq!((told.len(), told.last()), (2, Some(&0)));
}

#[test]
fn an_enhanced_neighbour_gets_one_frame_and_is_understood() {
    let mut config = config(&[GAMMA; 5]);
    config.ports[0].neighbour = Neighbour::Enhanced;
    config.ports[3].neighbour = Neighbour::Enhanced;
    let mut node = Node::new(config);
    node.receive(0, X).unwrap();
    assert_eq!(node.told(0), [2]);
    // Frames blocked by a regular pause continue with the next Feedback.
    node.tell(3, 65_535);
    assert_eq!(node.data(3), None);
    node.tell(3, 2);
    assert!(node.data(3).is_some());
}

#[test]
fn a_regular_neighbour_gets_xoff_and_xon_alone() {
    let mut config = config(&[GAMMA; 5]);
    config.ports[0].neighbour = Neighbour::Regular;
    config.ports[3].neighbour = Neighbour::Regular;
    let mut node = Node::new(config);
    for n in 0..4 {
        node.receive(0, n).unwrap();
        assert_eq!(node.told(0), Vec::<u16>::new());
    }
    node.receive(0, 4).unwrap();
    assert_eq!(node.told(0), [65_535]);
    let frame = node.data(3).unwrap();
    node.complete(frame);
    assert_eq!(node.told(0), [0]);
    assert!(node.data(3).is_some());
}

/// The neighbour may be a switch that treats this one as enhanced, and sends only this when nothing may be sent.
#[test]
fn a_regular_neighbours_pause_that_looks_like_feedback_lasts_until_its_next() {
    for next in [0, 1, 65_535] {
        let mut config = config(&[GAMMA; 5]);
        config.ports[3].neighbour = Neighbour::Regular;
        let mut node = Node::new(config);
        node.receive(0, X).unwrap();
        node.tell(3, 3);
        let data = |node: &mut Node, micros| {
            let now = NOW + Duration::from_micros(micros);
            node.switch.handle_timeout(now);
            std::iter::from_fn(|| node.switch.transmit(now, port(3)))
                .any(|sent| matches!(sent, Transmission::Data { .. }))
        };
        assert!(!data(&mut node, 1000), "long after the 3 quanta");
        assert_eq!(
            node.switch.counters(port(3)).priority[3].feedback_received,
            0
        );
        node.tell(3, next);
        assert_eq!(node.link(3).feedback_received, Level::ZERO);
        assert_eq!(data(&mut node, 1010), next < 2, "{next}");
    }
}

fn becomes(node: &mut Node, number: u8, neighbour: Neighbour) {
    let port = port(number);
    let command = Command::SetNeighbour { port, neighbour };
    node.switch.apply(NOW, command).unwrap();
    assert_eq!(node.switch.neighbour(port), neighbour);
}

#[test]
fn a_neighbour_that_turns_out_enhanced_gets_feedback_after_an_xoff() {
    let mut node = Node::tight();
    for n in 0..5 {
        node.receive(0, n).unwrap();
    }
    assert_eq!(node.told(0), [65_535]);
    becomes(&mut node, 0, Neighbour::Enhanced);
    assert_eq!(node.told(0), [6], "Feedback D, which ends the pause");
    becomes(&mut node, 0, Neighbour::Enhanced);
    assert_eq!(node.told(0), Vec::<u16>::new(), "that is known already");
    let first = node.data(3).unwrap();
    node.complete(first);
    let told = node.told(0);
    assert!(
        matches!(told[..], [quanta] if (1..6).contains(&quanta)),
        "one frame: {told:?}"
    );
}

#[test]
fn a_neighbour_that_turns_out_regular_is_stopped_by_an_xoff() {
    let mut config = config(&[GAMMA; 5]);
    config.ports[0].neighbour = Neighbour::Enhanced;
    let mut node = Node::new(config);
    for n in 0..5 {
        node.receive(0, n).unwrap();
    }
    assert_eq!(node.told(0), [6]);
    becomes(&mut node, 0, Neighbour::Regular);
    assert_eq!(node.told(0), [65_535]);
    let first = node.data(3).unwrap();
    node.complete(first);
    assert_eq!(node.told(0), [0]);
    becomes(&mut node, 0, Neighbour::Unknown);
    let told = node.told(0);
    assert!(
        matches!(told[..], [quanta, 0] if quanta > 0),
        "a pair: {told:?}"
    );
}

#[test]
fn feedback_of_a_neighbour_that_becomes_regular_counts_until_it_expires() {
    let mut config = config(&[GAMMA; 5]);
    config.ports[3].neighbour = Neighbour::Enhanced;
    let mut node = Node::new(config);
    node.tell(3, 6);
    node.receive(0, X).unwrap();
    becomes(&mut node, 3, Neighbour::Regular);
    assert_eq!(node.data(3), None);
    node.switch.handle_timeout(NOW + Duration::from_secs(1));
    assert!(node.data(3).is_some());
}

#[test]
fn a_port_that_does_not_exist_has_no_neighbour() {
    let port = port(200);
    let neighbour = Neighbour::Regular;
    let command = Command::SetNeighbour { port, neighbour };
    assert_eq!(
        Node::tight().switch.apply(NOW, command),
        Err(CommandError::NoSuchPort(port))
    );
}

#[test]
fn a_host_is_paused_by_plain_pfc() {
    let mut node = Node::tight();
    for _ in 0..6 {
        node.receive(EDGE + 1, X).unwrap();
    }
    assert_eq!(node.told(EDGE + 1), [65_535]);
    assert_eq!(node.switch.gauges(NOW, port(EDGE), P3).levels, None);
}

#[test]
fn a_route_longer_than_d_is_counted_and_reported() {
    let mut node = Node::tight();
    for _ in 0..5 {
        node.receive(0, 12).unwrap();
    }
    assert_eq!(node.level_of(12), Some(5));
    assert_eq!(
        node.switch.poll_event(),
        None,
        "at its destination D is right"
    );
    for _ in 0..5 {
        node.receive(1, X).unwrap();
    }
    let told: Vec<_> = std::iter::from_fn(|| node.switch.poll_event()).collect();
    assert!(
        matches!(told[..], [event] if matches!(event.kind,
            EventKind::RouteTooLong { destination, .. } if destination == address(X))),
        "{told:?}"
    );
    let counters = node.switch.counters(port(1));
    assert_eq!(counters.priority[P3.index()].routes_too_long, 1);
}

#[test]
fn draining_admits_frames_on_the_line_and_asks_for_no_more() {
    let mut node = Node::tight();
    node.switch.apply(NOW, Command::Drain).unwrap();
    assert_eq!(node.told(0), [65_535]);
    node.receive(0, X).unwrap();
    assert!(node.data(3).is_some());
}

/// Nothing leaves before the neighbour has sent its Feedback.
#[test]
fn a_switch_that_takes_over_waits_for_feedback() {
    let mut node = Node::tight();
    node.switch.apply(NOW, Command::AssumePaused).unwrap();
    assert_eq!(node.link(3).feedback_received, node.link(3).depth);
    let sent = node.receive(0, X).unwrap();
    assert_eq!(node.data(3), None);
    node.tell(3, 1);
    node.tell(3, 0);
    assert_eq!(node.data(3), Some(sent));
}

#[test]
fn there_is_nothing_to_release() {
    let mut node = Node::tight();
    let release = Command::Release {
        ingress: port(0),
        egress: port(3),
        priority: P3,
        period: Duration::from_millis(5),
        preference: Duration::ZERO,
        extra: GAMMA,
    };
    assert_eq!(
        node.switch.apply(NOW, release),
        Err(CommandError::HasLevels(P3))
    );
}

#[test]
fn impossible_budgets_and_round_trips_are_refused_with_their_numbers() {
    let small = config(&[GAMMA, Bytes::new(1024), GAMMA]);
    let error = Switch::new(small).unwrap_err();
    assert_eq!(
        error.to_string(),
        "priority 3: budget b_2 (1024 B) must be at least one frame of 1536 B in whole cells (γmax)"
    );
    let mut long = config(&[Bytes::new(64 * 1024), Bytes::new(72 * 1024)]);
    assert_eq!(long.reserve(&long.ports[1]), Bytes::ZERO);
    long.ports[1].round_trip = Duration::from_micros(100);
    // 12,500 B on the line; frames of 60 B charge 256 B for each 84 B of them. Eight repeats, each after a sixteenth of
    // that.
    let reserve = Bytes::new(38_096 + 8 * 2_381);
    assert_eq!(long.reserve(&long.ports[1]), reserve);
    assert_eq!(long.validate(), Ok(()));
    long.ports[1].round_trip = Duration::from_micros(200);
    assert!(
        matches!(long.validate(), Err(ConfigError::RoundTripTooLong { port: 1, level: 1, budget, needed, .. })
            if budget == Bytes::new(64 * 1024) && needed > budget),
        "{:?}",
        long.validate()
    );
    let mut second = config(&[Bytes::new(64 * 1024), GAMMA]);
    second.ports[1].round_trip = Duration::from_micros(100);
    assert!(
        matches!(
            second.validate(),
            Err(ConfigError::RoundTripTooLong {
                port: 1,
                level: 2,
                ..
            })
        ),
        "{:?}",
        second.validate()
    );
}
