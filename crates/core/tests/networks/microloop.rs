//! Short-lived routing loops, under Levels. Looping frames travel further than the D links that the class is made for:
//! every buffer of the loop fills with frames of Level D, every Feedback is D, and once the routes are right again
//! nothing moves by itself. The remedies apply to it, and only those that drop lose frames.

use crate::support::{Disturbance, Network, Random, Recovery, RingOptions, PRIORITY};
use weir_core::config::{LifetimeConfig, StormAction, WatchdogConfig};
use weir_core::control::Policy;
use weir_core::event::{EventKind, SuspicionReason};
use weir_core::{
    Command, DropReason, Duration, FeedbackCoding, MacAddress, Neighbour, PortId, PortSet,
};

fn address(host: usize) -> MacAddress {
    MacAddress([2, 0x57, 0, 0, 0x10, host as u8])
}

fn route(network: &mut Network, switch: usize, host: usize, port: u8) {
    let members: PortSet = [PortId::new(port)].into_iter().collect();
    let set = Command::SetRoute {
        destination: address(host),
        members,
        buckets: 1,
    };
    let now = network.now;
    network.nodes[switch].switch.apply(now, set).unwrap();
}

/// Switch 0 forwards frames for its own host on round the ring for a while.
fn loop_for(network: &mut Network, span: Duration) {
    route(network, 0, 0, 0);
    network.run(span);
    route(network, 0, 0, 2);
}

fn ring(options: &RingOptions) -> Network {
    let mut network = Network::ring(options);
    network.run(Duration::from_millis(20));
    network
}

fn options(switches: usize, policy: Policy) -> RingOptions {
    RingOptions {
        switches,
        policy,
        levels: true,
        keeps_order: true,
        neighbour: Neighbour::Enhanced,
        ..RingOptions::default()
    }
}

fn too_long(network: &Network) -> usize {
    network.count_events(|kind| matches!(kind, EventKind::RouteTooLong { .. }))
}

fn releases(network: &Network) -> usize {
    network.count_events(|kind| matches!(kind, EventKind::ReleaseStarted { .. }))
}

fn dropped_as(network: &Network, reason: DropReason) -> u64 {
    let ports = network.nodes.iter().flat_map(|node| {
        let count = node.switch.config().ports.len() as u8;
        (0..count).map(|port| node.switch.counters(PortId::new(port)))
    });
    ports.map(|counters| counters.drops[reason.index()]).sum()
}

#[test]
fn off_reports_it_and_leaves_it() {
    for neighbour in [Neighbour::Enhanced, Neighbour::Unknown] {
        let mut network = ring(&RingOptions {
            neighbour,
            ..options(3, Policy::Off)
        });
        loop_for(&mut network, Duration::from_millis(100));
        network.settle(Duration::from_secs(3));
        assert!(network.held() > 0, "the control: it locks");
        assert_eq!(network.dropped(), 0);
        assert!(too_long(&network) > 0);
        assert!(network.suspected() >= 3);
        let expected = match neighbour {
            Neighbour::Enhanced => SuspicionReason::NoEligibleLevel,
            _ => SuspicionReason::Paused,
        };
        let told = network.count_events(
            |kind| matches!(kind, EventKind::Suspected { reason, .. } if *reason == expected),
        );
        assert!(told >= 3);
    }
}

/// Checks that all frames arrive, none is dropped, and the buffers are as before.
fn assert_recovers(network: &mut Network, what: &str) {
    network.settle(Duration::from_secs(10));
    assert_eq!(network.held(), 0, "{what}: does not drain");
    assert_eq!(network.dropped(), 0, "{what}");
    assert_eq!(network.received(), network.sent(), "{what}");
    for node in &network.nodes {
        for port in 0..2 {
            let gauges = node.switch.gauges(network.now, PortId::new(port), PRIORITY);
            let levels = gauges.levels.unwrap();
            assert_eq!(levels.feedback_sent.get(), 0, "{what}");
        }
    }
}

#[test]
fn the_deadlock_breaker_releases_it_without_loss() {
    let mut locked = 0;
    for switches in 3..=6 {
        for (coding, neighbour) in [
            (FeedbackCoding::Pfc, Neighbour::Enhanced),
            (FeedbackCoding::Pfc, Neighbour::Unknown),
            (FeedbackCoding::Pause, Neighbour::Enhanced),
            (FeedbackCoding::Grants, Neighbour::Enhanced),
        ] {
            for policy in [Policy::Breaker, Policy::Auto] {
                let what = format!("ring of {switches}, {coding:?}, {neighbour:?}, {policy:?}");
                let mut network = ring(&RingOptions {
                    feedback: coding,
                    neighbour,
                    ..options(switches, policy)
                });
                loop_for(&mut network, Duration::from_millis(60 * switches as u64));
                locked += usize::from(releases(&network) > 0);
                // Hosts keep sending.
                network.run(Duration::from_millis(300));
                assert!(too_long(&network) > 0, "{what}");
                assert_recovers(&mut network, &what);
            }
        }
    }
    assert_eq!(locked, 32, "locked while the route was wrong");
}

