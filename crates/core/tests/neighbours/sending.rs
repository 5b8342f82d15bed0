//! When the agent sends, and its handling of link changes.

use super::*;

#[test]
fn four_frames_a_second_apart_and_then_one_in_each_interval() {
    let mut agent = agent();
    let mut times = Vec::new();
    let mut now = seconds(0);
    while now < seconds(100) {
        if sent(&mut agent, now, P0).is_some() {
            times.push(now.saturating_since(seconds(0)).as_nanos() / 1_000_000_000);
        }
        let next = agent.next_timeout().unwrap();
        assert!(next > now, "nothing is left to do");
        now = next;
    }
    assert_eq!(times, [0, 1, 2, 3, 33, 63, 93]);
    assert_eq!(agent.counters(P0).tx_frames, 7);
}

#[test]
fn a_new_announcement_goes_out_at_once_and_the_same_one_does_not() {
    let mut agent = agent();
    while agent.next_timeout().unwrap() < seconds(10) {
        let now = agent.next_timeout().unwrap();
        assert!(agent.poll_transmit(now).is_some());
    }
    agent.announce(seconds(10), P0, announcement(level(5)));
    let said = |lldp: Lldp| match lldp.content {
        Content::Announcement(announcement) => announcement,
        Content::Shutdown => panic!("a goodbye"),
    };
    let first = said(sent(&mut agent, seconds(10), P0).unwrap());
    assert_eq!(first.weir, deaf(level(5)).weir);
    assert_eq!(first.ttl.as_duration(), Duration::from_secs(121));
    let due = agent.next_timeout().unwrap();
    agent.announce(seconds(10), P0, announcement(level(5)));
    assert_eq!(agent.next_timeout(), Some(due));
}

#[test]
fn announcements_are_valid_for_four_intervals() {
    let mut agent = agent();
    let lldp = sent(&mut agent, seconds(0), P1).unwrap();
    assert_eq!(lldp.port.as_interface_name(), Some("p1"));
    let Content::Announcement(said) = lldp.content else {
        panic!("{lldp:?}");
    };
    assert_eq!(said.ttl.seconds(), 121);
    assert_eq!(
        Announcement {
            ttl: TimeToLive::STANDARD,
            ..said
        },
        deaf(level(3))
    );
}

#[test]
fn a_new_neighbour_is_answered_fast_and_never_twice_in_a_second() {
    let mut agent = agent();
    for second in 0..4 {
        assert!(sent(&mut agent, seconds(second), P0).is_some());
    }
    agent.receive(at(10_000), P0, &announce(announcement(level(3))));
    assert!(sent(&mut agent, at(10_000), P0).is_some());
    // A neighbour that changes its name all the time does not make us send more.
    for number in 2..10 {
        let content = Content::Announcement(announcement(level(3)));
        agent.receive(at(10_100), P0, &frame(number, content));
        assert_eq!(sent(&mut agent, at(10_100), P0), None);
    }
    let times: Vec<u64> = (10_101..60_000)
        .filter(|millis| sent(&mut agent, at(*millis), P0).is_some())
        .collect();
    assert_eq!(times, [11_000, 12_000, 13_000, 14_000, 44_000]);
}

#[test]
fn a_neighbour_that_repeats_itself_is_not_answered_fast() {
    let mut agent = agent();
    for second in 0..4 {
        agent.receive(seconds(0), P0, &announce(announcement(level(3))));
        assert!(sent(&mut agent, seconds(second), P0).is_some());
    }
    agent.receive(seconds(10), P0, &announce(announcement(level(3))));
    assert_eq!(sent(&mut agent, seconds(10), P0), None);
}

