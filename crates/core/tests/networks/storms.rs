//! Distinction of PFC storms and credit loops, and the effects of the watchdog and the lifetime limit.

use crate::support::{LineOptions, Network, Random, Recovery, RingOptions, PRIORITY};
use weir_core::config::{LifetimeConfig, StormAction, WatchdogConfig};
use weir_core::control::{Policy, ReportKind, StormNeighbour};
use weir_core::event::EventKind;
use weir_core::{Command, DropReason, Duration, Instant, PortId, Quanta};

const RUNS: u64 = 50;

fn millis(random: &mut Random, least: u64, most: u64) -> Duration {
    Duration::from_millis(least + random.next() % (most - least + 1))
}

/// (switch, egress) of every declared storm.
fn storms(network: &Network) -> Vec<(usize, PortId)> {
    let events = network.events.iter();
    events
        .filter_map(|(switch, event)| match event.kind {
            EventKind::StormDetected {
                egress, priority, ..
            } => {
                assert_eq!(priority, PRIORITY);
                Some((*switch, egress))
            }
            _ => None,
        })
        .collect()
}

fn loops(network: &Network) -> usize {
    let reports = network.reports.iter();
    reports
        .filter(|(_, report)| matches!(report.kind, ReportKind::LoopFound { .. }))
        .count()
}

fn restored(network: &Network) -> usize {
    network.count_events(|kind| matches!(kind, EventKind::StormRestored { .. }))
}

fn stalls(network: &Network) -> usize {
    network.count_events(|kind| matches!(kind, EventKind::PauseStalled { .. }))
}

fn dropped_for(network: &Network, reason: DropReason) -> u64 {
    let nodes = network.nodes.iter();
    nodes
        .flat_map(|node| {
            let ports = node.switch.config().ports.len();
            (0..ports).filter_map(PortId::from_index).map(|port| {
                let counters = node.switch.counters(port);
                counters.drops[reason.index()]
            })
        })
        .sum()
}

struct StormRun {
    network: Network,
    action: StormAction,
    origin: (usize, PortId),
    ends: bool,
    what: String,
}

/// A host at a random place in a random row of switches pauses its switch, for a while or for ever.
fn run_storm(seed: u64) -> StormRun {
    let mut random = Random(seed * 7919);
    let action = StormAction::ALL[random.next() as usize % 3];
    let switches = 2 + random.next() as usize % 4;
    let hosts_each = 1 + random.next() as usize % 2;
    let watchdog = WatchdogConfig {
        detection: millis(&mut random, 30, 80),
        restoration: millis(&mut random, 30, 80),
        action,
    };
    let mut network = Network::line(&LineOptions {
        switches,
        hosts_each,
        policy: Policy::Breaker,
        detect: millis(&mut random, 10, 100),
        clcm_interval: millis(&mut random, 1, 10),
        recovery: Recovery {
            watchdog: Some(watchdog),
            neighbour: StormNeighbour::Judges,
            ..Recovery::default()
        },
        seed: seed + 1,
    });
    network.run(millis(&mut random, 1, 30));
    let host = network.receiver(random.next() as usize % (switches * hosts_each));
    let quanta = Quanta(0x1000 + (random.next() % 0x3000) as u16);
    let ends = random.next().is_multiple_of(2);
    let resumes = random.next().is_multiple_of(2);
    let span = millis(&mut random, 170, 260);
    let until = if ends {
        network.now + span
    } else {
        Instant::FAR_FUTURE
    };
    network.begin_storm(host, quanta, until, resumes);
    network.run(span + Duration::from_millis(200));
    StormRun {
        network,
        action,
        origin: (
            host / hosts_each,
            PortId::new(2 + (host % hosts_each) as u8),
        ),
        ends,
        what: format!("seed {seed}: host {host} of {switches} × {hosts_each}, {action:?}"),
    }
}

#[test]
fn a_storm_is_reported_at_the_host_that_makes_it_and_is_never_a_loop() {
    let mut victims = 0;
    for seed in 1..=RUNS {
        let StormRun {
            mut network,
            action,
            origin,
            ends,
            what,
        } = run_storm(seed);
        let called = storms(&network);
        assert_eq!(called, [origin], "{what}");
        assert_eq!(loops(&network), 0, "{what}");
        assert_eq!(restored(&network), usize::from(ends), "{what}");
        victims += stalls(&network) - called.len();
        let lost = dropped_for(&network, DropReason::Storm);
        assert_eq!(lost > 0, action == StormAction::Drop, "{what}");
        assert_eq!(network.dropped(), lost, "{what}: for no other reason");
        if ends || action != StormAction::Alert {
            network.settle(Duration::from_secs(2));
            assert_eq!(network.held(), 0, "{what}");
            let lost = dropped_for(&network, DropReason::Storm);
            assert_eq!(network.received() + lost, network.sent(), "{what}");
        }
    }
    // Congestion trees did grow, with victims to be judged.
    assert!(victims > 30, "{victims} victims stalled");
}

#[test]
fn a_loop_is_never_a_storm() {
    let (mut stalled, mut found) = (0, 0);
    for seed in 1..=RUNS {
        let mut random = Random(seed * 104_729);
        let switches = 3 + random.next() as usize % 4;
        let policy = if seed % 5 == 0 {
            Policy::Off
        } else {
            Policy::Breaker
        };
        let mut network = Network::ring(&RingOptions {
            switches,
            policy,
            detect: millis(&mut random, 10, 40),
            clcm_interval: millis(&mut random, 1, 10),
            seed,
            recovery: Recovery {
                watchdog: Some(WatchdogConfig {
                    // Shorter than the time to find and release a loop: every loop is a stall first.
                    detection: millis(&mut random, 4, 9),
                    restoration: millis(&mut random, 30, 80),
                    action: StormAction::ALL[random.next() as usize % 3],
                }),
                neighbour: StormNeighbour::Judges,
                ..Recovery::default()
            },
            ..RingOptions::default()
        });
        network.run(Duration::from_millis(350));
        let what = format!("seed {seed}: ring of {switches}, {policy:?}");
        assert_eq!(storms(&network), [], "{what}");
        assert_eq!(network.dropped(), 0, "{what}");
        assert!(stalls(&network) >= switches, "{what}: did it lock?");
        stalled += stalls(&network);
        if policy == Policy::Breaker {
            assert!(loops(&network) > 0, "{what}");
            found += 1;
        }
    }
    assert!(found >= 40, "{found} loops, {stalled} stalls");
}

