//! The deadlock experiment of the CLCM paper (Figure 4) on rings of cores in virtual time.

mod support;

use support::{Network, RingOptions};
use weir_core::control::Policy;
use weir_core::event::EventKind;
use weir_core::Duration;

fn ring(switches: usize, second_host: bool, policy: Policy) -> Network {
    Network::ring(&RingOptions {
        switches,
        second_host,
        policy,
        detect: Duration::from_millis(20),
        clcm_interval: Duration::from_millis(5),
    })
}

#[test]
fn a_second_host_locks_the_ring_under_plain_pfc() {
    for switches in 3..=6 {
        let mut network = ring(switches, true, Policy::Off);
        network.run(Duration::from_millis(400));
        let before = network.received();
        assert!(before > 0);
        network.run(Duration::from_millis(200));
        assert_eq!(network.received(), before, "ring of {switches} moves on");
        assert_eq!(network.suspected(), switches);
        assert!(network.held() > 0);
        assert_eq!(network.dropped(), 0);
    }
}

#[test]
fn without_the_second_host_the_ring_never_locks() {
    for switches in 3..=6 {
        let mut network = ring(switches, false, Policy::Off);
        network.run(Duration::from_millis(600));
        let suspected = network.count_events(|kind| matches!(kind, EventKind::Suspected { .. }));
        assert_eq!(suspected, 0, "ring of {switches}");
        assert_eq!(network.dropped(), 0);
        let before = network.received();
        network.run(Duration::from_millis(100));
        // Every flow has half a line: 100 ms carry about 410 frames.
        let frames = network.received() - before;
        assert!(
            frames > 390 * switches as u64,
            "ring of {switches}: {frames}"
        );
    }
}

#[test]
fn the_deadlock_breaker_keeps_the_ring_moving_without_loss() {
    for switches in 3..=6 {
        let mut network = ring(switches, true, Policy::Breaker);
        let mut last = 0;
        for part in 0..10 {
            network.run(Duration::from_millis(150));
            let received = network.received();
            assert!(received > last, "ring of {switches} stands in part {part}");
            last = received;
        }
        let releases =
            network.count_events(|kind| matches!(kind, EventKind::ReleaseStarted { .. }));
        assert!(releases >= switches, "{releases} releases");
        network.settle(Duration::from_secs(2));
        assert_eq!(network.held(), 0, "ring of {switches} does not drain");
        assert_eq!(network.received(), network.sent());
        assert_eq!(network.reordered(), 0);
        assert_eq!(network.dropped(), 0);
    }
}
