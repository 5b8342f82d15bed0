//! Placement of the daemon's threads on CPUs.
//!
//! A dataplane thread bound to a CPU should have it exclusively: an API thread that wakes up there preempts it and delays
//! every frame.

use std::collections::BTreeSet;
use std::ops::RangeInclusive;

use nix::errno::Errno;
use nix::sched::{sched_getaffinity, sched_setaffinity, CpuSet};
use nix::unistd::Pid;
use weir_config::daemon::DataplaneConfig;

/// Returns the CPUs that the configuration assigns to dataplane threads.
pub fn reserved(config: &DataplaneConfig) -> BTreeSet<usize> {
    config
        .cpu
        .iter()
        .chain(&config.worker_cpus)
        .copied()
        .collect()
}

/// Returns the CPUs of `reserved` that this machine does not have; empty if it does not list its CPUs.
pub fn missing(reserved: &BTreeSet<usize>) -> Vec<usize> {
    let present = std::fs::read_to_string("/sys/devices/system/cpu/present");
    let Some(present) = present.ok().and_then(|list| parse_list(&list)) else {
        return Vec::new();
    };
    let is_missing = |cpu: &usize| !present.iter().any(|range| range.contains(cpu));
    reserved.iter().copied().filter(is_missing).collect()
}

/// Parses a list of CPUs in the kernel's form: `0-3,8`.
fn parse_list(list: &str) -> Option<Vec<RangeInclusive<usize>>> {
    let parts = list.trim().split(',');
    parts
        .map(|part| {
            let (first, last) = part.split_once('-').unwrap_or((part, part));
            Some(first.parse().ok()?..=last.parse().ok()?)
        })
        .collect()
}

/// Keeps this thread, and threads that it starts later, off the dataplane's CPUs, unless there are no others.
///
/// # Errors
///
/// Those of sched_setaffinity(2).
pub fn keep_off(reserved: &BTreeSet<usize>) -> Result<(), Errno> {
    let this = Pid::from_raw(0);
    let allowed = sched_getaffinity(this)?;
    let is_set = |cpu: &usize| allowed.is_set(*cpu) == Ok(true);
    let others: Vec<usize> = (0..CpuSet::count())
        .filter(is_set)
        .filter(|cpu| !reserved.contains(cpu))
        .collect();
    if others.is_empty() {
        return Ok(());
    }
    bind(&others)
}

/// Binds this thread to these CPUs.
///
/// # Errors
///
/// Those of sched_setaffinity(2), such as for a CPU that does not exist.
pub(crate) fn bind(cpus: &[usize]) -> Result<(), Errno> {
    let mut set = CpuSet::new();
    for cpu in cpus {
        set.set(*cpu)?;
    }
    sched_setaffinity(Pid::from_raw(0), &set)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn allowed() -> BTreeSet<usize> {
        let set = sched_getaffinity(Pid::from_raw(0)).unwrap();
        let all = 0..CpuSet::count();
        all.filter(|cpu| set.is_set(*cpu) == Ok(true)).collect()
    }

    #[test]
    fn lists_are_read_as_the_kernel_writes_them() {
        assert_eq!(
            parse_list("0-3,8,10-11\n"),
            Some(vec![0..=3, 8..=8, 10..=11])
        );
        for bad in ["", "a", "1-"] {
            assert_eq!(parse_list(bad), None, "{bad}");
        }
    }

    #[test]
    fn a_cpu_that_there_is_not_is_missing() {
        let here = *allowed().first().unwrap();
        assert_eq!(missing(&BTreeSet::from([here, 1_000_000])), [1_000_000]);
    }

    #[test]
    fn threads_keep_off_what_is_reserved_and_the_dataplane_does_not() {
        let before = allowed();
        let first = *before.first().unwrap();
        std::thread::spawn(move || {
            keep_off(&BTreeSet::from([first])).unwrap();
            let inherited = std::thread::spawn(allowed).join().unwrap();
            if before.len() > 1 {
                assert!(!inherited.contains(&first), "{inherited:?}");
                assert_eq!(inherited.len(), before.len() - 1);
            }
            bind(&[first]).unwrap();
            assert_eq!(allowed(), BTreeSet::from([first]));
            // No other CPU is left.
            keep_off(&BTreeSet::from([first])).unwrap();
            assert_eq!(allowed(), BTreeSet::from([first]));
        })
        .join()
        .unwrap();
    }
}
