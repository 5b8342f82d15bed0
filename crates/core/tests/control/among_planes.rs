//! The Deadlock Breaker's control planes with each other.

use crate::control::control_net::{
    config, ended, plane, port, received, suspected, whole_ring, Net, INTERVAL, PORTS, PRIORITY,
};
use std::collections::BTreeSet;

use proptest::prelude::*;
use weir_core::control::{ControlPlane, IgnoreReason, Policy, Report, ReportKind};
use weir_core::wire::clcm::{Clcm, Hop};
use weir_core::{Command, Duration, Instant, Spuid};

#[test]
fn every_switch_of_a_ring_is_released_between_its_ring_ports() {
    for switches in [2, 3, 4, 5, 6, 64] {
        let mut net = Net::ring(switches, 7);
        net.suspect_all();
        // Two rounds at up to 1 ms per hop.
        net.run(Duration::from_millis(2 * switches as u64 + 1));
        assert_eq!(net.released, whole_ring(switches), "ring of {switches}");
    }
}

#[test]
fn a_ring_longer_than_a_message_is_reported_and_left_alone() {
    let mut net = Net::ring(65, 7);
    net.suspect_all();
    net.run(Duration::from_millis(200));
    assert!(net.released.is_empty());
    let full = IgnoreReason::HopsFull.index();
    assert!(net
        .planes
        .iter()
        .any(|plane| plane.counters().clcm_ignored[full] > 0));
}

#[test]
fn loss_and_duplication_only_cost_time() {
    for seed in 1..40 {
        let mut net = Net::ring(4, seed);
        net.loss_percent = 20;
        net.suspect_all();
        net.run(Duration::from_millis(200));
        assert_eq!(net.released, whole_ring(4), "seed {seed}");
    }
}

#[test]
fn a_chain_without_a_loop_is_never_released() {
    let mut net = Net::new(5, 3);
    for switch in 0..4 {
        net.link(switch, 0, switch + 1, 1);
        net.toward.insert((switch, 1, 0));
    }
    net.suspect_all();
    net.run(Duration::from_millis(100));
    assert!(net.released.is_empty());
    assert!(net.sent > 20, "it goes on asking");
}

#[test]
fn a_queue_that_waits_for_a_loop_is_not_part_of_it() {
    // 3 → 0 → 1 → 2 → 0: switch 3 is suspected as well, and its messages go round the loop.
    let mut net = Net::ring(3, 5);
    net.planes.push(plane(99));
    net.link(3, 0, 0, 2);
    net.toward.insert((0, 2, 0));
    net.suspect_all();
    net.run(Duration::from_millis(100));
    assert_eq!(net.released, whole_ring(3));
}

#[test]
fn two_loops_through_one_switch_release_only_loop_ports() {
    // Switch 0 has two loops: by egress 0 through 1 and 2, by egress 2 through 3 and 4.
    let mut net = Net::new(5, 11);
    net.link(0, 0, 1, 1);
    net.link(1, 0, 2, 1);
    net.link(2, 0, 0, 1);
    net.link(0, 2, 3, 1);
    net.link(3, 0, 4, 1);
    net.link(4, 0, 0, 3);
    for entry in [
        (1, 1, 0),
        (2, 1, 0),
        (0, 1, 0),
        (3, 1, 0),
        (4, 1, 0),
        (0, 3, 2),
    ] {
        net.toward.insert(entry);
    }
    net.suspect_all();
    net.run(Duration::from_millis(100));
    assert_eq!(net.released, net.toward);
}

#[test]
fn two_priorities_that_are_locked_at_once_are_both_released() {
    let mut net = Net::ring(4, 17);
    net.suspect_all();
    net.suspect_all_of_the_other_priority();
    net.run(Duration::from_millis(20));
    assert_eq!(net.released, whole_ring(4));
    assert_eq!(net.released_other, whole_ring(4));
}

#[test]
fn switches_with_the_same_identifier_find_new_ones() {
    for seed in 1..=20 {
        let mut net = Net::ring(4, seed);
        // The same seed gives the same identifiers, port by port.
        net.planes[0] = plane(seed);
        net.planes[2] = plane(seed);
        net.suspect_all();
        net.run(INTERVAL.saturating_mul(40));
        assert_eq!(net.released, whole_ring(4), "seed {seed}");
        let assigned = |(switch, report): &&(usize, Report)| {
            [0, 2].contains(switch) && matches!(report.kind, ReportKind::SpuidAssigned { .. })
        };
        assert!(
            net.reports.iter().filter(assigned).count() > 2,
            "seed {seed}"
        );
    }
}

