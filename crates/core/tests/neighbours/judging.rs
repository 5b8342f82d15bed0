//! Conclusions from announcements.

use super::*;

#[test]
fn the_same_protocol_makes_a_neighbour_enhanced_until_it_goes() {
    for goes in [Lost::Expired, Lost::Goodbye] {
        let mut agent = agent();
        agent.receive(seconds(0), P0, &announce(announcement(level(3))));
        assert_eq!(commands(&mut agent), [(P0, Neighbour::Enhanced)]);
        assert_eq!(reports(&mut agent), ["neighbour_found", "neighbour_kind"]);
        assert_eq!(agent.neighbour(P0), Neighbour::Enhanced);
        // Repeated: nothing new.
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

/// Announcements of a host's own agent may be heard before those of the switch that runs there.
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
    // The appearance of a switch restarts the wait.
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

/// Feedback without an XOFF is only for neighbours that announce that they obey it, and that know that it is obeyed
/// here.
#[test]
fn a_neighbour_is_enhanced_only_if_it_hears_us() {
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

/// Regardless of its announcements about Levels: a neighbour with our TLV distinguishes storms from loops itself.
#[test]
fn who_judges_storms_is_taken_from_lldp_before_the_configuration() {
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
        // An LLDP agent beside one of our switches is no counter-evidence.
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
fn several_neighbours_at_one_port_get_feedback_that_all_understand() {
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
fn several_switches_are_enhanced_only_where_configured_and_while_all_agree() {
    let mut agent = agent();
    let mut hear = |system, announcement| {
        for port in [P0, ENHANCED] {
            agent.receive(
                seconds(0),
                port,
                &frame(system, Content::Announcement(announcement)),
            );
        }
        (agent.neighbour(P0), agent.neighbour(ENHANCED))
    };
    hear(1, announcement(level(3)));
    let agree = (Neighbour::Unknown, Neighbour::Enhanced);
    assert_eq!(hear(2, announcement(level(3))), agree);
    assert_eq!(hear(3, plain()), agree, "it may be an agent beside them");
    let differ = (Neighbour::Unknown, Neighbour::Unknown);
    assert_eq!(hear(4, announcement(level(4))), differ);
}

#[test]
fn without_levels_a_neighbour_without_our_tlv_is_regular_at_once() {
    let mut agent = agent();
    agent.receive(seconds(0), EDGE, &announce(plain()));
    assert_eq!(agent.neighbour(EDGE), Neighbour::Regular);
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
fn the_configuration_counts_unless_a_weir_neighbour_contradicts() {
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
    // Announcement of a port with plain PFC, and with another D.
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

/// Grants need two ends that count frames; a switch that announces nothing about it is assumed to.
#[test]
fn grants_are_given_up_if_the_neighbour_uses_another_form_of_feedback() {
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
