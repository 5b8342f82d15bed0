//! Memory available to the processes of this host and control group.

use std::path::{Path, PathBuf};

use serde::Serialize;

use super::read::{number, text};

const CONTROL_GROUPS: &str = "/sys/fs/cgroup";

/// Bytes of memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Memory {
    /// Memory of the machine.
    pub machine: u64,
    /// The smallest limit of this process's control group and its ancestors; `None` without one.
    pub control_group: Option<u64>,
}

/// Required memory exceeds a limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooMuch {
    /// The limit's owner: `the machine`, or `the control group`.
    pub of: &'static str,
    /// The limit in bytes.
    pub most: u64,
}

impl Memory {
    /// Reads the limits; `None` without `/proc`.
    pub fn read() -> Option<Self> {
        let meminfo = text("/proc/meminfo")?;
        let total = meminfo
            .lines()
            .find_map(|line| line.strip_prefix("MemTotal:"));
        let kibibytes: u64 = total?.trim().strip_suffix("kB")?.trim().parse().ok()?;
        let groups = text("/proc/self/cgroup").unwrap_or_default();
        Some(Self {
            machine: kibibytes << 10,
            control_group: limit(Path::new(CONTROL_GROUPS), &groups),
        })
    }

    /// Fails with the first of machine and control group that has less than `needed` bytes.
    pub fn check(&self, needed: u64) -> Result<(), TooMuch> {
        let of_group = self.control_group.map(|most| ("the control group", most));
        let limits = [Some(("the machine", self.machine)), of_group];
        match limits
            .into_iter()
            .flatten()
            .find(|(_, most)| *most < needed)
        {
            Some((of, most)) => Err(TooMuch { of, most }),
            None => Ok(()),
        }
    }
}

/// Returns the smallest limit of the groups named in `groups`, the text of `/proc/self/cgroup`, and of their ancestors.
fn limit(root: &Path, groups: &str) -> Option<u64> {
    let of_line = |line: &str| {
        let mut parts = line.splitn(3, ':');
        let (_, controllers, path) = (parts.next()?, parts.next()?, parts.next()?);
        let path = Path::new(path.trim_start_matches('/'));
        let (root, file): (PathBuf, _) = match controllers {
            "" => (root.to_owned(), "memory.max"),
            "memory" => (root.join("memory"), "memory.limit_in_bytes"),
            _ => return None,
        };
        // `max` is not a number: no limit.
        path.ancestors()
            .filter_map(|group| number::<u64>(root.join(group).join(file)))
            .min()
    };
    groups.lines().filter_map(of_line).min()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn this_machine_has_some() {
        let memory = Memory::read().expect("/proc is mounted");
        assert!(memory.machine > 1 << 20);
        assert_eq!(memory.check(1 << 20), Ok(()));
        assert!(memory.check(u64::MAX).is_err());
    }

    #[test]
    fn the_smallest_limit_of_a_group_and_its_parents_counts() {
        let root = tempfile::tempdir().unwrap();
        let write = |file: &str, text: &str| {
            let path = root.path().join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        let of = |groups: &str| limit(root.path(), groups);
        write("a/memory.max", "1000\n");
        write("a/b/memory.max", "max\n");
        write("a/b/c/memory.max", "2000\n");
        assert_eq!(of("0::/a/b/c\n"), Some(1000));
        assert_eq!(of("0::/a/b"), Some(1000));
        assert_eq!(of("0::/"), None);
        assert_eq!(of("0::/elsewhere"), None);
        // Version 2 of control groups beside version 1.
        write("memory/d/memory.limit_in_bytes", "700");
        let both = "5:cpu,cpuacct:/d\n4:memory:/d\n0::/a\n";
        assert_eq!(of(both), Some(700));
        let memory = Memory {
            machine: 4000,
            control_group: of(both),
        };
        assert_eq!(memory.check(700), Ok(()));
        let error = memory.check(701).unwrap_err();
        assert_eq!((error.of, error.most), ("the control group", 700));
        assert_eq!(memory.check(4001).unwrap_err().of, "the machine");
    }
}
