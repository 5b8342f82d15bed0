//! A release whose amount exceeds the free headroom lends the rest of it, and the ring moves.

use crate::support::{Network, RingOptions, PRIORITY};
use weir_core::control::{ControlConfig, LoopBreakerConfig, Policy};
use weir_core::event::EventKind;
use weir_core::{Bytes, ClassMode, Command, Duration, PfcThresholds, PortId};

const XOFF: Bytes = Bytes::new(60 * 1024);
const XON: Bytes = Bytes::new(52 * 1024);
/// Frames in flight when a pause is sent use part of it.
const HEADROOM: Bytes = Bytes::new(8 * 1024);

fn ring(switches: usize, release_extra: Bytes) -> Network {
    let options = RingOptions {
        switches,
        policy: Policy::Breaker,
        ..RingOptions::default()
    };
    let mut network = Network::ring(&options);
    let now = network.now;
    for (index, node) in network.nodes.iter_mut().enumerate() {
        let mut class = node.switch.config().classes[PRIORITY.index()];
        class.mode = ClassMode::Pfc(PfcThresholds::new(XOFF, XON, HEADROOM).unwrap());
        let set = Command::SetClass {
            priority: PRIORITY,
            class,
        };
        node.switch.apply(now, set).unwrap();
        node.control.reconfigure(ControlConfig {
            policy: Policy::Breaker,
            clcm_interval: options.clcm_interval,
            release_period: Duration::from_millis(20),
            release_extra,
            loop_breaker: LoopBreakerConfig::default(),
            // Must not change.
            port_count: index,
            fabric_ports: [PortId::new(0)].into_iter().collect(),
        });
    }
    network
}

#[test]
fn the_ring_is_released_with_any_release_buffer() {
    for switches in [3, 4, 6] {
        for extra in [3 * 1024, 16 * 1024, 1 << 40] {
            let what = format!("ring of {switches}, {extra} B");
            let mut network = ring(switches, Bytes::new(extra));
            network.run(Duration::from_millis(600));
            let mut last = network.received();
            for part in 0..5 {
                network.run(Duration::from_millis(200));
                let received = network.received();
                assert!(received > last, "{what} stands in part {part}");
                last = received;
            }
            let locked = network.count_events(|kind| matches!(kind, EventKind::Suspected { .. }));
            assert!(locked >= switches, "{what}: never locked");
            network.settle(Duration::from_secs(2));
            assert_eq!(network.held(), 0, "{what} does not drain");
            assert_eq!(network.received(), network.sent(), "{what}");
            assert_eq!((network.dropped(), network.reordered()), (0, 0), "{what}");
        }
    }
}
