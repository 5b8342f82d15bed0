//! The process that holds the XDP program of a device: another switch by its pins, and any process by procfs.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use nix::fcntl::{Flock, FlockArg};
use weir_doctor::link;

/// Name of the file in its run directory that a running daemon has locked.
pub const LOCK_NAME: &str = "lock";
/// Name of the mount point of the BPF file system in the run directory.
pub const BPF_NAME: &str = "bpf";

/// The program on a device, and its process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Holder {
    device: String,
    program: u32,
    process: Option<Process>,
}

/// A process that holds the link of an XDP program.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Process {
    pid: u32,
    name: String,
    /// The run directory that it has locked, if it is a switch.
    run_dir: Option<PathBuf>,
}

impl Holder {
    /// Finds the holder of the program on the device with this index. `None` if no program is attached, or this process
    /// holds it.
    pub(crate) fn find(device: &str, index: u32) -> Option<Self> {
        let programs = link::find(index).ok()??.programs;
        let (program, _) = *programs.first()?;
        let process = switch_with(program).or_else(|| process_with(program));
        let is_ours = process
            .as_ref()
            .is_some_and(|it| it.pid == std::process::id());
        (!is_ours).then(|| Self {
            device: device.to_owned(),
            program,
            process,
        })
    }

    /// Returns true for a switch with another run directory.
    pub(crate) fn is_other_switch(&self, run_dir: &Path) -> bool {
        let of_holder = self.process.as_ref().and_then(|it| it.run_dir.as_ref());
        of_holder.is_some_and(|of_holder| of_holder != run_dir)
    }

    /// Returns true for a switch.
    pub fn is_switch(&self) -> bool {
        let process = self.process.as_ref();
        process.is_some_and(|process| process.run_dir.is_some())
    }
}

impl std::fmt::Display for Holder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (device, program) = (&self.device, self.program);
        let Some(Process { pid, name, run_dir }) = &self.process else {
            return write!(
                f,
                "has XDP program {program}, and no process that holds it can be seen: end that process, or if there is none, remove the program with `switchctl xdp detach` or `ip link set dev {device} xdp off`"
            );
        };
        match run_dir {
            Some(run_dir) => write!(
                f,
                "is a port of the switch `{}`, process {pid} with run directory {}: stop that switch, or have it release the device with `switchctl port remove`",
                run_dir.file_name().unwrap_or_default().display(),
                run_dir.display()
            ),
            None => write!(
                f,
                "has XDP program {program} of process {pid} (`{name}`): end that process"
            ),
        }
    }
}

/// Returns the switch that has pinned a link of this program. The files of its process are hidden from other
/// processes of its user, but the file systems of its pins are not.
fn switch_with(program: u32) -> Option<Process> {
    let mounts = fs::read_to_string("/proc/self/mountinfo").ok()?;
    let mut run_dirs = run_dirs(&mounts);
    run_dirs.find_map(|run_dir| {
        let ports = fs::read_dir(run_dir.join(BPF_NAME)).ok()?;
        let mut pins = ports.flatten().map(|port| port.path());
        let has_link = pins.any(|pins| weir_ebpf::pinned_program(&pins) == Some(program));
        // The pins of a killed switch are nobody's.
        if !has_link || is_run_dir_free(&run_dir) {
            return None;
        }
        let pid = fs::read_to_string(run_dir.join(LOCK_NAME)).ok()?;
        Some(Process {
            pid: pid.trim().parse().ok()?,
            name: run_dir.file_name()?.to_string_lossy().into_owned(),
            run_dir: Some(run_dir),
        })
    })
}

/// Returns the directories with a mounted file system of pins, from the text of a mountinfo file (proc_pid_mountinfo(5)).
fn run_dirs(mounts: &str) -> impl Iterator<Item = PathBuf> + '_ {
    let of_bpf = mounts.lines().filter(|line| line.contains(" - bpf "));
    let points = of_bpf.filter_map(|line| line.split(' ').nth(4));
    points.filter_map(|point| {
        let point = Path::new(point);
        let is_pins = point.file_name().is_some_and(|name| name == BPF_NAME);
        is_pins
            .then(|| point.parent().map(Path::to_owned))
            .flatten()
    })
}

/// Returns true while no process has the run directory `path`.
pub fn is_run_dir_free(path: &Path) -> bool {
    let Ok(file) = File::open(path.join(LOCK_NAME)) else {
        return false;
    };
    // A shared lock is refused while another process holds the lock, and is released with this value.
    Flock::lock(file, FlockArg::LockSharedNonblock).is_ok()
}

