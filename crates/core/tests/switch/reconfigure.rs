//! Changes to a running switch: thresholds, detection, deadlock policy. They lose no frame.

use crate::support::{Network, RingOptions, PRIORITY};
use proptest::prelude::*;
use weir_core::config::DetectorConfig;
use weir_core::control::{ControlConfig, Policy};
use weir_core::event::EventKind;
use weir_core::{Bytes, ClassConfig, ClassMode, Command, CommandError, Duration, PfcThresholds};

/// Room for frames that hosts and switches of the test network have in flight: they react within 20 µs at 100 Mbit/s.
const HEADROOM_LEAST_KIB: u64 = 8;

fn class(xoff: u64, xon: u64, headroom: u64) -> ClassConfig {
    let kib = |count| Bytes::new(count * 1024);
    ClassConfig::new(ClassMode::Pfc(
        PfcThresholds::new(kib(xoff), kib(xon), kib(headroom)).unwrap(),
    ))
}

fn set_class(network: &mut Network, node: usize, class: ClassConfig) -> Result<(), CommandError> {
    let priority = PRIORITY;
    let command = Command::SetClass { priority, class };
    network.nodes[node].switch.apply(network.now, command)
}

fn set_policy(network: &mut Network, policy: Policy, detect: Duration) {
    for (index, node) in network.nodes.iter_mut().enumerate() {
        node.control.reconfigure(ControlConfig {
            policy,
            clcm_interval: Duration::from_millis(5),
            release_period: Duration::from_millis(50),
            release_extra: Bytes::new(3072),
            loop_breaker: weir_core::control::LoopBreakerConfig::default(),
            // This value must be ignored.
            port_count: index,
            fabric_ports: weir_core::PortSet::EMPTY,
        });
        let detector = Some(DetectorConfig { detect });
        let command = Command::SetDetector { detector };
        node.switch.apply(network.now, command).unwrap();
    }
}

#[test]
fn a_locked_ring_is_released_once_the_policy_allows_it() {
    for policy in [Policy::Breaker, Policy::Auto] {
        let mut network = Network::ring(&RingOptions::default());
        network.run(Duration::from_millis(400));
        assert_eq!(network.suspected(), 4);
        let before = network.received();
        set_policy(&mut network, policy, Duration::from_millis(10));
        assert_eq!(network.suspected(), 0, "suspicions begin anew");
        network.run(Duration::from_millis(400));
        assert!(network.received() > before + 1000, "{policy:?}");
        network.settle(Duration::from_secs(2));
        assert_eq!(network.held(), 0);
        assert_eq!(network.received(), network.sent());
        assert_eq!(network.dropped(), 0);
    }
}

#[test]
fn a_policy_that_is_turned_off_releases_no_more() {
    let mut network = Network::ring(&RingOptions {
        policy: Policy::Breaker,
        ..RingOptions::default()
    });
    network.run(Duration::from_millis(400));
    set_policy(&mut network, Policy::Off, Duration::from_millis(20));
    // Pending work completes, and the ring locks.
    network.run(Duration::from_secs(2));
    let releases = |network: &Network| {
        network.count_events(|kind| matches!(kind, EventKind::ReleaseStarted { .. }))
    };
    let (before, received) = (releases(&network), network.received());
    assert!(before > 0);
    network.run(Duration::from_millis(500));
    assert_eq!(releases(&network), before);
    assert_eq!(network.received(), received);
    assert_eq!(network.suspected(), 4);
    assert_eq!(network.dropped(), 0);
}

#[test]
fn an_impossible_change_is_refused_and_changes_nothing() {
    let mut network = Network::ring(&RingOptions::default());
    let before = network.nodes[0].switch.config().clone();
    let kib = |count: u64| Bytes::new(count * 1024);
    let lossy = ClassConfig::new(ClassMode::Lossy { buffer: kib(64) });
    let aged = ClassConfig {
        age_limit: Some(Duration::from_millis(10)),
        ..class(60, 52, 32)
    };
    for fixed in [lossy, aged] {
        let refused = set_class(&mut network, 0, fixed);
        assert_eq!(refused, Err(CommandError::ClassFixed(PRIORITY)));
    }
    let no_headroom = set_class(&mut network, 0, class(60, 52, 0));
    assert_eq!(no_headroom, Err(CommandError::BadClass(PRIORITY)));
    let huge = set_class(&mut network, 0, class(600, 52, 32));
    assert!(matches!(huge, Err(CommandError::TooFewFrames { .. })));
    let zero = Command::SetDetector {
        detector: Some(DetectorConfig {
            detect: Duration::ZERO,
        }),
    };
    let refused = network.nodes[0].switch.apply(network.now, zero);
    assert_eq!(refused, Err(CommandError::ZeroDetect));
    assert_eq!(*network.nodes[0].switch.config(), before);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Thresholds go up and down at any time, in rings that lock and are released meanwhile.
    #[test]
    fn no_frame_is_lost_by_a_change(
        second_host: bool,
        changes in prop::collection::vec(
            (0..4usize, 4..60u64, 1..4u64, HEADROOM_LEAST_KIB..33, 1..40u64),
            1..25,
        ),
    ) {
        let mut network = Network::ring(&RingOptions {
            second_host,
            policy: Policy::Breaker,
            ..RingOptions::default()
        });
        let mut taken = 0;
        for (node, xoff, below, headroom, wait) in changes {
            match set_class(&mut network, node, class(xoff, xoff - below, headroom)) {
                Ok(()) => taken += 1,
                Err(CommandError::BufferDrains { .. }) => {}
                Err(other) => panic!("{other}"),
            }
            network.run(Duration::from_millis(wait));
        }
        prop_assert!(taken > 0);
        network.settle(Duration::from_secs(5));
        prop_assert_eq!(network.held(), 0);
        prop_assert_eq!(network.received(), network.sent());
        prop_assert_eq!(network.dropped(), 0);
        prop_assert_eq!(network.reordered(), 0);
    }
}
