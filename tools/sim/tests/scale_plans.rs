//! Properties of the plans of the benchmark `scale`, which make its rates meaningful.

#[path = "../benches/scale/plans/mod.rs"]
mod plans;

use plans::fat_tree::{choices, fat_tree, Load, HALF_RATE};
use plans::regular::{regular, FLOWS_PER_HOST, FLOWS_PER_LINE_MAX};
use plans::{DELAY, FRAME_LENGTH, LINE_RATE, PRIORITY};
use weir_core::units::LINE_OVERHEAD;
use weir_core::{Duration, PortId};
use weir_sim::network::plan::{End, NetworkPlan};
use weir_sim::network::Network;

fn run(plan: NetworkPlan, micros: u64) -> Network {
    let mut network = Network::new(plan).unwrap();
    network.run_until(network.now() + Duration::from_micros(micros));
    network.check_conservation().unwrap();
    assert_eq!(network.totals().dropped, 0);
    network
}

fn sent(network: &Network) -> u64 {
    network.flows().iter().map(|flow| flow.sent).sum()
}

fn pauses(network: &Network) -> u64 {
    let switches = network.plan().switches.iter().enumerate();
    let ports = switches.flat_map(|(index, switch)| {
        (0..switch.config.ports.len()).map(move |port| (index, PortId::new(port as u8)))
    });
    ports
        .map(|(switch, port)| network.switch(switch).counters(port).pfc_sent)
        .sum()
}

#[test]
fn a_hundred_switches_carry_what_their_hosts_send() {
    let plan = regular(100, 1);
    let flow_count = plan.flows.len();
    assert!(
        flow_count * 100 >= FLOWS_PER_HOST * 100 * 95,
        "{flow_count}"
    );
    let mut network = run(plan, 10);
    assert_eq!(pauses(&network), 0, "a line has more than it can carry");
    // A frame each microsecond.
    let frames = sent(&network) as usize;
    assert!(
        (flow_count * 9..=flow_count * 10).contains(&frames),
        "{frames}"
    );
    assert!(network.drain(Duration::from_micros(100), Duration::from_micros(1_000)));
    network.check_conservation().unwrap();
    // Host, at least two links between switches, host.
    let totals = network.totals();
    assert!(totals.frame_hops >= sent(&network) * 4, "{totals:?}");
    let flows = network.flows();
    assert!(flows
        .iter()
        .all(|flow| flow.received == flow.sent && flow.reordered == 0));
}

#[test]
fn no_line_of_a_random_network_has_more_flows_than_it_can_carry() {
    let plan = regular(200, 7);
    let network = run(plan.clone(), 20);
    let [mut most, mut busy] = [0, 0];
    for (index, switch) in plan.switches.iter().enumerate() {
        for port in 0..switch.config.ports.len() {
            let counters = network.switch(index).counters(PortId::new(port as u8));
            let frames = counters.priority[PRIORITY.index()].tx_frames;
            most = most.max(frames);
            busy += u64::from(frames > 0);
        }
    }
    // Each flow sends a frame each microsecond.
    assert!(most <= 20 * u64::from(FLOWS_PER_LINE_MAX), "{most}");
    assert!(busy > 1_000, "{busy}");
}

#[test]
fn the_same_seed_gives_the_same_network() {
    let text = |seed| format!("{:?}", regular(50, seed));
    assert_eq!(text(3), text(3));
    assert_ne!(text(3), text(4));
}

#[test]
fn a_fat_tree_at_half_load_never_pauses_and_at_full_load_does() {
    let half = run(fat_tree(4, Load::Half), 50);
    assert_eq!(pauses(&half), 0);
    let period = HALF_RATE.time_for(FRAME_LENGTH).as_nanos();
    let per_flow = 50_000 / period;
    let frames = sent(&half) / half.flows().len() as u64;
    assert!((per_flow - 1..=per_flow + 1).contains(&frames), "{frames}");
    let full = run(fat_tree(4, Load::Full), 200);
    assert!(pauses(&full) > 0);
}

/// The program for ns-3 gets these paths: they must match the frames' paths here.
#[test]
fn flows_go_by_the_switches_that_are_told_to_others() {
    let k = 4;
    let plan = fat_tree(k, Load::Half);
    let half = k / 2;
    let crosses = |from: u32, to: u32| from / (half * half) != to / (half * half);
    let flow = *plan
        .flows
        .iter()
        .find(|flow| crosses(flow.from, flow.to))
        .unwrap();
    let mut alone = plan.clone();
    alone.flows = vec![flow];
    let network = run(alone, 20);
    let frames_of = |switch: u32| -> u64 {
        let ports = 0..k as u8;
        let counters =
            ports.map(|port| network.switch(switch as usize).counters(PortId::new(port)));
        counters
            .map(|c| c.priority[PRIORITY.index()].tx_frames)
            .sum()
    };
    let edges = k * half;
    let [aggregation, core] = choices(flow.flow_hash, half);
    let pod = flow.from / (half * half);
    for tier in [edges..2 * edges, 2 * edges..2 * edges + half * half] {
        let used: Vec<u32> = tier.filter(|switch| frames_of(*switch) > 0).collect();
        let expected = if used[0] < 2 * edges {
            let mut pods = [pod, flow.to / (half * half)];
            pods.sort_unstable();
            pods.map(|pod| edges + pod * half + aggregation).to_vec()
        } else {
            vec![2 * edges + core]
        };
        assert_eq!(used, expected);
    }
}

#[test]
fn all_lines_are_alike() {
    for plan in [regular(20, 1), fat_tree(4, Load::Half)] {
        assert!(plan.links.iter().all(|link| link.delay == DELAY));
        assert!(plan.hosts.iter().all(|host| host.rate == LINE_RATE));
        let ports = plan.switches.iter().flat_map(|switch| &switch.config.ports);
        assert!(ports.clone().all(|port| port.rate == LINE_RATE));
        // Every port and host has its link.
        let ends: Vec<End> = plan.links.iter().flat_map(|link| link.ends).collect();
        assert_eq!(ends.len(), ports.count() + plan.hosts.len());
    }
    let occupied = LINE_RATE.time_for(FRAME_LENGTH + LINE_OVERHEAD);
    assert!(HALF_RATE.time_for(FRAME_LENGTH) >= occupied + occupied);
}
