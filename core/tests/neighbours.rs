//! The LLDP agent: when it sends, whom it knows, and what follows.

use proptest::prelude::*;
use weir_core::control::neighbours::{
    AnnouncedPort, LevelMismatch, Lost, NeighbourReportKind, Neighbours, NeighboursConfig,
    ENTRIES_MAX,
};
use weir_core::control::StormNeighbour;
use weir_core::wire::lldp::basic::{ChassisId, PortIdentifier, Text, TimeToLive};
use weir_core::wire::lldp::dcbx::{PfcConfiguration, PfcMismatch, PrioritySet};
use weir_core::wire::lldp::weir::{AnnouncedMode, Depth, Weir, WeirV1};
use weir_core::wire::lldp::{Announcement, Content, Lldp, FRAME_LENGTH_MAX};
use weir_core::{
    Command, Duration, FeedbackCoding, Instant, Level, MacAddress, Neighbour, PortId, Priority,
};

const P0: PortId = PortId::new(0);
const P1: PortId = PortId::new(1);
/// Further down the list: a host's port, one configured regular, one configured enhanced.
const EDGE: PortId = PortId::new(2);
const REGULAR: PortId = PortId::new(3);
const ENHANCED: PortId = PortId::new(4);
const LEVEL: Priority = Priority::ALL[3];
const PFC: Priority = Priority::ALL[4];
const INTERVAL: Duration = Duration::from_secs(30);

fn at(millis: u64) -> Instant {
    Instant::ZERO + Duration::from_millis(1_000_000 + millis)
}

fn seconds(count: u64) -> Instant {
    at(1_000 * count)
}

fn level(depth: u8) -> AnnouncedMode {
    AnnouncedMode::Level(Level::new(depth).and_then(Depth::new).unwrap())
}

/// It hears its neighbour.
fn modes(of_level: AnnouncedMode) -> WeirV1 {
    let mut weir = WeirV1 {
        hears: true,
        ..WeirV1::default()
    };
    weir.modes[LEVEL.index()] = of_level;
    weir.modes[PFC.index()] = AnnouncedMode::Pfc;
    weir
}

fn both() -> PfcConfiguration {
    PfcConfiguration::fixed(PrioritySet::EMPTY.with(LEVEL).with(PFC))
}

/// What a switch says that does not hear its neighbour.
fn deaf(of_level: AnnouncedMode) -> Announcement {
    let weir = WeirV1 {
        hears: false,
        ..modes(of_level)
    };
    Announcement {
        weir: Some(Weir::V1(weir)),
        ..announcement(of_level)
    }
}

/// What one says that has no Levels to speak of, and is none of ours.
fn plain() -> Announcement {
    Announcement {
        weir: None,
        ..announcement(level(3))
    }
}

/// A switch with one class of D = 3 and one under plain PFC.
fn announcement(of_level: AnnouncedMode) -> Announcement {
    Announcement {
        system_name: Some(Text::truncated("s2")),
        pfc: Some(both()),
        weir: Some(Weir::V1(modes(of_level))),
        ..Announcement::new(TimeToLive::STANDARD)
    }
}

fn agent() -> Neighbours {
    let port = |number: u8, of_level, configured, is_fabric| AnnouncedPort {
        identifier: PortIdentifier::interface_name(&format!("p{number}")).unwrap(),
        announcement: announcement(of_level),
        configured,
        is_fabric,
    };
    let config = NeighboursConfig {
        chassis: ChassisId::mac(MacAddress([2, 0, 0, 0, 0, 1])),
        interval: INTERVAL,
        ports: vec![
            port(0, level(3), Neighbour::Unknown, true),
            port(1, level(3), Neighbour::Unknown, true),
            port(2, AnnouncedMode::Pfc, Neighbour::Unknown, false),
            port(3, AnnouncedMode::Pfc, Neighbour::Regular, true),
            port(4, level(3), Neighbour::Enhanced, true),
        ],
    };
    Neighbours::new(config, seconds(0))
}

fn frame(system: u8, content: Content) -> Vec<u8> {
    let lldp = Lldp {
        chassis: ChassisId::mac(MacAddress([2, 0, 0, 0, 9, system])),
        port: PortIdentifier::interface_name("up").unwrap(),
        content,
    };
    let mut buffer = [0; FRAME_LENGTH_MAX];
    let source = MacAddress([2, 0, 0, 0, 9, 9]);
    let length = lldp.emit(source, &mut buffer).unwrap();
    buffer[..length].to_vec()
}

