//! The Loop Breaker in whole networks of switch cores: flows move off the loop, one switch acts, and the loop does not
//! return.

use std::collections::BTreeSet;

use crate::support::{Network, RingOptions, Topology};
use weir_core::control::{LoopBreakerConfig, NoAlternative, Policy};
use weir_core::event::EventKind;
use weir_core::{Duration, PortId, RerouteBy, RerouteSelection};

/// The rings lock within a tenth of it.
const PART: Duration = Duration::from_millis(500);

/// A ring in which every flow may take either direction at its first switch; all begin clockwise.
fn both_ways_round() -> Topology {
    let mut topology = Topology {
        switches: 4,
        ..Topology::default()
    };
    topology.add_ring(&[0, 1, 2, 3]);
    for index in 0..topology.paths.len() {
        let via = topology.paths[index].via.clone();
        let other = (via[0] + 3) % 4;
        topology.paths[index].alternatives = vec![(via[0], other)];
        topology.detours.push((index, other, via[2]));
    }
    topology
}

/// A ring whose switches have a second path to each other's hosts, through switch 4 in the middle: flows on the loop's
/// pairs have another path.
fn with_a_hub() -> Topology {
    let mut topology = Topology {
        switches: 5,
        ..Topology::default()
    };
    topology.add_ring(&[0, 1, 2, 3]);
    topology.links.extend((0..4).map(|switch| (switch, 4)));
    for index in 0..topology.paths.len() {
        let via = topology.paths[index].via.clone();
        topology.paths[index].alternatives = vec![(via[1], 4)];
        topology.detours.push((index, 4, via[2]));
    }
    topology
}

fn run(topology: &Topology, policy: Policy, loop_breaker: LoopBreakerConfig, seed: u64) -> Network {
    let options = RingOptions {
        policy,
        loop_breaker,
        seed,
        ..RingOptions::default()
    };
    let mut network = Network::of(topology, &options);
    network.run(PART);
    let suspicions = network.count_events(|kind| matches!(kind, EventKind::Suspected { .. }));
    assert!(suspicions >= 4, "it never locked");
    network
}

/// (switch, selection, moved) of all reroutes that moved anything.
fn reroutes(network: &Network) -> Vec<(usize, RerouteSelection, u32)> {
    let moved = |(switch, event): &(usize, weir_core::Event)| match event.kind {
        EventKind::Rerouted {
            selection, moved, ..
        } if moved > 0 => Some((*switch, selection, moved)),
        _ => None,
    };
    network.events.iter().filter_map(moved).collect()
}

fn check_that_it_does_not_come_back(network: &mut Network, what: &str) {
    assert_eq!(network.suspected(), 0, "{what}: still suspected");
    let suspicions = network.count_events(|kind| matches!(kind, EventKind::Suspected { .. }));
    for _ in 0..4 {
        let before: Vec<u64> = network.flows.iter().map(|flow| flow.received).collect();
        network.run(PART);
        for (index, (flow, before)) in network.flows.iter().zip(before).enumerate() {
            assert!(flow.received > before, "{what}: flow {index} stands still");
        }
    }
    let later = network.count_events(|kind| matches!(kind, EventKind::Suspected { .. }));
    assert_eq!(later, suspicions, "{what}: the loop came back");
    network.settle(Duration::from_secs(5));
    assert_eq!(network.sent(), network.received(), "{what}");
    assert_eq!(network.dropped(), 0, "{what}");
}

#[test]
fn flows_on_the_loops_pair_move_and_the_loop_does_not_come_back() {
    for seed in 1..=3 {
        for reroute_by in [RerouteBy::Flow, RerouteBy::Bucket] {
            let what = format!("seed {seed}, {reroute_by:?}");
            let config = LoopBreakerConfig {
                reroute_by,
                no_alternative: NoAlternative::Forward,
                ..LoopBreakerConfig::default()
            };
            let mut network = run(&with_a_hub(), Policy::LoopBreaker, config, seed);
            check_that_it_does_not_come_back(&mut network, &what);
            let reroutes = reroutes(&network);
            let masters: BTreeSet<usize> = reroutes.iter().map(|reroute| reroute.0).collect();
            assert_eq!(masters.len(), 1, "{what}: {reroutes:?}");
            // Port 1 of switch 0 and port 0 of the others lead back round the ring.
            let back = |switch: usize| PortId::new(u8::from(switch == 0));
            for (switch, selection, _) in reroutes {
                assert_eq!(selection, RerouteSelection::From(back(switch)), "{what}");
            }
            let forced: u64 = (0..5).map(|node| forced_frames(&network, node)).sum();
            println!(
                "{what}: {forced} frames forced, {} reordered",
                network.reordered()
            );
            assert!(forced > 0);
        }
    }
}

fn forced_frames(network: &Network, node: usize) -> u64 {
    let switch = &network.nodes[node].switch;
    (0..switch.config().ports.len() as u8)
        .map(|port| {
            switch.counters(PortId::new(port)).priority[crate::support::PRIORITY.index()]
                .forced_frames
        })
        .sum()
}

#[test]
fn where_the_pair_has_no_other_path_flows_that_enter_the_loop_move() {
    for seed in 1..=3 {
        let what = format!("seed {seed}");
        let config = LoopBreakerConfig::default();
        let mut network = run(&both_ways_round(), Policy::LoopBreaker, config, seed);
        check_that_it_does_not_come_back(&mut network, &what);
        let reroutes = reroutes(&network);
        let masters: BTreeSet<usize> = reroutes.iter().map(|reroute| reroute.0).collect();
        assert_eq!(masters.len(), 1, "{what}: {reroutes:?}");
        let entering = |reroute: &(usize, RerouteSelection, u32)| {
            matches!(reroute.1, RerouteSelection::NotFrom(_))
        };
        assert!(reroutes.iter().all(entering), "{what}");
    }
}

#[test]
fn with_no_other_path_the_loop_breaker_does_nothing_and_auto_releases() {
    let mut ring = Topology {
        switches: 4,
        ..Topology::default()
    };
    ring.add_ring(&[0, 1, 2, 3]);
    let config = LoopBreakerConfig::default();
    let mut network = run(&ring, Policy::LoopBreaker, config, 1);
    network.run(PART);
    assert_eq!(network.suspected(), 4, "as stuck as before");
    assert!(reroutes(&network).is_empty());
    assert_eq!(network.dropped(), 0);

    let mut network = run(&ring, Policy::Auto, config, 1);
    for _ in 0..4 {
        let before: Vec<u64> = network.flows.iter().map(|flow| flow.received).collect();
        network.run(PART);
        for (flow, before) in network.flows.iter().zip(before) {
            assert!(flow.received > before);
        }
    }
    network.settle(Duration::from_secs(5));
    assert_eq!(network.sent(), network.received());
    assert_eq!((network.dropped(), network.reordered()), (0, 0));
}

#[test]
fn auto_moves_flows_and_forces_nothing() {
    for topology in [with_a_hub(), both_ways_round()] {
        for seed in 1..=2 {
            let what = format!("seed {seed}");
            let config = LoopBreakerConfig::default();
            let mut network = run(&topology, Policy::Auto, config, seed);
            check_that_it_does_not_come_back(&mut network, &what);
            assert!(
                !reroutes(&network).is_empty(),
                "{what}: it was released, not broken"
            );
            for node in 0..topology.switches {
                assert_eq!(forced_frames(&network, node), 0, "{what}");
            }
        }
    }
}
