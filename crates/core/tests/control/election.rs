//! The Loop Breaker's election: one master for each loop, none without a loop.

use std::collections::BTreeSet;

use crate::control::control_net::{
    config, ended, port, received, suspected_with_paths, whole_ring, Net, INTERVAL, PRIORITY,
};
use weir_core::command::RerouteSelection;
use weir_core::control::{
    ControlConfig, ControlPlane, IgnoreReason, LoopBreakerConfig, NoAlternative, Policy, Report,
    ReportKind,
};
use weir_core::wire::clcm::{Clcm, Hop};
use weir_core::{Bytes, Command, Duration, Instant, Spuid};

fn ring(switches: usize, seed: u64) -> Net {
    let mut net = Net::ring_with(switches, seed, config(Policy::LoopBreaker));
    net.alternatives = (0..switches).map(|switch| (switch, 0)).collect();
    net
}

/// (switch, loop's ingress, loop's egress) of all elected masters.
fn masters(net: &Net) -> BTreeSet<(usize, u8, u8)> {
    let elected = |(switch, report): &(usize, Report)| match report.kind {
        ReportKind::MasterElected { egress, .. } => {
            Some((*switch, report.port.get(), egress.get()))
        }
        _ => None,
    };
    net.reports.iter().filter_map(elected).collect()
}

/// The first identifier of each switch's suspected egress.
fn spuids(net: &Net) -> Vec<(Spuid, usize)> {
    let mut spuids = Vec::new();
    for (switch, report) in &net.reports {
        if let ReportKind::SpuidAssigned { spuid } = report.kind {
            spuids.push((spuid, *switch));
        }
    }
    spuids
}

#[test]
fn the_lowest_spuid_of_a_ring_is_its_only_master() {
    for switches in [2, 3, 4, 5, 6, 64] {
        for seed in 1..=20 {
            let mut net = ring(switches, seed);
            net.suspect_all();
            let lowest = spuids(&net).into_iter().min().expect("all are suspected").1;
            net.run(Duration::from_millis(2 * switches as u64 + 1));
            let expected = BTreeSet::from([(lowest, 1, 0)]);
            assert_eq!(masters(&net), expected, "ring of {switches}, seed {seed}");
            let order = (lowest, RerouteSelection::From(port(1)), 0);
            assert!(net.reroutes.iter().all(|reroute| *reroute == order));
        }
    }
}

#[test]
fn a_lower_spuid_outside_the_loop_does_not_keep_it_from_having_a_master() {
    let mut lowest_outside = 0;
    for seed in 1..=40 {
        // 3 → 0 → 1 → 2 → 0: switch 3 waits for the loop but is not part of it.
        let mut net = ring(3, seed);
        net.planes.push(
            Net::with(1, seed + 500, config(Policy::LoopBreaker))
                .planes
                .remove(0),
        );
        net.link(3, 0, 0, 2);
        net.toward.insert((0, 2, 0));
        net.alternatives.insert((3, 0));
        net.suspect_all();
        let mut spuids = spuids(&net);
        spuids.sort_unstable();
        lowest_outside += usize::from(spuids[0].1 == 3);
        let inside = spuids.iter().find(|(_, switch)| *switch != 3).unwrap().1;
        net.run(Duration::from_millis(50));
        assert_eq!(
            masters(&net),
            BTreeSet::from([(inside, 1, 0)]),
            "seed {seed}"
        );
    }
    assert!(
        lowest_outside >= 4,
        "{lowest_outside} of 40: the case was never there"
    );
}

#[test]
fn without_a_loop_there_is_no_master() {
    let mut net = Net::with(5, 3, config(Policy::LoopBreaker));
    for switch in 0..4 {
        net.link(switch, 0, switch + 1, 1);
        net.toward.insert((switch, 1, 0));
        net.alternatives.insert((switch, 0));
    }
    net.suspect_all();
    net.run(Duration::from_millis(200));
    assert!(masters(&net).is_empty());
    assert!(net.reroutes.is_empty());
    let unanswered =
        |(_, report): &&(usize, Report)| matches!(report.kind, ReportKind::Unanswered { .. });
    assert_eq!(
        net.reports.iter().filter(unanswered).count(),
        4,
        "each tells once"
    );
}

#[test]
fn loss_and_duplication_only_cost_time() {
    for seed in 1..=40 {
        let mut net = ring(4, seed);
        net.loss_percent = 20;
        net.suspect_all();
        net.run(Duration::from_millis(200));
        assert_eq!(masters(&net).len(), 1, "seed {seed}");
    }
}

