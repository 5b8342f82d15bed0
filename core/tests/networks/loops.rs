//! Several loops at once, in whole networks of switch cores: disjoint ones, ones that share a link, ones that share
//! a switch.

use crate::support::{Network, Path, RingOptions, Topology};
use weir_core::control::Policy;
use weir_core::event::EventKind;
use weir_core::Duration;

/// The rings lock within a tenth of it.
const PART: Duration = Duration::from_millis(500);

fn options(policy: Policy, seed: u64) -> RingOptions {
    RingOptions {
        policy,
        seed,
        ..RingOptions::default()
    }
}

fn two_disjoint_rings() -> Topology {
    let mut topology = Topology {
        switches: 8,
        ..Topology::default()
    };
    topology.add_ring(&[0, 1, 2, 3]);
    topology.add_ring(&[4, 5, 6, 7]);
    topology
}

/// 0 → 1 belongs to both rings.
fn two_rings_with_a_common_link() -> Topology {
    let mut topology = Topology {
        switches: 6,
        ..Topology::default()
    };
    topology.add_ring(&[0, 1, 2, 3]);
    topology.add_ring(&[0, 1, 4, 5]);
    topology
}

/// Switch 0 belongs to both.
fn two_rings_with_a_common_switch() -> Topology {
    let mut topology = Topology {
        switches: 7,
        ..Topology::default()
    };
    topology.add_ring(&[0, 1, 2, 3]);
    topology.add_ring(&[0, 4, 5, 6]);
    topology
}

/// One loop that passes switch 0 twice: 1 → 0 → 2 and 4 → 0 → 5.
fn a_figure_of_eight() -> Topology {
    let mut topology = Topology {
        switches: 7,
        ..Topology::default()
    };
    for link in [
        (0, 2),
        (2, 3),
        (3, 4),
        (4, 0),
        (0, 5),
        (5, 6),
        (6, 1),
        (1, 0),
    ] {
        topology.links.push(link);
    }
    let round = [0, 2, 3, 4, 0, 5, 6, 1];
    for index in 0..round.len() {
        let over_two = [0, 1, 2].map(|step| round[(index + step) % round.len()]);
        topology.paths.push(Path::new(&over_two));
        if index == round.len() - 1 {
            topology.paths.push(Path::new(&over_two));
        }
    }
    topology
}

#[test]
fn each_of_them_locks_under_plain_pfc() {
    for topology in [
        two_disjoint_rings(),
        two_rings_with_a_common_link(),
        two_rings_with_a_common_switch(),
        a_figure_of_eight(),
    ] {
        let mut network = Network::of(&topology, &options(Policy::Off, 1));
        network.run(PART);
        let before: Vec<u64> = network.flows.iter().map(|flow| flow.received).collect();
        network.run(PART);
        let moving = network
            .flows
            .iter()
            .zip(before)
            .filter(|(flow, before)| flow.received > *before);
        println!(
            "suspected {} moving {}",
            network.suspected(),
            moving.count()
        );
        assert_eq!(network.dropped(), 0);
    }
}

/// Its frames go first for longer each time it comes back.
#[test]
fn a_loop_that_persists_flaps_less_and_less() {
    let mut network = Network::ring(&options(Policy::Breaker, 1));
    let mut suspicions = Vec::new();
    for _ in 0..4 {
        let before = network.count_events(|kind| matches!(kind, EventKind::Suspected { .. }));
        network.run(PART);
        let after = network.count_events(|kind| matches!(kind, EventKind::Suspected { .. }));
        suspicions.push(after - before);
    }
    assert!(suspicions[3] > 0, "it is gone: {suspicions:?}");
    assert!(3 * suspicions[3] < 2 * suspicions[0], "{suspicions:?}");
    assert_eq!(network.dropped(), 0);
}

fn check_breaker(topology: &Topology) {
    for seed in 1..=3 {
        let mut network = Network::of(topology, &options(Policy::Breaker, seed));
        network.run(PART);
        for third in 0..3 {
            let before: Vec<u64> = network.flows.iter().map(|flow| flow.received).collect();
            network.run(PART);
            for (index, (flow, before)) in network.flows.iter().zip(before).enumerate() {
                assert!(
                    flow.received > before,
                    "seed {seed}, part {third}: flow {index} stands still, {} suspected",
                    network.suspected()
                );
            }
        }
        network.settle(Duration::from_secs(5));
        assert_eq!(network.sent(), network.received(), "seed {seed}");
        assert_eq!(network.dropped(), 0);
        assert_eq!(network.reordered(), 0);
    }
}

#[test]
fn two_disjoint_loops_are_released() {
    check_breaker(&two_disjoint_rings());
}

#[test]
fn two_loops_with_a_common_link_are_released() {
    check_breaker(&two_rings_with_a_common_link());
}

#[test]
fn two_loops_with_a_common_switch_are_released() {
    check_breaker(&two_rings_with_a_common_switch());
}

#[test]
fn a_loop_through_one_switch_twice_is_released() {
    check_breaker(&a_figure_of_eight());
}
