//! Conclusions from announcements about credits.

use weir_core::control::neighbours::CreditMismatch;
use weir_core::wire::lldp::credits::{AnnouncedCredits, Credits, CreditsV1};
use weir_core::{CreditFallback, CreditHints, CreditTerms};

use super::*;

const SECOND: Priority = Priority::ALL[6];
const BOTH: PrioritySet = PrioritySet(0x60);
const OF_FIRST: PrioritySet = PrioritySet(0x20);
const OF_SECOND: PrioritySet = PrioritySet(0x40);

/// A port that gives `limit` credits of 2,048 B in these priorities and sends frames of up to `longest_bytes`.
fn given(priorities: PrioritySet, limit: u32, longest_bytes: u16) -> CreditsV1 {
    let mut credits = CreditsV1 {
        gives: true,
        longest_bytes,
        ..CreditsV1::default()
    };
    for priority in priorities.iter() {
        credits.classes[priority.index()] = Some(AnnouncedCredits {
            terms: CreditTerms::new(2_048, 0, limit).unwrap(),
            fallback: CreditFallback::Pfc,
        });
    }
    credits
}

fn with(credits: CreditsV1) -> Announcement {
    Announcement {
        credits: Some(Credits::V1(credits)),
        ..announcement(level(3))
    }
}

/// An agent whose ports give 100 credits in both priorities.
fn giving() -> Neighbours {
    let mut agent = agent();
    for port in [P0, EDGE] {
        agent.announce(seconds(0), port, with(given(BOTH, 100, 1_518)));
    }
    agent
}

/// Takes the commands about credits of `port`.
fn told(agent: &mut Neighbours, port: PortId) -> Vec<CreditHints> {
    std::iter::from_fn(|| agent.poll_command())
        .filter_map(|command| match command {
            Command::SetCreditHints { port: at, hints } if at == port => Some(hints),
            _ => None,
        })
        .collect()
}

fn hints(offered: PrioritySet, denied: PrioritySet) -> CreditHints {
    CreditHints {
        offered,
        absent: denied,
        denied,
    }
}

#[test]
fn a_neighbour_with_the_same_classes_is_waited_for() {
    let mut agent = giving();
    agent.receive(seconds(0), P0, &announce(with(given(BOTH, 7, 9_018))));
    let both = hints(BOTH, PrioritySet::EMPTY);
    assert_eq!(told(&mut agent, P0), [both]);
    assert_eq!(agent.findings(P0).credits, None, "limits may differ");
    // The same again: nothing new, but each announcement of ours repeats it.
    agent.receive(seconds(1), P0, &announce(with(given(BOTH, 8, 9_018))));
    assert_eq!(told(&mut agent, P0), []);
    sent(&mut agent, seconds(30), P0).unwrap();
    assert_eq!(told(&mut agent, P0), [both]);
    // Without a neighbour nothing is known.
    agent.set_link(seconds(31), P0, false);
    assert_eq!(told(&mut agent, P0), [CreditHints::default()]);
}

#[test]
fn a_class_that_only_one_end_has_is_told_at_once() {
    let mut agent = giving();
    reports(&mut agent);
    let theirs = Announcement {
        credits: None,
        ..announcement(level(3))
    };
    agent.receive(seconds(0), P0, &announce(theirs));
    assert_eq!(told(&mut agent, P0), [hints(PrioritySet::EMPTY, BOTH)]);
    let differing = |theirs| Some(CreditMismatch::Priorities { ours: BOTH, theirs });
    assert_eq!(agent.findings(P0).credits, differing(PrioritySet::EMPTY));
    assert_eq!(
        differing(PrioritySet::EMPTY).unwrap().to_string(),
        "credits are on for priorities 5,6 here and none at the neighbour: credit-fallback applies to the others; \
         give the same classes mode = \"credit\" at both ends"
    );
    assert!(reports(&mut agent).contains(&"credit_mismatch"));

    agent.receive(
        seconds(1),
        P0,
        &announce(with(given(OF_SECOND, 100, 1_518))),
    );
    assert_eq!(told(&mut agent, P0), [hints(OF_SECOND, OF_FIRST)]);
    assert_eq!(agent.findings(P0).credits, differing(OF_SECOND));
    assert_eq!(reports(&mut agent), [""; 0], "another one is the same one");
    // A port without slots gives none.
    let without_slots = CreditsV1 {
        gives: false,
        ..given(BOTH, 100, 1_518)
    };
    agent.receive(seconds(2), P0, &announce(with(without_slots)));
    assert_eq!(told(&mut agent, P0), [hints(PrioritySet::EMPTY, BOTH)]);
    agent.receive(seconds(3), P0, &announce(with(given(BOTH, 100, 1_518))));
    assert_eq!(told(&mut agent, P0), [hints(BOTH, PrioritySet::EMPTY)]);
    assert_eq!(agent.findings(P0).credits, None);
    assert_eq!(reports(&mut agent), ["credit_mismatch_ended"]);
}

