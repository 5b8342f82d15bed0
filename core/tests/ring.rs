//! The deadlock experiment of the CLCM paper (Figure 4) on rings of cores in virtual time.

mod support;

use support::{Network, RingOptions};
use weir_core::control::Policy;
use weir_core::event::EventKind;
use weir_core::{Duration, FeedbackCoding};

fn ring(switches: usize, second_host: bool, policy: Policy) -> Network {
    Network::ring(&RingOptions {
        switches,
        second_host,
        policy,
        ..RingOptions::default()
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

fn level_ring(switches: usize, disturbed_per_mille: u64) -> Network {
    Network::ring(&RingOptions {
        switches,
        levels: true,
        disturbed_per_mille,
        ..RingOptions::default()
    })
}

/// Nothing stood still, nothing was lost, nothing changed its place.
fn assert_flowed(network: &mut Network, what: &str) {
    let suspected = network.count_events(|kind| matches!(kind, EventKind::Suspected { .. }));
    assert_eq!(suspected, 0, "{what}");
    network.settle(Duration::from_secs(2));
    assert_eq!(network.held(), 0, "{what} does not drain");
    assert_eq!(network.received(), network.sent(), "{what}");
    assert_eq!(network.reordered(), 0, "{what}");
    assert_eq!(network.dropped(), 0, "{what}");
}

#[test]
fn with_levels_the_ring_does_not_lock_and_carries_what_it_can() {
    for switches in 3..=6 {
        let mut network = level_ring(switches, 0);
        for part in 0..10 {
            let before = network.received();
            network.run(Duration::from_millis(200));
            // A flow takes two of the ring's links: half of their sum is the most that can be delivered.
            let most = switches as f64 / 2.0 * 0.2 * 100e6 / (1524.0 * 8.0);
            let share = (network.received() - before) as f64 / most;
            assert!(share > 0.8, "ring of {switches}, part {part}: {share:.2}");
        }
        assert_flowed(&mut network, &format!("ring of {switches}"));
    }
}

#[test]
fn disturbed_feedback_costs_neither_frames_nor_progress() {
    for per_mille in [10, 50, 100] {
        let mut network = level_ring(4, per_mille);
        for part in 0..50 {
            let before = network.received();
            network.run(Duration::from_millis(40));
            assert!(network.received() > before, "{per_mille}, part {part}");
        }
        assert_flowed(&mut network, &format!("{per_mille} of 1000 disturbed"));
    }
}

#[test]
fn a_regular_switch_in_the_ring_loses_nothing() {
    for regular in [vec![0], vec![3], vec![1, 2, 3]] {
        let what = format!("regular: {regular:?}");
        let mut network = Network::ring(&RingOptions {
            levels: true,
            // Without the second host: a mixed ring may deadlock (Karol, section IV).
            second_host: false,
            regular,
            ..RingOptions::default()
        });
        network.run(Duration::from_millis(1000));
        assert_flowed(&mut network, &what);
    }
}

#[test]
fn one_feedback_for_a_whole_link_does_not_lock_either() {
    for disturbed_per_mille in [0, 100] {
        let mut network = Network::ring(&RingOptions {
            levels: true,
            feedback: FeedbackCoding::Pause,
            disturbed_per_mille,
            ..RingOptions::default()
        });
        network.run(Duration::from_secs(1));
        assert!(network.received() > 8_000, "{}", network.received());
        assert_flowed(&mut network, &format!("{disturbed_per_mille} of 1000"));
    }
}

/// A link of 5 ms each way holds 125 kB, more than the buffers: with grants they need no room for it.
#[test]
fn grants_lose_nothing_on_links_that_are_longer_than_the_buffers() {
    let delay = Duration::from_millis(5);
    for disturbed_per_mille in [0, 10, 100] {
        let mut network = Network::ring(&RingOptions {
            levels: true,
            feedback: FeedbackCoding::Grants,
            delay,
            detect: Duration::from_millis(200),
            disturbed_per_mille,
            ..RingOptions::default()
        });
        network.run(Duration::from_millis(500));
        let mut last = network.received();
        for part in 0..10 {
            network.run(Duration::from_millis(200));
            let received = network.received();
            assert!(received > last, "{disturbed_per_mille}, part {part}");
            last = received;
        }
        assert_flowed(&mut network, &format!("{disturbed_per_mille} of 1000"));
    }
}
