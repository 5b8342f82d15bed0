//! Runs a fat-tree step by step and prints the digest of each step, to compare builds of the simulator.

use weir_core::Duration;
use weir_sim::network::Network;

use crate::plans::fat_tree::{fat_tree, Load};
use crate::{case, digest};

const STEPS: usize = 6;

pub fn run(k: u32, step: Duration) {
    for (name, load) in [("half", Load::Half), ("full", Load::Full)] {
        let begun = std::time::Instant::now();
        let mut network = Network::new(fat_tree(k, load)).expect("the plan is sound");
        println!("k {k}, load {name}: built in {:?}", begun.elapsed());
        run_steps(&mut network, step);
    }
}

fn run_steps(network: &mut Network, step: Duration) {
    let mut rates = Vec::new();
    for _ in 0..STEPS {
        let (begun, begun_cpu) = (std::time::Instant::now(), case::cpu_seconds());
        let before = *network.totals();
        network.run_until(network.now() + step);
        let wall = begun.elapsed().as_secs_f64();
        let cpu = case::cpu_seconds() - begun_cpu;
        let hops = network.totals().frame_hops - before.frame_hops;
        let events = network.totals().events - before.events;
        let rate = hops as f64 / cpu / 1e6;
        rates.push(rate);
        println!(
            "{hops} hops {events} events in {cpu:.3} s of CPU, {wall:.3} s: {rate:.2} M hops/s, {:.2} M events/s, in network {}, digest {:016x}",
            events as f64 / cpu / 1e6,
            network.frames_in_network(),
            digest::of(network),
        );
    }
    let steady = &mut rates[STEPS / 3..];
    steady.sort_by(f64::total_cmp);
    println!(
        "steady: {:.2} M hops/s at best, {:.2} at worst; drops {}",
        steady[steady.len() - 1],
        steady[0],
        digest::ports(network)
            .map(|(switch, port)| network.switch(switch).counters(port).drops_total())
            .sum::<u64>(),
    );
}