/// Also at a host's port, where nothing is learned about Levels.
#[test]
fn lldp_of_other_vendors_means_no_credits_and_no_epoch() {
    for port in [P0, EDGE] {
        let mut agent = giving();
        agent.receive(seconds(0), port, &announce(plain()));
        let absent = CreditHints {
            absent: BOTH,
            ..CreditHints::default()
        };
        assert_eq!(told(&mut agent, port), [absent]);
        let mismatch = CreditMismatch::NotAnnounced { ours: BOTH };
        assert_eq!(agent.findings(port).credits, Some(mismatch));
        // It was the agent of a host on which a switch starts.
        let switch = Content::Announcement(with(given(BOTH, 100, 1_518)));
        agent.receive(seconds(1), port, &frame(2, switch));
        assert_eq!(told(&mut agent, port), [hints(BOTH, PrioritySet::EMPTY)]);
        assert_eq!(agent.findings(port).credits, None);
    }
}

#[test]
fn without_credits_here_only_the_difference_is_reported() {
    let mut agent = agent();
    agent.receive(seconds(0), P0, &announce(with(given(OF_FIRST, 100, 1_518))));
    assert_eq!(told(&mut agent, P0), []);
    let (ours, theirs) = (PrioritySet::EMPTY, OF_FIRST);
    let mismatch = CreditMismatch::Priorities { ours, theirs };
    assert_eq!(agent.findings(P0).credits, Some(mismatch));
    agent.receive(seconds(1), P0, &announce(announcement(level(3))));
    assert_eq!(agent.findings(P0).credits, None);
}

#[test]
fn another_version_is_waited_for_as_without_lldp() {
    let mut agent = giving();
    let mut frame = announce(with(given(BOTH, 100, 1_518)));
    let tlv = [0x02, 0x57, 0x45, 2, 1];
    let place = frame.windows(5).position(|bytes| bytes == tlv).unwrap();
    frame[place + 4] = 2;
    agent.receive(seconds(0), P0, &frame);
    assert_eq!(told(&mut agent, P0), []);
    let mismatch = agent.findings(P0).credits;
    assert_eq!(mismatch, Some(CreditMismatch::Version(2)));
    agent.receive(seconds(0), P1, &frame);
    assert_eq!(agent.findings(P1).credits, None, "no credits here");
}

/// Neither end ever sends a frame that costs more than the limit, and waits for as many credits as its longest one costs.
#[test]
fn a_limit_below_the_longest_frame_is_named_with_its_remedy() {
    let mut agent = agent();
    let mut found = |ours, theirs| {
        agent.announce(seconds(0), P0, with(ours));
        agent.receive(seconds(0), P0, &announce(with(theirs)));
        agent.findings(P0).credits.map(|found| found.to_string())
    };
    assert_eq!(found(given(BOTH, 5, 1_518), given(BOTH, 5, 9_018)), None);
    assert_eq!(
        found(given(BOTH, 4, 1_518), given(BOTH, 5, 9_018)).unwrap(),
        "priority 5: the neighbour's longest frame of 9018 B costs 5 credits, and this switch gives 4: raise \
         credit-limit here, or lower dataplane.mtu there"
    );
    assert_eq!(
        found(given(BOTH, 5, 9_018), given(BOTH, 4, 1_518)).unwrap(),
        "priority 5: the longest frame here of 9018 B costs 5 credits, and the neighbour gives 4: raise \
         credit-limit there, or lower dataplane.mtu here"
    );
    let mut of_second = given(BOTH, 5, 1_518);
    of_second.classes[SECOND.index()] = given(OF_SECOND, 1, 1_518).classes[SECOND.index()];
    let text = found(of_second, given(BOTH, 5, 9_018)).unwrap();
    assert!(text.starts_with("priority 6: "), "{text}");
}
