//! Structured buffer pools and virtual channels: priorities change at links; pauses are sent in the classes after a link and
//! obeyed in those before it.

use std::path::Path;

use weir_config::scenario::Scenario;
use weir_core::{Instant, PortId, Priority};
use weir_sim::network::Network;
use weir_sim::scenario::{plan, run, Options};

fn load(overrides: &[&str]) -> Scenario {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios/ring4.toml");
    let overrides: Vec<_> = overrides.iter().map(|text| text.parse().unwrap()).collect();
    Scenario::load(&file, &overrides).unwrap()
}

const POOLS: [&str; 5] = [
    "duration=1s",
    "class.lossless.priority=",
    "class.lossless.priorities=[3, 4, 5]",
    "baseline.kind=buffer-pools",
    "expect=",
];

const CHANNELS: [&str; 6] = [
    "duration=1s",
    "class.lossless.priority=",
    "class.lossless.priorities=[3, 4]",
    "baseline.kind=virtual-channels",
    "baseline.change-at=[[\"s4\", \"s1\"]]",
    "expect=",
];

#[test]
fn a_ring_that_locks_under_plain_pfc_moves_with_pools_or_channels() {
    let plain = run(&load(&["duration=1s"]), Options::default()).unwrap();
    assert!(plain.deadlocked);
    for overrides in [&POOLS[..], &CHANNELS] {
        let scenario = load(overrides);
        assert_eq!(scenario.credit_loops(), []);
        let result = run(&scenario, Options::default()).unwrap();
        assert!(
            !result.deadlocked && result.suspected_peak == 0,
            "{overrides:?}"
        );
        assert!(result.drops.is_empty(), "{:?}", result.drops);
        for flow in &result.flows {
            assert_eq!((flow.lost, flow.reordered, flow.in_flight), (0, 0, 0));
            assert!(flow.bits_per_second_last_third > 20e6, "{flow:?}");
        }
    }
}

struct Port {
    switch: usize,
    port: usize,
    /// By priority: frames admitted and pauses sent.
    by_priority: Vec<(u64, u64)>,
}

fn counted(overrides: &[&str]) -> Vec<Port> {
    let scenario = load(overrides);
    let mut network = Network::new(plan(&scenario).unwrap()).unwrap();
    network.run_until(Instant::ZERO + scenario.duration);
    let mut counted = Vec::new();
    for switch in 0..scenario.switches.len() {
        for port in 0..scenario.ports(switch).len() {
            let counters = network
                .switch(switch)
                .counters(PortId::from_index(port).unwrap());
            let by_priority = counters
                .priority
                .iter()
                .map(|priority| (priority.rx_frames, priority.xoff_sent))
                .collect();
            counted.push(Port {
                switch,
                port,
                by_priority,
            });
        }
    }
    counted
}

/// Each switch of the ring has first its two links, then its hosts.
#[test]
fn frames_are_charged_and_paused_in_the_class_of_their_link() {
    for Port {
        port, by_priority, ..
    } in counted(&POOLS)
    {
        let rx = |priority: usize| by_priority[priority].0;
        if port >= 2 {
            assert!(rx(3) > 0 && rx(4) + rx(5) == 0, "from a host: the first");
        } else if rx(4) > 0 {
            assert!(rx(5) > 0 && rx(3) == 0, "after one link or two");
        } else {
            assert_eq!(rx(3) + rx(5), 0, "against the direction of all flows");
        }
        for priority in [0, 1, 2, 6, 7] {
            assert_eq!(by_priority[priority], (0, 0));
        }
    }
}

/// s1 → s2 is slower than the traffic for it over s4 → s1, so s1 pauses d and e behind that link, in the class after theirs.
#[test]
fn pauses_in_the_class_behind_a_link_hold_the_class_before_it() {
    for overrides in [&POOLS[..], &CHANNELS] {
        let mut overrides = overrides.to_vec();
        overrides.push("link.0.rate=40Mbit");
        let pauses = |switch, port, priority: usize| {
            let counted = counted(&overrides);
            let found = counted
                .iter()
                .find(|found| (found.switch, found.port) == (switch, port));
            found.unwrap().by_priority[priority].1
        };
        let [s1, s4] = [0, 3];
        assert!(pauses(s1, 1, 4) > 0, "s1 to s4, behind the link");
        assert!(pauses(s4, 2, 3) > 0, "s4 to its host, before it");
        let result = run(&load(&overrides), Options::default()).unwrap();
        assert!(!result.deadlocked && result.drops.is_empty());
        let over_the_slow_link: f64 = result
            .flows
            .iter()
            .filter(|flow| ["a", "d", "e"].contains(&flow.name.as_str()))
            .map(|flow| flow.bits_per_second_last_third)
            .sum();
        // All of it, minus the overhead of frames on the line.
        assert!(
            (38e6..40e6).contains(&over_the_slow_link),
            "{over_the_slow_link}"
        );
    }
}

#[test]
fn the_order_of_a_class_is_that_of_its_list() {
    let mut odd = POOLS;
    odd[2] = "class.lossless.priorities=[6, 1, 4]";
    let renamed = |by_priority: &[(u64, u64)]| [3, 4, 5].map(|index| by_priority[index]);
    let listed = |by_priority: &[(u64, u64)]| [6, 1, 4].map(|index| by_priority[index]);
    let frames = |pairs: [(u64, u64); 3]| pairs.map(|(frames, _)| frames);
    for (a, b) in counted(&POOLS).iter().zip(counted(&odd)) {
        let (switch, port) = (b.switch, b.port);
        let (a, b) = (
            frames(renamed(&a.by_priority)),
            frames(listed(&b.by_priority)),
        );
        // Scans over priorities go by number, so the order of ports at one moment may differ; the amounts do not.
        for (a, b) in a.into_iter().zip(b) {
            assert_eq!(a == 0, b == 0, "switch {switch} port {port}");
            assert!(
                a.abs_diff(b) <= a / 20 + 2,
                "switch {switch} port {port}: {a}, {b}"
            );
        }
    }
}

#[test]
fn lossy_classes_keep_their_priority() {
    let scenario = load(&[
        "duration=100ms",
        "class.lossless.mode=lossy",
        "class.lossless.buffer=64KiB",
        "class.lossless.xoff=",
        "class.lossless.xon=",
        "class.lossless.headroom=",
        "class.lossless.priority=",
        "class.lossless.priorities=[3, 4, 5]",
        "baseline.kind=buffer-pools",
        "expect=",
    ]);
    let plan = plan(&scenario).unwrap();
    for link in &plan.links {
        for map in link.priority_map {
            assert!(Priority::ALL
                .iter()
                .all(|priority| map.behind(*priority) == *priority));
        }
    }
}