fn process_with(program: u32) -> Option<Process> {
    let numbers = fs::read_dir("/proc").ok()?.flatten();
    let pids = numbers.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    pids.filter(|pid| has_link(*pid, program)).find_map(process)
}

/// Returns a process; `None` while it is ending, when its memory is gone before its files.
fn process(pid: u32) -> Option<Process> {
    let home = Path::new("/proc").join(pid.to_string());
    fs::read_link(home.join("exe")).ok()?;
    let run_dir = files(pid).find_map(|(_, file)| {
        let is_lock = file.file_name().is_some_and(|name| name == LOCK_NAME);
        is_lock.then(|| file.parent().map(Path::to_owned)).flatten()
    });
    Some(Process {
        pid,
        name: fs::read_to_string(home.join("comm"))
            .ok()?
            .trim()
            .to_owned(),
        run_dir,
    })
}

fn has_link(pid: u32, program: u32) -> bool {
    let wanted = program.to_string();
    let links = files(pid).filter(|(_, file)| is_link(file));
    links.into_iter().any(|(number, _)| {
        let info = fs::read_to_string(format!("/proc/{pid}/fdinfo/{number}"));
        info.is_ok_and(|info| value(&info, "prog_id:") == Some(&*wanted))
    })
}

/// Accepts both names; the kernel has changed the name once.
fn is_link(file: &Path) -> bool {
    ["anon_inode:bpf_link", "anon_inode:bpf-link"]
        .iter()
        .any(|name| file == Path::new(name))
}

fn value<'a>(info: &'a str, key: &str) -> Option<&'a str> {
    info.lines()
        .find_map(|line| line.strip_prefix(key))
        .map(str::trim)
}

/// Returns the numbers and targets of a process's open files; none if they may not be read.
fn files(pid: u32) -> impl Iterator<Item = (String, PathBuf)> {
    let entries = fs::read_dir(format!("/proc/{pid}/fd"))
        .into_iter()
        .flatten();
    entries.flatten().filter_map(|entry| {
        let number = entry.file_name().into_string().ok()?;
        Some((number, fs::read_link(entry.path()).ok()?))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn holder(process: Option<Process>) -> Holder {
        Holder {
            device: "p1".to_owned(),
            program: 12,
            process,
        }
    }

    fn switch() -> Process {
        Process {
            pid: 77,
            name: "weir-switchd".to_owned(),
            run_dir: Some("/run/weir/s1".into()),
        }
    }

    #[test]
    fn a_switch_is_named_with_its_process() {
        let held = holder(Some(switch()));
        let text = held.to_string();
        assert!(
            text.starts_with("is a port of the switch `s1`, process 77 "),
            "{text}"
        );
        assert!(held.is_other_switch(Path::new("/run/weir/s2")));
        assert!(!held.is_other_switch(Path::new("/run/weir/s1")));
        let other = holder(Some(Process {
            run_dir: None,
            ..switch()
        }));
        assert!(other.to_string().contains("of process 77"), "{other}");
        assert!(!other.is_other_switch(Path::new("/run/weir/s2")));
        let none = holder(None).to_string();
        assert!(none.ends_with("`ip link set dev p1 xdp off`"), "{none}");
    }

    #[test]
    fn a_link_reports_its_program() {
        let info =
            "pos:\t0\nlink_type:\txdp\nlink_id:\t4\nprog_tag:\tab\nprog_id:\t12\nifindex:\t3\n";
        assert_eq!(value(info, "prog_id:"), Some("12"));
        assert_eq!(value("pos:\t0\n", "prog_id:"), None);
    }

    #[test]
    fn run_dirs_are_those_of_mounted_pins() {
        let mounts = "31 24 0:27 / /sys/fs/bpf rw,nosuid shared:11 - bpf bpf rw,mode=700\n\
                      90 24 0:52 / /run/weir/s1/bpf rw,nosuid - bpf bpffs rw,mode=700\n\
                      91 24 0:53 / /run/weir/s2 rw - tmpfs tmpfs rw\n";
        let found: Vec<_> = run_dirs(mounts).collect();
        assert_eq!(found, [Path::new("/sys/fs"), Path::new("/run/weir/s1")]);
        // Nothing has locked the first one, so it is no switch.
        assert_eq!(run_dirs("").next(), None);
    }

    #[test]
    fn this_process_is_found_by_its_files() {
        let directory = tempfile::tempdir().unwrap();
        let _lock = fs::File::create(directory.path().join(LOCK_NAME)).unwrap();
        let found = process(std::process::id()).unwrap();
        assert_eq!(found.run_dir.as_deref(), Some(directory.path()));
        assert!(!has_link(std::process::id(), u32::MAX));
    }
}