#[test]
fn frames_that_were_not_read_and_reports_that_do_not_fit_are_counted() {
    let mut agent = agent();
    agent.count_limited(P0, 2);
    agent.count_limited(P0, 3);
    assert_eq!(agent.counters(P0).limited, 5);
    // Each announcement and each goodbye is reported; no command concerns a port that leads to a host.
    let said = announce(announcement(AnnouncedMode::Pfc));
    for _ in 0..QUEUE_CAPACITY / 2 {
        agent.receive(seconds(0), EDGE, &said);
        agent.receive(seconds(0), EDGE, &frame(1, Content::Shutdown));
    }
    assert_eq!(agent.overflows(), 0);
    agent.receive(seconds(0), EDGE, &said);
    assert_eq!(agent.overflows(), 1);
    assert_eq!(reports(&mut agent).len(), QUEUE_CAPACITY);
}

#[test]
fn a_port_that_is_down_sends_nothing_and_forgets() {
    let mut agent = agent();
    agent.receive(seconds(0), P0, &announce(announcement(level(3))));
    commands(&mut agent);
    reports(&mut agent);
    agent.set_link(seconds(1), P0, false);
    assert_eq!(sent(&mut agent, seconds(1), P0), None);
    assert!(agent.entries(P0).is_empty());
    // The other ports have sent announcements meanwhile, which repeats the settings in force there.
    let told = commands(&mut agent);
    assert!(told.contains(&(P0, Neighbour::Unknown)), "{told:?}");
    assert_eq!(reports(&mut agent), ["neighbour_lost", "neighbour_kind"]);
    agent.set_link(seconds(50), P0, true);
    let times: Vec<u64> = (50..60)
        .filter(|second| sent(&mut agent, seconds(*second), P0).is_some())
        .collect();
    assert_eq!(times, [50, 51, 52, 53]);
}

#[test]
fn a_goodbye_is_a_shutdown_of_every_link_that_is_up() {
    let mut agent = agent();
    agent.set_link(seconds(0), P1, false);
    let lldp = agent.take_goodbye(P0).unwrap();
    assert_eq!(lldp.content, Content::Shutdown);
    assert_eq!(agent.take_goodbye(P0), None, "once");
    assert_eq!(agent.take_goodbye(P1), None);
    assert_eq!(sent(&mut agent, seconds(0), P0), None);
}

/// Announcements repeat the settings in force: a command may have been lost.
#[test]
fn known_neighbours_are_reported_again() {
    let mut agent = agent();
    agent.receive(seconds(0), P0, &announce(announcement(level(3))));
    commands(&mut agent);
    sent(&mut agent, seconds(0), P0).unwrap();
    assert_eq!(
        commands(&mut agent),
        [
            (P0, Neighbour::Enhanced),
            (P1, Neighbour::Unknown),
            (ENHANCED, Neighbour::Enhanced)
        ]
    );
}

#[test]
fn unknown_ports_are_ignored() {
    let mut agent = agent();
    let nowhere = PortId::new(77);
    agent.receive(seconds(0), nowhere, &announce(announcement(level(3))));
    agent.set_link(seconds(0), nowhere, false);
    assert!(agent.entries(nowhere).is_empty());
    assert_eq!(agent.neighbour(nowhere), Neighbour::Unknown);
}

proptest! {
    /// Whatever is received, the agent keeps working, and its tables and queues stay bounded.
    #[test]
    fn any_bytes_do_no_harm(
        frames in prop::collection::vec(
            (0u8..6, prop::collection::vec(any::<u8>(), 0..80), any::<bool>(), 0u16..200),
            0..60,
        ),
    ) {
        let mut agent = agent();
        let mut now = seconds(0);
        for (port, mut bytes, damaged, wait) in frames {
            if damaged {
                let mut whole = announce(announcement(level(3)));
                let at = usize::from(wait) % whole.len();
                whole[at] = bytes.first().copied().unwrap_or(0);
                bytes = whole;
            }
            now = now + Duration::from_secs(u64::from(wait));
            agent.receive(now, PortId::new(port), &bytes);
            agent.handle_timeout(now);
            while agent.poll_transmit(now).is_some() {}
            prop_assert!(agent.next_timeout().is_none_or(|next| next > now));
            prop_assert!(agent.entries(PortId::new(port)).len() <= ENTRIES_MAX);
        }
        prop_assert_eq!(agent.overflows(), 0);
    }
}
