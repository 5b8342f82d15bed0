//! The recent-flow monitor compared with a model that remembers everything.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;

const AGE: Duration = Duration::from_millis(800);
const P3: Priority = Priority::ALL[3];

fn monitor(capacity: usize) -> Flows {
    Flows::new(&FlowMonitorConfig { capacity, age: AGE })
}

fn at(millis: u64) -> Instant {
    Instant::ZERO + Duration::from_millis(millis)
}

fn key(flow_hash: u32) -> FlowKey {
    FlowKey {
        ingress: PortId::new(200),
        egress: PortId::new(255),
        priority: P3,
        destination: MacAddress([0xfe, 0xff, 3, 4, 5, 6]),
        flow_hash,
    }
}

fn hashes(flows: &Flows, now: Instant) -> Vec<u32> {
    let mut hashes: Vec<u32> = flows.iter(now).map(|flow| flow.flow_hash).collect();
    hashes.sort_unstable();
    hashes
}

#[test]
fn an_entry_is_one_cache_line() {
    assert_eq!(size_of::<Entry>(), 64);
}

#[test]
fn a_flow_is_reported_as_seen() {
    let mut flows = monitor(16);
    flows.note(at(3), key(7), Bytes::new(100));
    flows.note(at(5), key(7), Bytes::new(1500));
    let seen: Vec<FlowRecord> = flows.iter(at(6)).collect();
    let FlowKey {
        ingress,
        egress,
        priority,
        destination,
        flow_hash,
    } = key(7);
    assert_eq!(
        seen,
        [FlowRecord {
            ingress,
            egress,
            priority,
            destination,
            flow_hash,
            bytes: Bytes::new(1600),
            frames: 2,
            first_seen: at(3),
            last_seen: at(5),
        }]
    );
}

#[test]
fn any_difference_makes_another_flow() {
    let mut flows = monitor(64);
    let others = [
        key(1),
        FlowKey {
            ingress: PortId::new(1),
            ..key(1)
        },
        FlowKey {
            egress: PortId::new(1),
            ..key(1)
        },
        FlowKey {
            priority: Priority::ALL[4],
            ..key(1)
        },
        FlowKey {
            destination: MacAddress::default(),
            ..key(1)
        },
        key(2),
    ];
    for key in others {
        flows.note(at(0), key, Bytes::new(1));
    }
    assert_eq!(flows.iter(at(0)).count(), others.len());
    assert!(flows.iter(at(0)).all(|flow| flow.frames == 1));
}

#[test]
fn an_idle_flow_is_forgotten_and_starts_again() {
    let mut flows = monitor(4);
    flows.note(at(0), key(1), Bytes::new(100));
    assert_eq!(hashes(&flows, at(799)), [1]);
    assert_eq!(hashes(&flows, at(800)), []);
    flows.note(at(900), key(1), Bytes::new(50));
    let flow = flows.iter(at(900)).next().unwrap();
    assert_eq!(
        (flow.bytes, flow.frames, flow.first_seen),
        (Bytes::new(50), 1, at(900))
    );
    assert_eq!(flows.evictions(), 0);
}

/// Four flows fill the only set; four more evict them.
#[test]
fn an_idle_flow_is_evicted_before_a_light_one() {
    let mut flows = monitor(WAYS);
    flows.note(at(0), key(1), Bytes::new(1_000_000));
    for flow in 2..=4 {
        flows.note(at(700), key(flow), Bytes::new(10));
    }
    flows.note(at(800), key(5), Bytes::new(10));
    assert_eq!(hashes(&flows, at(800)), [2, 3, 4, 5]);
    assert_eq!(flows.evictions(), 0);
    flows.note(at(801), key(6), Bytes::new(10));
    assert_eq!(flows.evictions(), 1);
}

#[test]
fn a_monitor_without_room_is_off() {
    let flows = monitor(0);
    assert!(!flows.is_on());
    assert_eq!(flows.iter(at(0)).count(), 0);
}

/// Decayed bytes of every flow since its last idle age, and of all traffic.
#[derive(Default)]
struct Model {
    flows: BTreeMap<u32, (f64, Instant)>,
    total: f64,
    epoch: u64,
}

impl Model {
    fn note(&mut self, now: Instant, flow: u32, bytes: u64) {
        self.halve(now);
        let known = self.flows.entry(flow).or_insert((0.0, now));
        if now.saturating_since(known.1) >= AGE {
            known.0 = 0.0;
        }
        known.0 += bytes as f64;
        known.1 = now;
        self.total += bytes as f64;
    }

    fn halve(&mut self, now: Instant) {
        let epoch = now.as_nanos() / (AGE.as_nanos() / HALVINGS);
        let factor = 0.5f64.powi((epoch - self.epoch) as i32);
        self.epoch = epoch;
        self.total *= factor;
        for (weight, _) in self.flows.values_mut() {
            *weight *= factor;
        }
    }
}

proptest! {
    /// With a single set, a flow with more than one WAYS-th of the traffic is always known, and no recent flow is
    /// reported with more bytes than it had.
    #[test]
    fn heavy_flows_are_known(
        frames in prop::collection::vec((0u32..12, 64u64..1500, 0u64..60_000_000), 1..400),
        heavy in 0u32..12,
    ) {
        let mut flows = monitor(WAYS);
        let mut model = Model::default();
        let mut now = Instant::ZERO;
        let mut bytes_of = BTreeMap::<u32, u64>::new();
        for (index, (flow, bytes, gap)) in frames.into_iter().enumerate() {
            // One flow is heavier than chance would make it, for a while.
            let flow = if index % 3 == 0 && index < 200 { heavy } else { flow };
            now = now + Duration::from_nanos(gap);
            flows.note(now, key(flow), Bytes::new(bytes));
            model.note(now, flow, bytes);
            *bytes_of.entry(flow).or_default() += bytes;
            let known: BTreeMap<u32, FlowRecord> =
                flows.iter(now).map(|record| (record.flow_hash, record)).collect();
            prop_assert!(known.contains_key(&flow), "the flow of the last frame is known");
            for (flow, (weight, last)) in &model.flows {
                // Each halving rounds each weight down by less than one byte.
                let share = model.total / WAYS as f64 + 2.0 * WAYS as f64;
                if *weight > share && now.saturating_since(*last) < AGE {
                    prop_assert!(known.contains_key(flow), "{flow}: {weight} of {}", model.total);
                }
            }
            for (flow, record) in known {
                prop_assert!(record.bytes.get() <= bytes_of[&flow]);
                prop_assert_eq!(record.last_seen, model.flows[&flow].1);
            }
        }
    }
}