fn announce(announcement: Announcement) -> Vec<u8> {
    frame(1, Content::Announcement(announcement))
}

/// What `port` sends at `now`.
fn sent(agent: &mut Neighbours, now: Instant, port: PortId) -> Option<Lldp> {
    std::iter::from_fn(|| agent.poll_transmit(now))
        .filter(|(from, _)| *from == port)
        .map(|(_, lldp)| lldp)
        .last()
}

fn commands(agent: &mut Neighbours) -> Vec<(PortId, Neighbour)> {
    std::iter::from_fn(|| agent.poll_command())
        .map(|command| match command {
            Command::SetNeighbour { port, neighbour } => (port, neighbour),
            other => panic!("{other:?}"),
        })
        .collect()
}

fn reports(agent: &mut Neighbours) -> Vec<&'static str> {
    std::iter::from_fn(|| agent.poll_report())
        .map(|report| report.kind.name())
        .collect()
}

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
fn what_is_sent_is_believed_for_four_intervals() {
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
fn a_port_that_is_down_sends_nothing_and_forgets() {
    let mut agent = agent();
    agent.receive(seconds(0), P0, &announce(announcement(level(3))));
    commands(&mut agent);
    reports(&mut agent);
    agent.set_link(seconds(1), P0, false);
    assert_eq!(sent(&mut agent, seconds(1), P0), None);
    assert!(agent.entries(P0).is_empty());
    // The other ports have announced themselves meanwhile, which repeats what is in force there.
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

#[test]
fn the_same_protocol_makes_an_enhanced_neighbour_until_it_goes() {
    for goes in [Lost::Expired, Lost::Goodbye] {
        let mut agent = agent();
        agent.receive(seconds(0), P0, &announce(announcement(level(3))));
        assert_eq!(commands(&mut agent), [(P0, Neighbour::Enhanced)]);
        assert_eq!(reports(&mut agent), ["neighbour_found", "neighbour_kind"]);
        assert_eq!(agent.neighbour(P0), Neighbour::Enhanced);
        // Again: nothing new.
        agent.receive(seconds(10), P0, &announce(announcement(level(3))));
        agent.handle_timeout(seconds(130));
        assert_eq!(commands(&mut agent), []);
        assert_eq!(agent.entries(P0).len(), 1);
        match goes {
            Lost::Goodbye => agent.receive(seconds(131), P0, &frame(1, Content::Shutdown)),
            _ => agent.handle_timeout(seconds(131)),
        }
        assert!(agent.entries(P0).is_empty());
        assert_eq!(commands(&mut agent), [(P0, Neighbour::Unknown)]);
        let report = agent.poll_report().unwrap();
        assert!(
            matches!(report.kind, NeighbourReportKind::Lost { reason, .. } if reason == goes),
            "{report:?}"
        );
        let expired = u64::from(goes == Lost::Expired);
        assert_eq!(agent.counters(P0).expired, expired);
    }
}

#[test]
fn another_d_or_mode_makes_a_regular_neighbour_and_a_mismatch() {
    let class = |theirs| LevelMismatch::Class {
        priority: LEVEL,
        ours: level(3),
        theirs,
    };
    for theirs in [level(4), AnnouncedMode::Pfc] {
        let mut agent = agent();
        agent.receive(seconds(0), P0, &announce(announcement(theirs)));
        assert_eq!(commands(&mut agent), [(P0, Neighbour::Regular)]);
        assert_eq!(agent.findings(P0).level, Some(class(theirs)));
        assert_eq!(agent.findings(P0).pfc, None);
        assert_eq!(
            reports(&mut agent),
            ["neighbour_found", "neighbour_kind", "level_mismatch"]
        );
        agent.receive(seconds(1), P0, &announce(announcement(level(3))));
        assert_eq!(commands(&mut agent), [(P0, Neighbour::Enhanced)]);
        assert_eq!(
            reports(&mut agent),
            ["neighbour_kind", "level_mismatch_ended"]
        );
    }
    assert_eq!(
        class(level(4)).to_string(),
        "priority 3 is level with D = 3 here and level with D = 4 at the neighbour"
    );
}

#[test]
fn another_version_is_a_mismatch() {
    let mut frame = announce(announcement(level(3)));
    let tlv = [0x02, 0x57, 0x45, 1, 1];
    let place = frame.windows(5).position(|bytes| bytes == tlv).unwrap();
    frame[place + 4] = 2;
    let mut agent = agent();
    agent.receive(seconds(0), P0, &frame);
    assert_eq!(agent.neighbour(P0), Neighbour::Regular);
    assert_eq!(agent.findings(P0).level, Some(LevelMismatch::Version(2)));
}

#[test]
fn classes_without_levels_may_differ() {
    let mut theirs = announcement(level(3));
    let mut weir = modes(level(3));
    weir.modes[PFC.index()] = AnnouncedMode::Lossy;
    weir.clcm = true;
    theirs.weir = Some(Weir::V1(weir));
    let mut agent = agent();
    agent.receive(seconds(0), P0, &announce(theirs));
    assert_eq!(agent.neighbour(P0), Neighbour::Enhanced);
}

/// What a host's own agent says may be heard before the switch that runs there.
#[test]
fn lldp_without_our_tlv_is_a_regular_switch_once_that_has_lasted() {
    let mut agent = agent();
    agent.receive(seconds(5), P0, &announce(plain()));
    assert_eq!(commands(&mut agent), []);
    assert_eq!(agent.neighbour(P0), Neighbour::Unknown);
    agent.receive(seconds(100), P0, &announce(plain()));
    agent.handle_timeout(seconds(120));
    assert_eq!(commands(&mut agent), []);
    while agent.poll_transmit(seconds(120)).is_some() {}
    commands(&mut agent);
    assert_eq!(agent.next_timeout(), Some(seconds(121)));
    agent.handle_timeout(seconds(121));
    assert_eq!(commands(&mut agent), [(P0, Neighbour::Regular)]);
    assert_eq!(agent.findings(P0).level, None, "that is no mistake");
    // A switch that comes after all begins it anew.
    let ours = Content::Announcement(deaf(level(3)));
    agent.receive(seconds(200), P0, &frame(2, ours));
    assert_eq!(agent.neighbour(P0), Neighbour::Unknown);
    agent.receive(seconds(201), P0, &announce(plain()));
    agent.receive(seconds(202), P0, &frame(2, Content::Shutdown));
    agent.receive(seconds(300), P0, &announce(plain()));
    agent.handle_timeout(seconds(321));
    assert_eq!(agent.neighbour(P0), Neighbour::Unknown);
    agent.handle_timeout(seconds(322));
    assert_eq!(agent.neighbour(P0), Neighbour::Regular);
}

/// Feedback without an XOFF is for those that say that they obey it, and are told that it is obeyed here.
#[test]
fn enhanced_is_who_hears_us_too() {
    let hears = |agent: &mut Neighbours, now| {
        let Content::Announcement(said) = sent(agent, now, P0).unwrap().content else {
            panic!("a goodbye")
        };
        matches!(said.weir, Some(Weir::V1(weir)) if weir.hears)
    };
    let mut agent = agent();
    assert!(!hears(&mut agent, seconds(0)));
    agent.receive(seconds(1), P0, &announce(deaf(level(3))));
    assert_eq!(agent.neighbour(P0), Neighbour::Unknown);
    assert!(hears(&mut agent, seconds(1)), "that is said at once");
    agent.receive(seconds(2), P0, &announce(announcement(level(3))));
    assert_eq!(agent.neighbour(P0), Neighbour::Enhanced);
    agent.receive(seconds(3), P0, &announce(deaf(level(3))));
    assert_eq!(agent.neighbour(P0), Neighbour::Unknown);
    agent.receive(seconds(4), P0, &announce(announcement(level(4))));
    assert!(!hears(&mut agent, seconds(4)), "nobody with our D");
}

/// Whatever it says of Levels: with our TLV it tells storms from loops itself.
#[test]
fn who_judges_storms_is_heard_first_and_configured_second() {
    let plain = plain();
    let mut agent = agent();
    for (port, configured) in [
        (P0, StormNeighbour::Unknown),
        (REGULAR, StormNeighbour::Regular),
        (ENHANCED, StormNeighbour::Judges),
    ] {
        assert_eq!(agent.storm_neighbour(port), configured);
        agent.receive(seconds(0), port, &announce(plain));
        assert_eq!(agent.storm_neighbour(port), StormNeighbour::Regular);
        // An LLDP agent beside a switch of ours says nothing against it.
        let ours = Content::Announcement(announcement(level(7)));
        agent.receive(seconds(1), port, &frame(2, ours));
        assert_eq!(agent.storm_neighbour(port), StormNeighbour::Judges);
        agent.set_link(seconds(2), port, false);
        assert_eq!(agent.storm_neighbour(port), configured);
    }
    assert_eq!(
        agent.storm_neighbour(PortId::new(99)),
        StormNeighbour::Unknown
    );
}

/// A switch and an LLDP agent beside it, or one switch under two names.
#[test]
fn several_at_one_port_are_told_so_that_all_understand() {
    let mut agent = agent();
    let said = |announcement| Content::Announcement(announcement);
    agent.receive(seconds(0), P0, &frame(1, said(announcement(level(3)))));
    let plain = Announcement {
        pfc: None,
        ..plain()
    };
    agent.receive(at(1), P0, &frame(2, said(plain)));
    assert_eq!(agent.neighbour(P0), Neighbour::Unknown, "which is there?");
    assert_eq!(agent.findings(P0).pfc, None, "one of them announces it");
    agent.receive(at(2), P0, &frame(1, said(announcement(level(3)))));
    assert_eq!(agent.neighbour(P0), Neighbour::Enhanced, "both are there");
    agent.receive(at(3), P0, &frame(3, said(announcement(level(5)))));
    assert_eq!(agent.neighbour(P0), Neighbour::Unknown);
    assert!(agent.findings(P0).level.is_some());
    for system in 4..20 {
        agent.receive(at(4), P0, &frame(system, said(plain)));
    }
    assert_eq!(agent.entries(P0).len(), ENTRIES_MAX);
    assert_eq!(agent.counters(P0).table_full, 15);
    // When the others have gone, the first one counts as soon as it is heard again.
    agent.receive(at(5), P0, &frame(1, said(announcement(level(3)))));
    for system in 2..20 {
        agent.receive(seconds(1), P0, &frame(system, Content::Shutdown));
    }
    assert_eq!(agent.neighbour(P0), Neighbour::Enhanced);
}

#[test]
fn a_pfc_mismatch_begins_once_and_ends_once() {
    let mut agent = agent();
    let with = |pfc| {
        announce(Announcement {
            pfc,
            ..announcement(level(3))
        })
    };
    let other = PfcConfiguration::fixed(PrioritySet::EMPTY.with(LEVEL));
    agent.receive(seconds(0), P0, &with(Some(both())));
    reports(&mut agent);
    for second in 1..4 {
        agent.receive(seconds(second), P0, &with(Some(other)));
    }
    assert_eq!(
        agent.findings(P0).pfc,
        Some(PfcMismatch::Enabled {
            ours: both().enabled,
            theirs: other.enabled,
            willing: false
        })
    );
    agent.receive(seconds(4), P0, &with(None));
    assert_eq!(
        agent.findings(P0).pfc,
        Some(PfcMismatch::NotAnnounced {
            ours: both().enabled
        })
    );
    assert_eq!(
        reports(&mut agent),
        ["pfc_mismatch"],
        "another one is the same one"
    );
    agent.receive(seconds(5), P0, &with(Some(both())));
    assert_eq!(reports(&mut agent), ["pfc_mismatch_ended"]);
    agent.receive(seconds(6), P0, &with(None));
    agent.handle_timeout(seconds(200));
    assert_eq!(
        reports(&mut agent),
        [
            "pfc_mismatch",
            "neighbour_lost",
            "neighbour_kind",
            "pfc_mismatch_ended"
        ],
        "nobody is there to differ"
    );
}

#[test]
fn what_is_configured_is_believed_unless_a_switch_of_ours_says_otherwise() {
    let mut agent = agent();
    for number in [EDGE, REGULAR, ENHANCED] {
        agent.receive(seconds(0), number, &announce(plain()));
    }
    agent.handle_timeout(seconds(200));
    for number in [EDGE, REGULAR, ENHANCED] {
        agent.receive(seconds(200), number, &announce(deaf(level(3))));
    }
    assert_eq!(commands(&mut agent), []);
    assert_eq!(agent.neighbour(REGULAR), Neighbour::Regular);
    assert_eq!(agent.neighbour(ENHANCED), Neighbour::Enhanced);
    // What a port of plain PFC by its configuration announces, and another D.
    for theirs in [AnnouncedMode::Pfc, level(4)] {
        for number in [EDGE, REGULAR, ENHANCED] {
            agent.receive(seconds(201), number, &announce(announcement(theirs)));
        }
        assert_eq!(commands(&mut agent), [(ENHANCED, Neighbour::Regular)]);
        assert_eq!(agent.findings(REGULAR).level, None, "that is on purpose");
        let mismatch = agent.findings(ENHANCED).level;
        assert!(mismatch.is_some(), "that is a mistake");
        agent.receive(seconds(202), ENHANCED, &announce(announcement(level(3))));
        assert_eq!(commands(&mut agent), [(ENHANCED, Neighbour::Enhanced)]);
    }
}

/// Grants are for two that count frames; a switch that says nothing about it is believed to.
#[test]
fn grants_are_given_up_where_the_neighbour_tells_feedback_otherwise() {
    let with = |coding| {
        let weir = WeirV1 {
            coding,
            ..modes(level(3))
        };
        Announcement {
            weir: Some(Weir::V1(weir)),
            ..announcement(level(3))
        }
    };
    let grants = Some(FeedbackCoding::Grants);
    let [pfc, pause] = [Some(FeedbackCoding::Pfc), Some(FeedbackCoding::Pause)];
    let mut agent = agent();
    agent.announce(seconds(0), ENHANCED, with(grants));
    agent.announce(seconds(0), P0, with(pfc));
    let codings = |agent: &mut Neighbours| -> Vec<_> {
        std::iter::from_fn(|| agent.poll_command())
            .filter_map(|command| match command {
                Command::SetFeedback { port, coding } => Some((port, coding)),
                _ => None,
            })
            .collect()
    };
    agent.receive(seconds(0), ENHANCED, &announce(with(grants)));
    codings(&mut agent);
    agent.receive(seconds(0), ENHANCED, &announce(with(None)));
    agent.receive(seconds(0), P0, &announce(with(pause)));
    assert_eq!(agent.findings(P0).level, None, "both are understood");
    assert_eq!(codings(&mut agent), []);
    for theirs in [pfc, pause] {
        agent.receive(seconds(1), ENHANCED, &announce(with(theirs)));
        assert_eq!(
            codings(&mut agent),
            [(ENHANCED, FeedbackCoding::Pfc)],
            "what all understand"
        );
        assert_eq!(agent.neighbour(ENHANCED), Neighbour::Enhanced);
        let (ours, theirs) = (FeedbackCoding::Grants, theirs.unwrap());
        let mismatch = Some(LevelMismatch::Coding { ours, theirs });
        assert_eq!(agent.findings(ENHANCED).level, mismatch);
        agent.receive(seconds(2), ENHANCED, &announce(with(grants)));
        assert_eq!(codings(&mut agent), [(ENHANCED, FeedbackCoding::Grants)]);
        assert_eq!(agent.findings(ENHANCED).level, None);
    }
    agent.receive(seconds(3), ENHANCED, &announce(announcement(level(4))));
    assert_eq!(codings(&mut agent), [(ENHANCED, FeedbackCoding::Pfc)]);
    agent.receive(seconds(3), P0, &announce(with(grants)));
    let (ours, theirs) = (FeedbackCoding::Pfc, FeedbackCoding::Grants);
    let mismatch = Some(LevelMismatch::Coding { ours, theirs });
    assert_eq!(agent.findings(P0).level, mismatch, "both sides report it");
    assert_eq!(codings(&mut agent), []);
}

/// Announcements repeat what is in force: a command may have been lost.
#[test]
fn what_was_learnt_is_told_again() {
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
fn ports_that_do_not_exist_are_nobody() {
    let mut agent = agent();
    let nowhere = PortId::new(77);
    agent.receive(seconds(0), nowhere, &announce(announcement(level(3))));
    agent.set_link(seconds(0), nowhere, false);
    assert!(agent.entries(nowhere).is_empty());
    assert_eq!(agent.neighbour(nowhere), Neighbour::Unknown);
}

proptest! {
    /// Whatever comes in, the agent lives, and its tables and queues have an end.
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
