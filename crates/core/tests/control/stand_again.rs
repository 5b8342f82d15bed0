//! The Loop Breaker when no flow has another path at its first election: a switch that left the election rejoins after
//! its time and when paths change, and sends little meanwhile.

use crate::control::control_net::{
    config, port, received, suspected_with_paths, Net, INTERVAL, PRIORITY,
};
use weir_core::command::RerouteSelection;
use weir_core::control::{
    ControlConfig, ControlPlane, LoopBreakerConfig, NoAlternative, Policy, ReportKind,
};
use weir_core::event::EventKind;
use weir_core::{Command, Duration, Event, Instant};

/// Builds a ring whose switches wrongly believe that they have other paths.
fn deluded(seed: u64, no_alternative: NoAlternative) -> Net {
    let config = ControlConfig {
        loop_breaker: LoopBreakerConfig {
            no_alternative,
            ..LoopBreakerConfig::default()
        },
        ..config(Policy::LoopBreaker)
    };
    let mut net = Net::ring_with(4, seed, config);
    net.alternatives = (0..4).map(|switch| (switch, 0)).collect();
    net.suspect_all();
    net.alternatives.clear();
    net
}

fn gave_up(net: &Net) -> usize {
    let reports = net.reports.iter();
    reports
        .filter(|(_, report)| matches!(report.kind, ReportKind::NoAlternative { .. }))
        .count()
}

fn ways_changed(net: &mut Net) {
    let event = Event {
        at: net.now,
        kind: EventKind::WaysChanged,
    };
    for switch in 0..net.planes.len() {
        net.planes[switch].handle_event(&event);
        net.collect(switch);
    }
}

#[test]
fn a_candidate_that_gave_up_stands_again_after_its_time() {
    for seed in 1..=20 {
        let mut net = deluded(seed, NoAlternative::Forward);
        net.run(INTERVAL.saturating_mul(6));
        assert_eq!(gave_up(&net), 4, "seed {seed}: each tried");
        assert!(net.forced.is_empty());
        // Two links return, without any notification.
        net.alternatives.insert((2, 0));
        net.run(INTERVAL.saturating_mul(12));
        assert!(!net.forced.is_empty(), "seed {seed}");
        assert!(net.forced.iter().all(|step| step.0 == 2), "seed {seed}");
    }
}

#[test]
fn a_switch_without_a_path_tries_ever_less_often() {
    for seed in 1..=20 {
        let mut net = deluded(seed, NoAlternative::Forward);
        let mut tried = Vec::new();
        // Away for 8, 16, 32, 64, 64 intervals.
        for span in [6, 12, 20, 36, 66, 66] {
            let (sent, before) = (net.sent, gave_up(&net));
            net.run(INTERVAL.saturating_mul(span));
            tried.push(gave_up(&net) - before);
            // An attempt goes once round the loop, with four messages, in addition to those outranked on their way.
            assert!(net.sent - sent <= 4 * 4 * 2, "{}", net.sent - sent);
        }
        assert_eq!(tried, [4; 6], "seed {seed}");
    }
}

#[test]
fn a_candidate_that_gave_up_stands_again_when_paths_change() {
    for seed in 1..=20 {
        let mut net = deluded(seed, NoAlternative::Forward);
        // By now they stay out for the longest time.
        net.run(INTERVAL.saturating_mul(6 + 12 + 20 + 36 + 10));
        let before = gave_up(&net);
        net.run(INTERVAL.saturating_mul(10));
        assert_eq!(gave_up(&net), before, "seed {seed}: all stay out");
        net.alternatives = (0..4).map(|switch| (switch, 0)).collect();
        ways_changed(&mut net);
        net.run(INTERVAL.saturating_mul(2));
        assert!(!net.forced.is_empty(), "seed {seed}");
        let master = net.forced[0].0;
        assert!(net.forced.iter().all(|step| step.0 == master));
    }
}

#[test]
fn constantly_changing_paths_cause_no_storm_of_messages() {
    let mut net = deluded(3, NoAlternative::Forward);
    let start = net.sent;
    let intervals = 40;
    for _ in 0..intervals * 50 {
        ways_changed(&mut net);
        net.run(INTERVAL.divided_by(50));
    }
    // Each of four ports starts one in an interval, and forwards each of three others twice.
    let bound = 4 * (1 + 2 * 3) * (intervals + 1);
    let sent = net.sent - start;
    assert!(
        (1..=bound).contains(&sent),
        "{sent} messages, at most {bound}"
    );
}

#[test]
fn a_switch_that_began_without_a_path_stands_on_a_change_or_after_the_longest_time() {
    for told in [true, false] {
        let mut net = Net::ring_with(4, 5, config(Policy::LoopBreaker));
        net.suspect_all();
        net.run(INTERVAL.saturating_mul(20));
        assert_eq!(net.sent, 0, "nobody has anything to begin");
        net.alternatives.insert((1, 0));
        if told {
            ways_changed(&mut net);
            net.run(INTERVAL.saturating_mul(4));
        } else {
            net.run(INTERVAL.saturating_mul(48));
        }
        assert!(!net.forced.is_empty());
        assert!(net.forced.iter().all(|step| step.0 == 1));
    }
}

#[test]
fn a_policy_that_does_not_speak_stays_silent_whatever_changes() {
    let mut net = deluded(1, NoAlternative::RerouteEntering);
    net.run(Duration::from_millis(1));
    for plane in &mut net.planes {
        plane.reconfigure(config(Policy::Off));
    }
    let sent = net.sent;
    ways_changed(&mut net);
    net.run(INTERVAL.saturating_mul(100));
    // Messages in flight may not be forwarded any more either.
    assert_eq!(net.sent, sent);
    assert!(net
        .planes
        .iter()
        .all(|plane| plane.next_timeout().is_none()));
}

#[test]
fn a_change_of_paths_while_a_switch_stands_leaves_its_next_absence_as_long() {
    let mut plane = ControlPlane::new(config(Policy::LoopBreaker), 1);
    let mut now = Instant::ZERO;
    plane.handle_event(&suspected_with_paths(now, 0));
    let Some(Command::SendClcm { message, .. }) = plane.poll_command() else {
        panic!("it sends its message at once");
    };
    for absence in [8, 16] {
        let at = now;
        let kind = EventKind::WaysChanged;
        plane.handle_event(&Event { at, kind });
        plane.handle_event(&received(at, 1, message, &[0]));
        let kind = EventKind::Rerouted {
            selection: RerouteSelection::From(port(1)),
            egress: port(0),
            priority: PRIORITY,
            moved: 0,
            stuck: 1,
        };
        plane.handle_event(&Event { at, kind });
        now = at + INTERVAL.saturating_mul(absence);
        assert_eq!(plane.next_timeout(), Some(now));
        plane.handle_timeout(now);
    }
}
