//! CPU times by process and CPU.

use std::fs;

use anyhow::{Context, Result};
use nix::sched::{sched_getaffinity, sched_setaffinity, CpuSet};
use nix::sys::resource::{getrusage, UsageWho};
use nix::sys::time::TimeValLike as _;
use nix::unistd::Pid;

/// CPUs reserved for sender and switch, as far as there are enough.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cpus {
    /// CPU of the sender.
    pub sender: usize,
    /// CPU of the switch under test.
    pub switch: usize,
}

impl Cpus {
    /// Returns the first two CPUs that this process may use; one for both if there is no second.
    ///
    /// # Errors
    ///
    /// Those of sched_getaffinity(2).
    pub fn of_this_machine() -> Result<Self> {
        let set = sched_getaffinity(Pid::from_raw(0))?;
        let mut allowed = (0..CpuSet::count()).filter(|cpu| set.is_set(*cpu).unwrap_or(false));
        let sender = allowed.next().context("no CPU to run on")?;
        Ok(Self {
            sender,
            switch: allowed.next().unwrap_or(sender),
        })
    }
}

/// Keeps the calling thread on a CPU until it is dropped.
#[derive(Debug)]
pub struct Bound {
    before: CpuSet,
}

impl Bound {
    /// Moves the thread.
    ///
    /// # Errors
    ///
    /// The thread may not run there.
    pub fn to(cpu: usize) -> Result<Self> {
        let this = Pid::from_raw(0);
        let before = sched_getaffinity(this)?;
        let mut set = CpuSet::new();
        set.set(cpu)?;
        sched_setaffinity(this, &set).with_context(|| format!("binding to CPU {cpu}"))?;
        Ok(Self { before })
    }
}

impl Drop for Bound {
    fn drop(&mut self) {
        let _ = sched_setaffinity(Pid::from_raw(0), &self.before);
    }
}

/// CPU time in nanoseconds, since an arbitrary moment or between two moments.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CpuTimes {
    /// All threads of the switch.
    pub switch: u64,
    /// The sending thread, including softirqs served by it.
    pub sender: u64,
    /// User-mode part of it: pacing and writing of probes.
    pub sender_user: u64,
    /// The kernel's softirq threads.
    pub softirq_threads: u64,
    /// All CPUs, all processes, in steps of 10 ms.
    pub machine: u64,
    /// Time given by the hypervisor to other guests, all CPUs, in steps of 10 ms.
    pub stolen: u64,
}

impl CpuTimes {
    /// Reads the current times; call it in the sending thread.
    ///
    /// # Errors
    ///
    /// A process has ended, or there is no procfs.
    pub fn now(switch: &[u32], softirq_threads: &[u32]) -> Result<Self> {
        let usage = getrusage(UsageWho::RUSAGE_THREAD)?;
        let stat = fs::read_to_string("/proc/stat")?;
        Ok(Self {
            switch: switch
                .iter()
                .map(|id| of_process(*id))
                .sum::<Result<u64>>()?,
            sender: run_time("/proc/thread-self/schedstat")?,
            sender_user: usage.user_time().num_microseconds().unsigned_abs() * 1_000,
            softirq_threads: softirq_threads
                .iter()
                .map(|id| run_time(&format!("/proc/{id}/schedstat")))
                .sum::<Result<u64>>()?,
            machine: of_machine(&stat, &BUSY).context(NO_LINE)?,
            stolen: of_machine(&stat, &STOLEN).context(NO_LINE)?,
        })
    }

    /// Returns the difference to `earlier`.
    #[must_use]
    pub fn since(self, earlier: Self) -> Self {
        Self {
            switch: self.switch.saturating_sub(earlier.switch),
            sender: self.sender.saturating_sub(earlier.sender),
            sender_user: self.sender_user.saturating_sub(earlier.sender_user),
            softirq_threads: self.softirq_threads.saturating_sub(earlier.softirq_threads),
            machine: self.machine.saturating_sub(earlier.machine),
            stolen: self.stolen.saturating_sub(earlier.stolen),
        }
    }

