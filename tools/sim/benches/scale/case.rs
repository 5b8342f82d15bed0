//! One network, run and measured in a separate process.

use std::ops::ControlFlow;

use clap::ValueEnum;
use serde_json::{json, Value};
use weir_core::Duration;
use weir_sim::network::plan::NetworkPlan;
use weir_sim::network::Network;

use crate::digest;
use crate::plans::fat_tree::{fat_tree, Load};
use crate::plans::regular::regular;

/// Seed of random networks and their flows.
const SEED: u64 = 1;

/// A measured network.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Case {
    /// Fat-tree k = 16, every host at half of its line rate.
    FatTreeHalf,
    /// Fat-tree k = 16, every host at line rate, with many flows per link, under PFC.
    FatTreeFull,
    /// 100 switches with six links each.
    #[value(name = "regular-100")]
    Regular100,
    /// 1,000 switches with six links each.
    #[value(name = "regular-1000")]
    Regular1000,
    /// 10,000 switches with six links each.
    #[value(name = "regular-10000")]
    Regular10000,
}

impl Case {
    fn plan(self) -> NetworkPlan {
        match self {
            Self::FatTreeHalf => fat_tree(16, Load::Half),
            Self::FatTreeFull => fat_tree(16, Load::Full),
            Self::Regular100 => regular(100, SEED),
            Self::Regular1000 => regular(1_000, SEED),
            Self::Regular10000 => regular(10_000, SEED),
        }
    }

    /// Returns the virtual time until the network has reached its steady fill, and the virtual time to measure: a few
    /// million frame-hops.
    fn spans(self) -> [Duration; 2] {
        let micros = match self {
            Self::FatTreeHalf => [100, 200],
            Self::FatTreeFull => [200, 600],
            Self::Regular100 => [200, 2_000],
            Self::Regular1000 => [50, 200],
            Self::Regular10000 => [20, 20],
        };
        micros.map(Duration::from_micros)
    }

    /// Returns the name on the command line.
    pub fn name(self) -> String {
        let value = self.to_possible_value();
        value.map_or_else(String::new, |value| value.get_name().to_owned())
    }
}

/// Runs a case on `threads` threads; returns the measurements. Panics if the network loses count of a frame.
pub fn run(case: Case, threads: usize) -> Value {
    let plan = case.plan();
    let counts = (plan.switches.len(), plan.hosts.len());
    let (flows, links) = (plan.flows.len(), plan.links.len());
    let begun = cpu_seconds();
    let mut network = Network::new(plan).expect("the plan is sound");
    let build = cpu_seconds() - begun;
    let built = resident_peak_kib();
    let [warm_up, measured] = case.spans();
    let run = |network: &mut Network, span: Duration| {
        let stop = [network.now() + span];
        let go_on = &mut |_: &_| ControlFlow::Continue(());
        let ran = network.run_on_threads(threads, &stop, go_on);
        ran.expect("threads start");
    };
    run(&mut network, warm_up);
    let before = *network.totals();
    let (begun, begun_cpu) = (std::time::Instant::now(), cpu_seconds());
    run(&mut network, measured);
    let (wall, cpu) = (begun.elapsed().as_secs_f64(), cpu_seconds() - begun_cpu);
    network
        .check_conservation()
        .expect("every frame is accounted for");
    let totals = network.totals();
    json!({
        "case": case.name(),
        "switches": counts.0,
        "hosts": counts.1,
        "links": links,
        "flows": flows,
        "warm_up_nanoseconds": warm_up.as_nanos(),
        "measured_nanoseconds": measured.as_nanos(),
        "events": totals.events - before.events,
        "frame_hops": totals.frame_hops - before.frame_hops,
        "cpu_seconds": cpu,
        "wall_seconds": wall,
        "build_cpu_seconds": build,
        "threads": threads,
        "resident_built_kib": built,
        "resident_peak_kib": resident_peak_kib(),
        "frames_in_network": network.frames_in_network(),
        "dropped": totals.dropped,
        "digest": format!("{:016x}", digest::of(&network)),
    })
}

/// Returns the CPU time of this process, so that other load on the machine counts less.
pub fn cpu_seconds() -> f64 {
    let clock = nix::time::ClockId::CLOCK_PROCESS_CPUTIME_ID;
    let time = nix::time::clock_gettime(clock).expect("every Linux has this clock");
    time.tv_sec() as f64 + time.tv_nsec() as f64 / 1e9
}

/// Returns VmHWM of this process: proc_pid_status(5).
fn resident_peak_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let number = line.and_then(|line| line.split_whitespace().next());
    number.and_then(|number| number.parse().ok()).unwrap_or(0)
}
