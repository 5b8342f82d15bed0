//! Which CPUs the daemon's threads run on.
//!
//! A dataplane thread that is bound to a CPU should have it for itself: an API thread that wakes up there
//! puts it off, and every frame waits meanwhile.

use std::collections::BTreeSet;

use nix::errno::Errno;
use nix::sched::{sched_getaffinity, sched_setaffinity, CpuSet};
use nix::unistd::Pid;
use weir_config::daemon::DataplaneConfig;

/// CPUs that the configuration gives to threads of the dataplane.
pub fn reserved(config: &DataplaneConfig) -> BTreeSet<usize> {
    config
        .cpu
        .iter()
        .chain(&config.worker_cpus)
        .copied()
        .collect()
}

/// Keeps this thread, and those that it starts from now on, off the dataplane's CPUs; unless there are no others.
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

/// This thread runs on these CPUs alone.
///
/// # Errors
///
/// Those of sched_setaffinity(2): a CPU that there is not.
pub fn bind(cpus: &[usize]) -> Result<(), Errno> {
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
            // There is no other left.
            keep_off(&BTreeSet::from([first])).unwrap();
            assert_eq!(allowed(), BTreeSet::from([first]));
        })
        .join()
        .unwrap();
    }
}
