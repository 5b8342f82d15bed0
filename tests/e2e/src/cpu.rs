//! CPU time: that of a thread so far, and a quota for a process.

use std::path::{Path, PathBuf};
use std::time::Duration;

use nix::unistd::Pid;

/// Returns the CPU time of a thread of `process` so far.
pub fn time_of(process: u32, thread: Pid) -> Duration {
    let path = format!("/proc/{process}/task/{thread}/schedstat");
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
    let nanos = text.split_whitespace().next().unwrap();
    Duration::from_nanos(nanos.parse().unwrap())
}

/// A control group that throttles a process after a quota in each period, like systemd's `CPUQuota=`. On drop the process
/// returns to its previous group.
pub struct Quota {
    process: u32,
    group: PathBuf,
    before: PathBuf,
}

impl Quota {
    /// Moves `process` into a new group with `quota` in each `period`.
    pub fn new(process: u32, quota: Duration, period: Duration) -> Self {
        let hierarchy = Hierarchy::find();
        let group = hierarchy.root().join(format!("weir-quota-{process}"));
        let before = hierarchy.group_of(process);
        if let Hierarchy::Second(root) = &hierarchy {
            write(&root.join("cgroup.subtree_control"), "+cpu");
        }
        std::fs::create_dir(&group).unwrap();
        // From here on it is removed in any case.
        let limited = Self {
            process,
            group,
            before,
        };
        let (quota, period) = (quota.as_micros(), period.as_micros());
        match hierarchy {
            Hierarchy::First(_) => {
                limited.set("cpu.cfs_period_us", &period.to_string());
                limited.set("cpu.cfs_quota_us", &quota.to_string());
            }
            Hierarchy::Second(_) => limited.set("cpu.max", &format!("{quota} {period}")),
        }
        limited.set("cgroup.procs", &process.to_string());
        limited
    }

    /// Returns the number of times that the process was throttled.
    pub fn holdups(&self) -> u64 {
        let text = std::fs::read_to_string(self.group.join("cpu.stat")).unwrap();
        let count = text
            .lines()
            .find_map(|line| line.strip_prefix("nr_throttled "));
        count.unwrap().parse().unwrap()
    }

    fn set(&self, file: &str, value: &str) {
        write(&self.group.join(file), value);
    }
}

impl Drop for Quota {
    fn drop(&mut self) {
        // Fails only for a process that has ended, and then the group is also empty.
        let _ = std::fs::write(self.before.join("cgroup.procs"), self.process.to_string());
        if let Err(error) = std::fs::remove_dir(&self.group) {
            eprintln!("{}: {error}", self.group.display());
        }
    }
}

/// Mount point of the CPU controller.
enum Hierarchy {
    /// Control groups version 1.
    First(PathBuf),
    /// Version 2.
    Second(PathBuf),
}

impl Hierarchy {
    fn find() -> Self {
        let mounts = std::fs::read_to_string("/proc/self/mounts").unwrap();
        let found = mounts.lines().find_map(|line| {
            let mut words = line.split_whitespace().skip(1);
            let (at, kind, options) = (words.next()?, words.next()?, words.next()?);
            let at = PathBuf::from(at);
            match kind {
                "cgroup" if options.split(',').any(|option| option == "cpu") => {
                    Some(Self::First(at))
                }
                "cgroup2" => {
                    let controllers =
                        std::fs::read_to_string(at.join("cgroup.controllers")).ok()?;
                    let has_cpu = controllers.split_whitespace().any(|name| name == "cpu");
                    has_cpu.then_some(Self::Second(at))
                }
                _ => None,
            }
        });
        found.expect("this test needs control groups for CPU time (CONFIG_CFS_BANDWIDTH)")
    }

    fn root(&self) -> &Path {
        match self {
            Self::First(root) | Self::Second(root) => root,
        }
    }

    fn group_of(&self, process: u32) -> PathBuf {
        let text = std::fs::read_to_string(format!("/proc/{process}/cgroup")).unwrap();
        let path = text.lines().find_map(|line| {
            let mut parts = line.splitn(3, ':').skip(1);
            let (controllers, path) = (parts.next()?, parts.next()?);
            let is_it = match self {
                Self::First(_) => controllers.split(',').any(|name| name == "cpu"),
                Self::Second(_) => controllers.is_empty(),
            };
            is_it.then_some(path)
        });
        self.root().join(path.unwrap().trim_start_matches('/'))
    }
}

fn write(path: &Path, value: &str) {
    std::fs::write(path, value)
        .unwrap_or_else(|error| panic!("{value} to {}: {error}", path.display()));
}
