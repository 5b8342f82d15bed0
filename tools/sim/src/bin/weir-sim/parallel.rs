//! Independent runs on all cores.
// They share nothing, and results are sorted or summed: the order of threads does not matter.
#![allow(clippy::disallowed_methods)]

use std::sync::atomic::{AtomicUsize, Ordering};

/// Returns the number of cores; one if unknown.
pub fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// Calls `work` for each number below `count`, `jobs` at a time; default: one for each core.
pub fn on_all_cores(jobs: Option<usize>, count: usize, work: &(impl Fn(usize) + Sync)) {
    let jobs = jobs.unwrap_or_else(cores).clamp(1, count.max(1));
    let next = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..jobs {
            scope.spawn(|| loop {
                let index = next.fetch_add(1, Ordering::Relaxed);
                if index >= count {
                    return;
                }
                work(index);
            });
        }
    });
}
