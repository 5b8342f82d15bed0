//! Growth of a process after its warm-up.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// Maximum growth of resident memory in bytes, from first use of tables and buffers.
const MEMORY_GROWTH_MAX: u64 = 8 << 20;
/// Maximum growth of open descriptors, from temporary connections of clients.
const DESCRIPTOR_GROWTH_MAX: u64 = 16;

/// Resources of one process after its warm-up, and their maximum since.
#[derive(Clone, Copy, Debug)]
struct Occupied {
    /// Time of the first check.
    since: Instant,
    /// `None` until it has warmed up.
    at_first: Option<(u64, u64)>,
    memory_growth_bytes: u64,
    descriptor_growth: u64,
}

#[derive(Debug)]
pub(super) struct Leaks {
    /// Time in which a process may use memory for the first time, without any limit.
    warm_up: Duration,
    processes: BTreeMap<u32, Occupied>,
}

impl Leaks {
    /// Starts an episode whose processes warm up for `warm_up`.
    pub(super) fn new(warm_up: Duration) -> Self {
        Self {
            warm_up,
            processes: BTreeMap::new(),
        }
    }

    /// Checks a running process. The first check once it has warmed up is the reference for later
    /// ones.
    pub(super) fn look(&mut self, process: u32) {
        let (Some(memory_bytes), Some(descriptors)) = (memory_of(process), descriptors_of(process))
        else {
            return;
        };
        let occupied = self.processes.entry(process).or_insert(Occupied {
            since: Instant::now(),
            at_first: None,
            memory_growth_bytes: 0,
            descriptor_growth: 0,
        });
        if occupied.since.elapsed() < self.warm_up {
            return;
        }
        let (memory_at_first, descriptors_at_first) =
            *occupied.at_first.get_or_insert((memory_bytes, descriptors));
        let memory_growth = memory_bytes.saturating_sub(memory_at_first);
        let descriptor_growth = descriptors.saturating_sub(descriptors_at_first);
        occupied.memory_growth_bytes = occupied.memory_growth_bytes.max(memory_growth);
        occupied.descriptor_growth = occupied.descriptor_growth.max(descriptor_growth);
    }

    /// Returns the largest growth of any process: bytes of memory, and descriptors.
    pub(super) fn growth_max(&self) -> (u64, u64) {
        let all = self.processes.values();
        all.fold((0, 0), |(memory, descriptors), it| {
            (
                memory.max(it.memory_growth_bytes),
                descriptors.max(it.descriptor_growth),
            )
        })
    }

    pub(super) fn broken(&self) -> Option<String> {
        let (memory, descriptors) = self.growth_max();
        (memory > MEMORY_GROWTH_MAX || descriptors > DESCRIPTOR_GROWTH_MAX)
            .then(|| format!("a switch grew by {memory} B of memory and {descriptors} descriptors"))
    }
}

/// Resident memory (`VmRSS` of /proc/PID/status).
fn memory_of(process: u32) -> Option<u64> {
    let text = std::fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kibibytes: u64 = line.split_whitespace().next()?.parse().ok()?;
    Some(kibibytes << 10)
}

fn descriptors_of(process: u32) -> Option<u64> {
    let all = std::fs::read_dir(format!("/proc/{process}/fd")).ok()?;
    Some(all.count() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_that_takes_more_is_seen() {
        let own = std::process::id();
        let mut leaks = Leaks::new(Duration::ZERO);
        leaks.look(own);
        assert_eq!(leaks.broken(), None);
        let taken = vec![1u8; 2 * MEMORY_GROWTH_MAX as usize];
        leaks.look(own);
        assert!(leaks.growth_max().0 > MEMORY_GROWTH_MAX);
        assert!(leaks.broken().is_some(), "{}", taken.len());
    }

    #[test]
    fn a_process_that_has_just_started_is_held_to_nothing() {
        let mut leaks = Leaks::new(Duration::from_secs(3600));
        leaks.look(std::process::id());
        let taken = vec![1u8; 2 * MEMORY_GROWTH_MAX as usize];
        leaks.look(std::process::id());
        assert_eq!(leaks.growth_max(), (0, 0), "{}", taken.len());
    }

    #[test]
    fn a_process_that_has_ended_is_not_found() {
        let mut leaks = Leaks::new(Duration::ZERO);
        leaks.look(u32::MAX);
        assert_eq!(leaks.growth_max(), (0, 0));
    }
}