#[test]
fn a_loop_through_a_switch_without_clcm_is_reported_and_left_alone() {
    let mut net = Net::ring(4, 3);
    net.planes[1] = ControlPlane::new(config(Policy::Off), 9);
    net.suspect_all();
    net.run(INTERVAL.saturating_mul(20));
    assert!(net.released.is_empty());
    let told: BTreeSet<usize> = net
        .reports
        .iter()
        .filter(|(_, report)| matches!(report.kind, ReportKind::Unanswered { .. }))
        .map(|(switch, _)| *switch)
        .collect();
    assert_eq!(told, BTreeSet::from([0, 2, 3]));
}

#[test]
fn an_edge_port_sends_no_clcm() {
    let mut plane = plane(1);
    plane.handle_event(&suspected(Instant::ZERO, 3));
    assert_eq!(plane.poll_command(), None);
    assert_eq!(plane.next_timeout(), None);
}

#[test]
fn a_suspicion_sends_at_once_and_every_interval_until_it_ends() {
    let mut plane = plane(1);
    plane.handle_event(&suspected(Instant::ZERO, 0));
    assert!(matches!(
        plane.poll_command(),
        Some(Command::SendClcm { .. })
    ));
    let due = Instant::ZERO + INTERVAL;
    assert_eq!(plane.next_timeout(), Some(due));
    plane.handle_timeout(Instant::from_nanos(due.as_nanos() - 1));
    assert_eq!(plane.poll_command(), None, "too early does nothing");
    plane.handle_timeout(due);
    assert!(matches!(
        plane.poll_command(),
        Some(Command::SendClcm { .. })
    ));
    plane.handle_event(&ended(due, 0));
    assert_eq!(plane.next_timeout(), None);
}

#[test]
fn forged_releases_release_nothing() {
    let mut plane = plane(1);
    plane.handle_event(&suspected(Instant::ZERO, 0));
    let Some(Command::SendClcm { message: own, .. }) = plane.poll_command() else {
        panic!("nothing was sent");
    };
    let forged = |spuid, egress| {
        let hop = Hop {
            spuid,
            egress: port(egress),
        };
        Clcm::begin(PRIORITY, hop).released_at(0).unwrap()
    };
    let at = Instant::from_nanos(1);
    for message in [
        forged(Spuid(own.origin().0 ^ 1), 0),
        forged(own.origin(), 1),
    ] {
        plane.handle_event(&received(at, 1, message, &[0]));
        assert_eq!(plane.poll_command(), None, "{message:?}");
    }
    plane.handle_event(&received(at, 1, forged(own.origin(), 0), &[0]));
    assert!(matches!(
        plane.poll_command(),
        Some(Command::Release { .. })
    ));
}

#[test]
fn a_found_loop_needs_waiting_frames_and_a_lasting_suspicion() {
    let mut plane = plane(1);
    plane.handle_event(&suspected(Instant::ZERO, 0));
    let Some(Command::SendClcm { message: own, .. }) = plane.poll_command() else {
        panic!("nothing was sent");
    };
    let at = Instant::from_nanos(1);
    plane.handle_event(&received(at, 1, own, &[2]));
    assert_eq!(
        plane.poll_command(),
        None,
        "nothing from there waits for port 0"
    );
    plane.handle_event(&ended(at, 0));
    plane.handle_event(&received(at, 1, own, &[0]));
    assert_eq!(plane.poll_command(), None, "the port moves again");
}

#[test]
fn a_late_release_is_obeyed_within_a_bound() {
    let mut plane = plane(1);
    plane.handle_event(&suspected(Instant::ZERO, 0));
    let Some(Command::SendClcm { message: own, .. }) = plane.poll_command() else {
        panic!("nothing was sent");
    };
    let release = own.released_at(0).unwrap();
    let moved = Instant::ZERO + INTERVAL;
    plane.handle_event(&ended(moved, 0));
    plane.handle_event(&received(moved, 1, release, &[]));
    assert_eq!(plane.poll_command(), None, "nothing waits for it");
    plane.handle_event(&received(moved, 1, release, &[0]));
    assert!(matches!(
        plane.poll_command(),
        Some(Command::Release { .. })
    ));
    plane.handle_event(&received(
        moved + INTERVAL.saturating_mul(5),
        1,
        release,
        &[0],
    ));
    assert_eq!(plane.poll_command(), None);
}