/// Behaviour of a switch that cannot distinguish the two.
#[test]
fn as_a_deadlock_policy_the_watchdog_takes_a_loop_for_a_storm() {
    for switches in 3..=6 {
        let mut network = Network::ring(&RingOptions {
            switches,
            policy: Policy::Watchdog,
            recovery: Recovery {
                watchdog: Some(WatchdogConfig {
                    detection: Duration::from_millis(40),
                    restoration: Duration::from_millis(40),
                    action: StormAction::Drop,
                }),
                neighbour: StormNeighbour::Judges,
                ..Recovery::default()
            },
            ..RingOptions::default()
        });
        network.run(Duration::from_millis(500));
        assert!(!storms(&network).is_empty(), "ring of {switches}");
        assert!(dropped_for(&network, DropReason::Storm) > 0);
        let before = network.received();
        network.run(Duration::from_millis(300));
        assert!(network.received() > before, "ring of {switches} stands");
        network.settle(Duration::from_secs(3));
        assert_eq!(network.held(), 0, "ring of {switches} does not drain");
        assert_eq!(network.received() + network.dropped(), network.sent());
    }
}

#[test]
fn a_watchdog_that_is_stopped_lets_go_and_can_be_started_again() {
    let watchdog = WatchdogConfig {
        detection: Duration::from_millis(40),
        restoration: Duration::from_millis(40),
        action: StormAction::Forward,
    };
    let mut network = Network::line(&LineOptions {
        switches: 2,
        hosts_each: 1,
        policy: Policy::Off,
        detect: Duration::from_millis(20),
        clcm_interval: Duration::from_millis(5),
        recovery: Recovery::default(),
        seed: 1,
    });
    network.run(Duration::from_millis(5));
    network.begin_storm(0, Quanta(0x1000), Instant::FAR_FUTURE, false);
    network.run(Duration::from_millis(100));
    assert_eq!(stalls(&network), 0, "nobody watches");
    let received = |network: &Network| network.received();
    let edge = PortId::new(2);
    for part in 0..2 {
        let set = |network: &mut Network, watchdog| {
            let now = network.now;
            let command = Command::SetWatchdog {
                port: edge,
                watchdog,
            };
            network.nodes[0].switch.apply(now, command).unwrap();
        };
        set(&mut network, Some(watchdog));
        network.run(Duration::from_millis(60));
        assert_eq!(storms(&network).len(), part + 1);
        let before = received(&network);
        network.run(Duration::from_millis(60));
        let node = &network.nodes[0];
        let gauges = node.switch.gauges(network.now, edge, PRIORITY);
        assert_eq!(gauges.storm, Some(StormAction::Forward));
        let counters = node.switch.counters(edge).priority[PRIORITY.index()];
        assert!(counters.storm_forwarded > 100, "{counters:?}");
        assert!(received(&network) > before + 100);
        set(&mut network, None);
        assert_eq!(network.nodes[0].switch.watchdog(edge), None);
        network.run(Duration::from_millis(20));
        assert_eq!(restored(&network), part + 1);
        let sent = network.nodes[0].switch.counters(edge).priority[PRIORITY.index()].tx_frames;
        network.run(Duration::from_millis(100));
        let counters = network.nodes[0].switch.counters(edge).priority[PRIORITY.index()];
        assert_eq!(counters.tx_frames, sent, "the pause counts again");
    }
    assert_eq!(network.dropped(), 0);
}

#[test]
fn the_lifetime_limit_keeps_the_ring_moving_and_costs_frames() {
    for switches in 3..=6 {
        let mut network = Network::ring(&RingOptions {
            switches,
            policy: Policy::Lifetime,
            recovery: Recovery {
                lifetime: Some(LifetimeConfig {
                    limit: Duration::from_millis(20),
                    stall_count: 7,
                }),
                ..Recovery::default()
            },
            ..RingOptions::default()
        });
        let mut last = 0;
        for part in 0..5 {
            network.run(Duration::from_millis(500));
            let received = network.received();
            assert!(received > last, "ring of {switches} stands in part {part}");
            last = received;
        }
        let lost = dropped_for(&network, DropReason::Lifetime);
        assert!(lost > 0, "ring of {switches} did not lock");
        assert_eq!(network.dropped(), lost);
        network.settle(Duration::from_secs(3));
        assert_eq!(network.held(), 0, "ring of {switches} does not drain");
        let lost = dropped_for(&network, DropReason::Lifetime);
        assert_eq!(network.received() + lost, network.sent());
    }
}

#[test]
fn without_a_loop_no_frame_is_too_old() {
    let mut network = Network::ring(&RingOptions {
        second_host: false,
        recovery: Recovery {
            lifetime: Some(LifetimeConfig {
                limit: Duration::from_millis(20),
                stall_count: 7,
            }),
            ..Recovery::default()
        },
        ..RingOptions::default()
    });
    network.run(Duration::from_millis(800));
    assert!(network.received() > 0);
    assert_eq!(network.dropped(), 0);
}