    /// Time spent on frames in the kernel and the switch: all but the sender's user mode.
    pub fn path(self) -> u64 {
        self.switch + self.softirq_threads + self.sender.saturating_sub(self.sender_user)
    }

    /// Time of other processes.
    pub fn others(self) -> u64 {
        self.machine
            .saturating_sub(self.switch + self.softirq_threads + self.sender)
    }
}

/// Returns the kernel's `ksoftirqd` threads.
pub fn softirq_threads() -> Vec<u32> {
    let Ok(entries) = fs::read_dir("/proc") else {
        return Vec::new();
    };
    entries
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok())
        .filter(|id| {
            fs::read_to_string(format!("/proc/{id}/comm"))
                .is_ok_and(|name| name.starts_with("ksoftirqd/"))
        })
        .collect()
}

/// Returns the load averages over 1, 5 and 15 minutes as text.
pub fn load_average() -> String {
    let text = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let averages: Vec<&str> = text.split_whitespace().take(3).collect();
    averages.join(" ")
}

fn of_process(id: u32) -> Result<u64> {
    let tasks =
        fs::read_dir(format!("/proc/{id}/task")).with_context(|| format!("process {id}"))?;
    let mut sum = 0;
    for task in tasks {
        // a thread may end in the meantime
        if let Ok(time) = run_time(&format!("{}/schedstat", task?.path().display())) {
            sum += time;
        }
    }
    Ok(sum)
}

/// The first field of schedstat: time on a CPU, in nanoseconds.
fn run_time(path: &str) -> Result<u64> {
    let text = fs::read_to_string(path).with_context(|| path.to_owned())?;
    let field = text
        .split_whitespace()
        .next()
        .and_then(|field| field.parse().ok());
    field.with_context(|| format!("{path}: {text}"))
}

/// Fields of `/proc/stat`: user, nice, system, irq, softirq. Idle and iowait are between.
const BUSY: [usize; 5] = [0, 1, 2, 5, 6];
/// steal.
const STOLEN: [usize; 1] = [7];
const NO_LINE: &str = "/proc/stat has no line for all CPUs";

/// Sums these fields of the first line of `/proc/stat`, in nanoseconds.
fn of_machine(stat: &str, places: &[usize]) -> Option<u64> {
    const NANOS_PER_TICK: u64 = 10_000_000;
    let line = stat.lines().find_map(|line| line.strip_prefix("cpu "))?;
    let fields: Vec<u64> = line
        .split_whitespace()
        .map_while(|field| field.parse().ok())
        .collect();
    let ticks = places
        .iter()
        .map(|at| fields.get(*at).copied().unwrap_or(0));
    Some(ticks.sum::<u64>() * NANOS_PER_TICK)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_that_works_is_seen() {
        let before = CpuTimes::now(&[std::process::id()], &[]).unwrap();
        let mut sum = 0u64;
        let sender = loop {
            sum = std::hint::black_box(sum.wrapping_mul(3) + 1);
            let passed = CpuTimes::now(&[std::process::id()], &[])
                .unwrap()
                .since(before);
            if passed.sender > 20_000_000 {
                break passed.sender;
            }
        };
        // Values are read one after another, that of the process first.
        let passed = CpuTimes::now(&[std::process::id()], &[])
            .unwrap()
            .since(before);
        assert!(passed.switch >= sender);
        assert!(passed.path() >= passed.switch);
    }

    #[test]
    fn idle_is_not_busy() {
        let text = "cpu  1 2 3 400 500 6 7 80 0 0\ncpu0 9 9 9 9 9 9 9 9 9 9\n";
        assert_eq!(of_machine(text, &BUSY), Some(19 * 10_000_000));
        assert_eq!(of_machine(text, &STOLEN), Some(80 * 10_000_000));
        assert_eq!(of_machine("", &BUSY), None);
    }
}