#[test]
fn the_master_is_a_switch_that_has_another_path() {
    for seed in 1..=20 {
        let mut net = ring(4, seed);
        net.alternatives = BTreeSet::from([(2, 0)]);
        net.suspect_all();
        net.run(Duration::from_millis(30));
        assert_eq!(masters(&net), BTreeSet::from([(2, 1, 0)]));
        net.reroutes.dedup();
        assert_eq!(net.reroutes.len(), 1);
    }
}

#[test]
fn a_master_without_a_path_leaves_the_role_to_another() {
    for seed in 1..=20 {
        let mut net = ring(4, seed);
        net.suspect_all();
        let mut order = spuids(&net);
        order.sort_unstable();
        // Frames waiting there had another path, but the loop's flows have none.
        net.alternatives.remove(&(order[0].1, 0));
        net.run(Duration::from_millis(30));
        let both = [order[0].1, order[1].1].map(|switch| (switch, 1, 0));
        assert_eq!(masters(&net), BTreeSet::from(both), "seed {seed}");
        assert!(net.forced.iter().all(|step| step.0 == order[1].1));
        let gave_up = |(switch, report): &(usize, Report)| {
            *switch == order[0].1 && matches!(report.kind, ReportKind::NoAlternative { .. })
        };
        assert!(net.reports.iter().any(gave_up));
    }
}

#[test]
fn with_no_path_anywhere_no_switch_begins_or_flows_from_outside_move() {
    let mut net = Net::ring_with(4, 5, config(Policy::LoopBreaker));
    net.suspect_all();
    net.run(Duration::from_millis(100));
    assert_eq!(net.sent, 0, "nobody has anything to begin");

    let entering = LoopBreakerConfig {
        no_alternative: NoAlternative::RerouteEntering,
        ..LoopBreakerConfig::default()
    };
    let config = ControlConfig {
        loop_breaker: entering,
        ..config(Policy::LoopBreaker)
    };
    let mut net = Net::ring_with(4, 5, config);
    net.suspect_all();
    net.run(Duration::from_millis(20));
    let masters = masters(&net);
    assert_eq!(masters.len(), 1);
    let master = masters.first().unwrap().0;
    assert!(net
        .reroutes
        .contains(&(master, RerouteSelection::NotFrom(port(1)), 0)));
    assert!(!net.forced.is_empty());
}

#[test]
fn the_traffic_release_grows_step_by_step_and_ends_with_the_suspicion() {
    let mut net = ring(4, 9);
    net.suspect_all();
    net.run(INTERVAL.saturating_mul(10));
    let steps: Vec<u64> = net.forced.iter().map(|step| step.3).collect();
    let config = LoopBreakerConfig::default();
    let mut expected = config.traffic_release;
    for step in &steps {
        assert_eq!(Bytes::new(*step), expected);
        expected = (expected + expected).min(config.traffic_release_max);
    }
    assert!(
        (8..=11).contains(&steps.len()),
        "one each interval: {steps:?}"
    );
    let now = net.now;
    for plane in &mut net.planes {
        plane.handle_event(&ended(now, 0));
    }
    net.run(INTERVAL.saturating_mul(10));
    assert_eq!(net.forced.len(), steps.len());
}

#[test]
fn two_loops_through_one_switch_have_a_master_each() {
    for seed in 1..=20 {
        // Switch 0 has two loops: by egress 0 through 1 and 2, by egress 2 through 3 and 4.
        let mut net = Net::with(5, seed, config(Policy::LoopBreaker));
        for (from, egress, to, ingress) in [
            (0, 0, 1, 1),
            (1, 0, 2, 1),
            (2, 0, 0, 1),
            (0, 2, 3, 1),
            (3, 0, 4, 1),
            (4, 0, 0, 2),
        ] {
            net.link(from, egress, to, ingress);
            net.alternatives.insert((from, egress));
        }
        let loops = [
            [(1, 1, 0), (2, 1, 0), (0, 1, 0)],
            [(3, 1, 0), (4, 1, 0), (0, 2, 2)],
        ];
        net.toward = loops.iter().flatten().copied().collect();
        net.suspect_all();
        net.run(Duration::from_millis(60));
        let masters = masters(&net);
        for members in loops {
            let count = members.iter().filter(|pair| masters.contains(pair)).count();
            assert_eq!(count, 1, "seed {seed}: {masters:?}");
        }
        assert_eq!(masters.len(), 2);
    }
}

