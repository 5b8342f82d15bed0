//! Random reroutes while frames wait: nothing is lost, and each path keeps the order.

use std::collections::BTreeMap;

use crate::support::PRIORITY;
use crate::switch::route_node::{config, port, Node, MEMBERS, PORTS, X};
use proptest::prelude::*;
use weir_core::config::LevelRules;
use weir_core::wire::mac_control::MacControl;
use weir_core::{
    Budgets, Bytes, ClassMode, Command, Duration, FrameHandle, MacAddress, PfcThresholds, Priority,
    Quanta, RerouteBy, RerouteSelection, SwitchConfig,
};

#[derive(Clone, Copy, Debug)]
enum Step {
    Receive(u8, u32),
    Send(u8),
    Bucket(u16, u8),
    Pin(u32, u8),
    Unpin(u32),
    Replace(u8),
    Reroute(u8, u8, bool),
    Feedback(u8, u16),
}

fn step() -> impl Strategy<Value = Step> {
    let member = prop::sample::select(&MEMBERS[..]);
    prop_oneof![
        8 => (0..PORTS, 0u32..30).prop_map(|(ingress, flow)| Step::Receive(ingress, flow)),
        4 => (0..PORTS).prop_map(Step::Send),
        1 => (0u16..12, member.clone()).prop_map(|(bucket, to)| Step::Bucket(bucket, to)),
        1 => (0u32..30, member.clone()).prop_map(|(flow, to)| Step::Pin(flow, to)),
        1 => (0u32..30).prop_map(Step::Unpin),
        1 => (1u8..8).prop_map(Step::Replace),
        1 => (0..PORTS, member.clone(), any::<bool>()).prop_map(|(i, e, by)| Step::Reroute(i, e, by)),
        2 => (member, 0u16..5).prop_map(|(port, feedback)| Step::Feedback(port, feedback)),
    ]
}

fn with_levels() -> SwitchConfig {
    let mut config = config(64);
    let (each, xoff) = (config.gamma_max(), Bytes::new(16 * 1024));
    config.classes[PRIORITY.index()].mode = ClassMode::Level {
        rules: LevelRules::default(),
        budgets: Budgets::derived(4, each + xoff, each).unwrap(),
        edge: PfcThresholds::new(xoff, Bytes::new(8 * 1024), Bytes::new(64 * 1024)).unwrap(),
    };
    config.frame_count = config.frames_needed();
    config
}

proptest! {
    /// With Levels and without, whatever is moved while frames wait: each admitted frame leaves once, frames of one
    /// (ingress, destination, egress) in order, and nothing stays charged.
    #[test]
    fn moving_loses_nothing_and_keeps_the_order_on_each_way(
        levels: bool,
        steps in prop::collection::vec(step(), 1..300),
    ) {
        let mut node = Node::new(if levels { with_levels() } else { config(64) });
        let mut order: BTreeMap<FrameHandle, u64> = BTreeMap::new();
        let mut last: BTreeMap<(u8, u8), u64> = BTreeMap::new();
        let (mut admitted, mut left) = (0u64, 0u64);
        let send = |node: &mut Node, egress: u8, order: &BTreeMap<FrameHandle, u64>, last: &mut BTreeMap<(u8, u8), u64>| {
            let handles = node.transmit(egress);
            let count = handles.len() as u64;
            for handle in handles {
                let (ingress, ..) = node.frames.remove(&handle).unwrap();
                node.free.insert(0, handle);
                let before = last.insert((ingress, egress), order[&handle]);
                assert!(before < Some(order[&handle]), "{ingress} to {egress}");
                assert_ne!(ingress, egress);
            }
            count
        };
        for step in steps {
            node.now = node.now + Duration::from_micros(10);
            node.switch.handle_timeout(node.now);
            let command = match step {
                Step::Receive(ingress, flow) => {
                    if let Ok(handle) = node.try_receive(ingress, X, flow) {
                        admitted += 1;
                        order.insert(handle, admitted);
                    }
                    continue;
                }
                Step::Send(egress) => {
                    left += send(&mut node, egress, &order, &mut last);
                    continue;
                }
                Step::Feedback(egress, feedback) => {
                    let mut times = [None; 8];
                    times[PRIORITY.index()] = Some(Quanta(1 + feedback));
                    let mut bytes = [0; 60];
                    MacControl::Pfc { times }.emit(MacAddress::default(), &mut bytes);
                    node.switch.receive_mac_control(node.now, port(egress), &bytes).unwrap();
                    continue;
                }
                Step::Bucket(bucket, to) => Command::MoveBucket { destination: X, bucket, to: port(to) },
                Step::Pin(flow_hash, to) => Command::PinFlow { destination: X, flow_hash, port: port(to) },
                Step::Unpin(flow_hash) => Command::UnpinFlow { destination: X, flow_hash },
                Step::Replace(bits) => Command::SetRoute {
                    destination: X,
                    members: MEMBERS.into_iter().filter(|n| bits & (1 << (n - 1)) != 0).map(port).collect(),
                    buckets: 12,
                },
                Step::Reroute(ingress, egress, by_flow) => Command::Reroute {
                    selection: RerouteSelection::From(port(ingress)),
                    egress: port(egress),
                    priority: PRIORITY,
                    by: if by_flow { RerouteBy::Flow } else { RerouteBy::Bucket },
                },
            };
            let _ = node.switch.apply(node.now, command);
            while node.switch.poll_event().is_some() {}
        }
        // The neighbour's Feedback expires, and everything leaves.
        node.now = node.now + Duration::from_secs(1);
        node.switch.handle_timeout(node.now);
        for _ in 0..2 {
            for egress in 0..PORTS {
                left += send(&mut node, egress, &order, &mut last);
            }
            node.now = node.now + Duration::from_secs(1);
        }
        prop_assert_eq!(left, admitted);
        prop_assert_eq!(node.switch.held_frames(), 0);
        prop_assert_eq!(node.switch.level_table_len(), 0);
        for ingress in 0..PORTS {
            for priority in Priority::ALL {
                let gauges = node.switch.gauges(node.now, port(ingress), priority);
                prop_assert_eq!((gauges.ingress, gauges.egress), (Bytes::ZERO, Bytes::ZERO));
            }
        }
    }
}