/// Routes that change all the time, control frames that are lost, late and duplicated, long links, switches that stall.
#[test]
fn nothing_is_lost_under_any_combination_of_disturbances() {
    let mut released = 0;
    for seed in 1..=16 {
        let mut random = Random(seed);
        let mut pick = |count: u64| random.next() % count;
        let switches = 3 + pick(3) as usize;
        let coding = [
            FeedbackCoding::Pfc,
            FeedbackCoding::Pause,
            FeedbackCoding::Grants,
        ][pick(3) as usize];
        let options = RingOptions {
            feedback: coding,
            disturbance: Disturbance::of_timing(pick(3) * 10),
            delay: Duration::from_micros(10 + 90 * pick(2)),
            round_trip: Duration::from_millis(2),
            seed,
            ..options(switches, Policy::Breaker)
        };
        let what = format!("seed {seed}: ring of {switches}, {coding:?}");
        let mut network = ring(&options);
        for _ in 0..6 {
            let host = pick(switches as u64) as usize;
            route(&mut network, host, host, 0);
            network.run(Duration::from_micros(100 + pick(60_000)));
            if pick(2) == 0 {
                network.stalled = Some(pick(switches as u64) as usize);
                network.run(Duration::from_micros(pick(1_000)));
                network.stalled = None;
            }
            route(&mut network, host, host, 2);
            network.run(Duration::from_micros(pick(80_000)));
        }
        released += releases(&network);
        assert_recovers(&mut network, &what);
    }
    assert!(released > 100, "{released} releases");
}

#[test]
fn a_loop_that_stays_goes_round_without_loss() {
    let mut network = ring(&options(4, Policy::Breaker));
    route(&mut network, 0, 0, 0);
    for _ in 0..3 {
        let before = network.received();
        network.run(Duration::from_secs(1));
        assert!(network.received() > before, "others get by");
        assert_eq!(network.dropped(), 0);
    }
    assert!(releases(&network) >= 4);
    route(&mut network, 0, 0, 2);
    assert_recovers(&mut network, "ring of 4");
}

#[test]
fn the_watchdog_drops_it() {
    for action in [StormAction::Drop, StormAction::Forward, StormAction::Alert] {
        let watchdog = WatchdogConfig {
            detection: Duration::from_millis(100),
            restoration: Duration::from_millis(100),
            action,
        };
        let mut network = ring(&RingOptions {
            recovery: Recovery {
                watchdog: Some(watchdog),
                ..Recovery::default()
            },
            ..options(3, Policy::Watchdog)
        });
        loop_for(&mut network, Duration::from_millis(50));
        network.settle(Duration::from_secs(3));
        let storms = network.count_events(|kind| matches!(kind, EventKind::StormDetected { .. }));
        assert!(storms > 0);
        let lost = network.sent() - network.received() - network.held() as u64;
        assert_eq!(lost, network.dropped(), "{action:?}");
        let storm = dropped_as(&network, DropReason::Storm);
        match action {
            StormAction::Drop => {
                assert_eq!(network.held(), 0);
                assert!(storm > 0);
                assert_eq!(network.dropped(), storm);
            }
            // Frames for which the neighbour has no room are lost there.
            StormAction::Forward => {
                assert_eq!(network.held(), 0);
                let exceeded = dropped_as(&network, DropReason::HeadroomExceeded);
                assert_eq!(network.dropped(), exceeded);
            }
            StormAction::Alert => {
                assert!(network.held() > 0);
                assert_eq!(network.dropped(), 0);
            }
        }
        network.run(Duration::from_millis(300));
        let restored = network.count_events(|kind| matches!(kind, EventKind::StormRestored { .. }));
        let expected = if action == StormAction::Alert {
            0
        } else {
            storms
        };
        assert_eq!(restored, expected, "{action:?}");
    }
}

#[test]
fn the_lifetime_limit_drops_it() {
    for stall_count in [0, 2] {
        let lifetime = LifetimeConfig {
            limit: Duration::from_millis(50),
            stall_count,
        };
        let mut network = ring(&RingOptions {
            recovery: Recovery {
                lifetime: Some(lifetime),
                ..Recovery::default()
            },
            ..options(3, Policy::Lifetime)
        });
        assert_eq!(network.dropped(), 0, "nothing while the routes are right");
        loop_for(&mut network, Duration::from_millis(100));
        network.settle(Duration::from_secs(10));
        assert_eq!(network.held(), 0, "stall count {stall_count}");
        let dropped = dropped_as(&network, DropReason::Lifetime);
        assert!(dropped > 0);
        assert_eq!(network.dropped(), dropped);
        assert_eq!(network.received() + dropped, network.sent());
    }
}

/// With routes of at most D links none of these does anything, however full the network is.
#[test]
fn while_no_route_is_longer_than_d_no_measure_acts() {
    let recovery = Recovery {
        watchdog: Some(WatchdogConfig {
            detection: Duration::from_millis(5),
            restoration: Duration::from_millis(5),
            action: StormAction::Drop,
        }),
        lifetime: Some(LifetimeConfig {
            limit: Duration::from_millis(5),
            stall_count: 7,
        }),
        ..Recovery::default()
    };
    for policy in [Policy::Watchdog, Policy::Lifetime, Policy::Auto] {
        let mut network = ring(&RingOptions {
            recovery,
            ..options(4, policy)
        });
        network.run(Duration::from_millis(500));
        assert_eq!(too_long(&network) + releases(&network), 0, "{policy:?}");
        assert_recovers(&mut network, policy.name());
    }
}