#[test]
fn messages_do_not_multiply_when_all_queues_wait_for_each_other() {
    let mut net = Net::with(4, 3, config(Policy::LoopBreaker));
    for from in 0..4usize {
        for egress in 0..3u8 {
            let to = (from + 1 + usize::from(egress)) % 4;
            // The port that leads back.
            let ingress = (from + 3 - to) % 4;
            net.link(from, egress, to, ingress as u8);
            net.alternatives.insert((from, egress));
            for other in 0..3 {
                if other != egress {
                    net.toward.insert((from, egress, other));
                }
            }
        }
    }
    net.suspect_all();
    let intervals = 20;
    net.run(INTERVAL.saturating_mul(intervals));
    assert!(!masters(&net).is_empty());
    // Each of 12 ports sends its own, and forwards each of the 11 others at most twice in an interval.
    let bound = 12 * (1 + 2 * 11) * (intervals + 1);
    assert!(net.sent < bound, "{} messages", net.sent);
}

#[test]
fn auto_moves_flows_where_it_can_and_releases_the_loop_in_either_case() {
    for with_path in [true, false] {
        let mut net = Net::ring_with(4, 7, config(Policy::Auto));
        if with_path {
            net.alternatives = (0..4).map(|switch| (switch, 0)).collect();
        }
        net.suspect_all();
        net.run(INTERVAL + Duration::from_millis(10));
        assert_eq!(net.released, whole_ring(4));
        assert_eq!(!net.reroutes.is_empty(), with_path);
        assert_eq!(masters(&net).len(), usize::from(with_path));
        assert!(
            net.forced.is_empty(),
            "a release without loss needs no force"
        );
    }
}

#[test]
fn rerouting_alone_ignores_the_deadlock_breakers_messages() {
    let mut net = ring(3, 1);
    let breaker = Net::with(1, 77, config(Policy::Breaker)).planes.remove(0);
    net.planes[2] = breaker;
    net.suspect_all();
    net.run(Duration::from_millis(30));
    assert!(net.released.is_empty());
    assert!(masters(&net).is_empty());
    let other = IgnoreReason::OtherPolicy.index();
    assert!(net
        .planes
        .iter()
        .all(|plane| plane.counters().clcm_ignored[other] > 0 || plane.counters().clcm_sent > 0));
    assert!(net.planes[2].counters().clcm_ignored[other] > 0);
    assert!(net.planes[0].counters().clcm_ignored[other] > 0);
}

/// A control plane that stands for election at port 0, and its message.
fn candidate() -> (ControlPlane, Clcm) {
    let mut plane = ControlPlane::new(config(Policy::LoopBreaker), 1);
    plane.handle_event(&suspected_with_paths(Instant::ZERO, 0));
    let Some(Command::SendClcm { message, .. }) = plane.poll_command() else {
        panic!("it sends its message at once");
    };
    (plane, message)
}

#[test]
fn a_message_is_either_forwarded_or_counted_as_ignored() {
    let (mut plane, own) = candidate();
    let Spuid(own) = own.origin();
    let other = |spuid| {
        let hop = Hop {
            spuid: Spuid(spuid),
            egress: port(2),
        };
        received(Instant::ZERO, 1, Clcm::begin_election(PRIORITY, hop), &[0])
    };
    plane.handle_event(&other(own - 1));
    assert_eq!(plane.counters().clcm_forwarded, 1);
    assert_eq!(plane.counters().clcm_ignored.iter().sum::<u64>(), 0);
    plane.handle_event(&other(own + 1));
    assert_eq!(plane.counters().clcm_forwarded, 1);
    let outranked = IgnoreReason::Outranked.index();
    assert_eq!(plane.counters().clcm_ignored[outranked], 1);
}

#[test]
fn copies_of_a_message_within_half_an_interval_elect_once() {
    let (mut plane, own) = candidate();
    let half = INTERVAL.divided_by(2);
    for (at, won) in [(0, 1), (half.as_nanos() - 1, 1), (half.as_nanos(), 2)] {
        let at = Instant::ZERO + Duration::from_nanos(at);
        plane.handle_event(&received(at, 1, own, &[0]));
        assert_eq!(plane.counters().elections_won, won);
    }
}
