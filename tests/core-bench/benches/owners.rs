//! Throughput of one owner of the switch core, and of two, in frames per second. `cargo xtask bench --core` runs it.

#![allow(clippy::disallowed_types, clippy::disallowed_methods)] // a benchmark measures time, and waits

use std::time::{Duration, Instant};

use nix::sched::{sched_setaffinity, CpuSet};
use nix::unistd::Pid;
use weir_core_bench::owners::{frames, Sharing};
use weir_core_bench::{Case, Mode};

const ROUNDS: usize = 7;
const SPAN: Duration = Duration::from_millis(400);
const SHARINGS: [(&str, Sharing); 3] = [
    ("one owner", Sharing::Alone),
    ("two, nothing handed over", Sharing::Nothing),
    ("two, half handed over", Sharing::Half),
];

fn pin(owner: usize) {
    let mut cpus = CpuSet::new();
    if cpus.set(owner).is_ok() {
        let _ = sched_setaffinity(Pid::from_raw(0), &cpus);
    }
}

fn frames_per_second(case: Case, sharing: Sharing) -> f64 {
    let mut took = Duration::ZERO;
    let wait = || {
        let start = Instant::now();
        std::thread::sleep(SPAN);
        took = start.elapsed();
    };
    let sent = frames(case, sharing, wait, pin);
    sent as f64 / took.as_secs_f64()
}

fn main() {
    println!("Millions of frames a second: median of {ROUNDS} alternating rounds of {SPAN:?}, and quartiles");
    for (name, mode) in [("pfc", Mode::Pfc), ("level", Mode::Level)] {
        for destinations in [16, 1024, 65_536] {
            let case = Case::usual(mode).sized(32, destinations);
            let mut rates = SHARINGS.map(|_| Vec::with_capacity(ROUNDS));
            for _ in 0..ROUNDS {
                for ((_, sharing), rates) in SHARINGS.iter().zip(&mut rates) {
                    rates.push(frames_per_second(case, *sharing) / 1e6);
                }
            }
            for ((sharing, _), rates) in SHARINGS.iter().zip(&mut rates) {
                rates.sort_by(f64::total_cmp);
                let at = |part: usize| rates[(ROUNDS - 1) * part / 4];
                let (low, median, high) = (at(1), at(2), at(3));
                println!("{name:<6} {destinations:>6} destinations  {sharing:<25} {median:5.1} ({low:.1} to {high:.1})");
            }
        }
    }
}