#[test]
fn finders_of_one_loop_do_not_add_up() {
    let mut plane = plane(1);
    plane.handle_event(&suspected(Instant::ZERO, 0));
    let Some(Command::SendClcm { message: own, .. }) = plane.poll_command() else {
        panic!("nothing was sent");
    };
    let releases = |plane: &mut ControlPlane| {
        std::iter::from_fn(|| plane.poll_command())
            .filter(|command| matches!(command, Command::Release { .. }))
            .count()
    };
    for micros in 1..5 {
        let at = Instant::ZERO + Duration::from_micros(micros);
        plane.handle_event(&received(at, 1, own, &[0]));
    }
    assert_eq!(releases(&mut plane), 1);
    let later = Instant::ZERO + INTERVAL + INTERVAL;
    plane.handle_event(&received(later, 1, own, &[0]));
    assert_eq!(
        releases(&mut plane),
        1,
        "a loop that stays locked is released again"
    );
}

#[test]
fn with_the_policy_off_nothing_is_sent_and_nothing_obeyed() {
    let mut plane = ControlPlane::new(config(Policy::Off), 1);
    plane.handle_event(&suspected(Instant::ZERO, 0));
    let hop = Hop {
        spuid: Spuid(1),
        egress: port(0),
    };
    plane.handle_event(&received(
        Instant::ZERO,
        1,
        Clcm::begin(PRIORITY, hop),
        &[0],
    ));
    assert_eq!(plane.poll_command(), None);
    let report = plane.poll_report().map(|report| report.kind);
    let reason = IgnoreReason::PolicyOff;
    assert_eq!(report, Some(ReportKind::ClcmIgnored { reason }));
}

#[derive(Clone, Debug)]
enum Input {
    Suspected(u8),
    Ended(u8),
    Received {
        ingress: u8,
        hops: Vec<(u8, u8)>,
        release: Option<u8>,
        toward: Vec<u8>,
    },
    Wait(u16),
}

fn input() -> impl Strategy<Value = Input> {
    let egress = 0..PORTS as u8 + 1;
    prop_oneof![
        egress.clone().prop_map(Input::Suspected),
        egress.clone().prop_map(Input::Ended),
        (
            0..PORTS as u8,
            prop::collection::vec((0u8..6, egress), 1..64),
            prop::option::of(0u8..64),
            prop::collection::vec(0..PORTS as u8, 0..4)
        )
            .prop_map(|(ingress, hops, release, toward)| Input::Received {
                ingress,
                hops,
                release,
                toward
            }),
        any::<u16>().prop_map(Input::Wait),
    ]
}

proptest! {
    /// Whatever is received, a release is ordered only for an egress that is, or recently was, suspected.
    #[test]
    fn only_own_suspects_are_released(inputs in prop::collection::vec(input(), 0..60)) {
        let mut plane = plane(42);
        let mut now = Instant::ZERO;
        // SPUIDs that were really sent, so that messages can contain them; the first entries are forged.
        let mut spuids = vec![Spuid(1), Spuid(2)];
        let mut ever = BTreeSet::new();
        for input in inputs {
            match input {
                Input::Suspected(egress) => {
                    plane.handle_event(&suspected(now, egress));
                    ever.insert(egress);
                }
                Input::Ended(egress) => plane.handle_event(&ended(now, egress)),
                Input::Received { ingress, hops, release, toward } => {
                    let mut hops = hops.into_iter().map(|(spuid, egress)| Hop {
                        spuid: spuids[usize::from(spuid) % spuids.len()],
                        egress: port(egress),
                    });
                    let mut message = Clcm::begin(PRIORITY, hops.next().unwrap());
                    for hop in hops {
                        let _ = message.push(hop);
                    }
                    let index = release.map(|index| usize::from(index) % message.hops().len());
                    let message = index.map_or(message, |index| message.released_at(index).unwrap());
                    plane.handle_event(&received(now, ingress, message, &toward));
                }
                Input::Wait(micros) => {
                    now = now + Duration::from_micros(u64::from(micros));
                    plane.handle_timeout(now);
                }
            }
            while let Some(command) = plane.poll_command() {
                match command {
                    Command::SendClcm { port, message } => {
                        prop_assert!(ever.contains(&port.get()) && port.get() < 3);
                        if message.hops().len() == 1 && !spuids.contains(&message.origin()) {
                            spuids.push(message.origin());
                        }
                    }
                    Command::Release { egress, .. } => {
                        prop_assert!(ever.contains(&egress.get()) && egress.get() < 3);
                    }
                    other => prop_assert!(false, "unexpected {:?}", other),
                }
            }
            while plane.poll_report().is_some() {}
        }
        prop_assert_eq!(plane.counters().overflows, 0);
    }
}
