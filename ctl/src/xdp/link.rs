//! BPF links: their attachments and holders.

use std::fs;
use std::io;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use aya::programs::links::{FdLink, PinnedLink};
use aya::programs::loaded_programs;
use serde::Serialize;

/// Number of checks in which a process must have a link open to count as its holder.
const LOOKS: usize = 6;

const BETWEEN_LOOKS: Duration = Duration::from_millis(20);

/// A link opened by this process.
#[derive(Debug)]
pub struct OpenLink {
    /// The link's id (`bpftool link show id`).
    pub id: u32,
    /// ID of the attached program.
    pub program_id: u32,
    /// Index of the device; zero once the device is gone.
    pub ifindex: Option<u32>,
    descriptor: Option<i32>,
    _open: FdLink,
}

#[derive(Clone, Debug, Serialize)]
pub struct Program {
    /// The program's id (`bpftool prog show id`).
    pub id: u32,
    pub name: String,
    /// The kernel's digest of its instructions, hexadecimal.
    pub tag: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Process {
    pub pid: u32,
    pub command: String,
}

impl OpenLink {
    /// Opens a pinned link.
    ///
    /// # Errors
    ///
    /// When it is not a link, or cannot be opened, which requires root.
    pub fn from_pin(path: &Path) -> Result<Self> {
        let named = || path.display().to_string();
        let open = FdLink::from(PinnedLink::from_pin(path).with_context(named)?);
        let info = open.info().with_context(named)?;
        // aya does not expose the descriptor's number, and does not read the device of an XDP link.
        let entry = entries(Path::new("/proc/self/fdinfo"), info.id()).next();
        Ok(Self {
            id: info.id(),
            program_id: info.program_id(),
            ifindex: entry.as_ref().and_then(|entry| entry.ifindex),
            descriptor: entry.map(|entry| entry.descriptor),
            _open: open,
        })
    }

    pub fn program(&self) -> Option<Program> {
        loaded_programs()
            .flatten()
            .find(|program| program.id() == self.program_id)
            .map(|program| Program {
                id: program.id(),
                name: program.name_as_str().unwrap_or_default().to_owned(),
                tag: format!("{:016x}", program.tag()),
            })
    }

    /// Returns other processes that hold the link, by process ID. Root is needed to see those of other users. A process that
    /// merely lists links (`bpftool link`) opens each of them briefly, and does not count.
    pub fn holders(&self) -> Vec<Process> {
        lasting(|| self.openers(), || thread::sleep(BETWEEN_LOOKS))
    }

    fn openers(&self) -> Vec<Process> {
        let own = std::process::id();
        let mut openers: Vec<Process> = fs::read_dir("/proc")
            .into_iter()
            .flatten()
            .flatten()
            .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
            .filter(|pid| *pid != own)
            .filter(|pid| {
                entries(Path::new(&format!("/proc/{pid}/fdinfo")), self.id)
                    .next()
                    .is_some()
            })
            .map(|pid| Process {
                pid,
                command: fs::read_to_string(format!("/proc/{pid}/comm"))
                    .map_or_else(|_| "?".to_owned(), |name| name.trim().to_owned()),
            })
            .collect();
        openers.sort_by_key(|process| process.pid);
        openers
    }

    /// Detaches the program even if other processes hold the link, which then remains without a program.
    ///
    /// # Errors
    ///
    /// The kernel's error.
    pub fn force_detach(&self) -> io::Result<()> {
        /// `enum bpf_cmd` of linux/bpf.h.
        const BPF_LINK_DETACH: libc::c_int = 34;
        let descriptor = self.descriptor.ok_or(io::ErrorKind::NotFound)?;
        // The `link_detach` part of `union bpf_attr`: the descriptor, open as long as `self`.
        bpf(BPF_LINK_DETACH, &mut [descriptor as u32])
    }
}

impl std::fmt::Display for Process {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} (pid {})", self.command, self.pid)
    }
}

/// Returns true when the kernel has released the link. It frees a link shortly after the last reference is gone, so this
/// checks repeatedly.
pub fn is_gone(id: u32) -> bool {
    const LIMIT: Duration = Duration::from_secs(5);
    const STEP: Duration = Duration::from_millis(10);
    let begin = Instant::now();
    while exists(id) {
        if begin.elapsed() > LIMIT {
            return false;
        }
        thread::sleep(STEP);
    }
    true
}

/// Returns true if a link has this ID. Opens no link, since that would keep the link alive briefly.
fn exists(id: u32) -> bool {
    /// `enum bpf_cmd` of linux/bpf.h.
    const BPF_LINK_GET_NEXT_ID: libc::c_int = 31;
    // `start_id`, `next_id`, `open_flags` of `union bpf_attr`.
    let mut attributes = [id.saturating_sub(1), 0, 0];
    bpf(BPF_LINK_GET_NEXT_ID, &mut attributes).is_ok() && attributes[1] == id
}

/// Makes a bpf(2) call that aya lacks; `attributes` is the part of `union bpf_attr` that the command uses.
#[allow(unsafe_code)]
fn bpf<const WORDS: usize>(command: libc::c_int, attributes: &mut [u32; WORDS]) -> io::Result<()> {
    // SAFETY: the attributes outlive the call and are passed with their size, beyond which the kernel reads zeros and never
    // writes.
    let result = unsafe {
        libc::syscall(
            libc::SYS_bpf,
            command,
            std::ptr::from_mut(attributes),
            size_of_val(attributes),
        )
    };
    if result < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}

fn lasting(mut look: impl FnMut() -> Vec<Process>, mut rest: impl FnMut()) -> Vec<Process> {
    let mut there = look();
    for _ in 1..LOOKS {
        if there.is_empty() {
            break;
        }
        rest();
        let now = look();
        there.retain(|process| now.contains(process));
    }
    there
}

/// An open descriptor of a process that refers to a link.
#[derive(Debug)]
struct Entry {
    descriptor: i32,
    ifindex: Option<u32>,
}

/// Iterates over descriptors in a process's `fdinfo` directory that refer to link `id`.
fn entries(fdinfo: &Path, id: u32) -> impl Iterator<Item = Entry> {
    fs::read_dir(fdinfo)
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(move |entry| {
            let text = fs::read_to_string(entry.path()).ok()?;
            (field(&text, "link_id") == Some(id)).then_some(())?;
            Some(Entry {
                descriptor: entry.file_name().to_str()?.parse().ok()?,
                ifindex: field(&text, "ifindex"),
            })
        })
}

/// Parses a number in lines of the form `name:\tvalue`.
fn field(text: &str, name: &str) -> Option<u32> {
    text.lines()
        .filter_map(|line| line.split_once(':'))
        .find(|(key, _)| *key == name)
        .and_then(|(_, value)| value.trim().parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn opening_a_link_briefly_does_not_hold_it() {
        let process = |pid| Process {
            pid,
            command: "test".to_owned(),
        };
        let mut rests = 0;
        let mut looks = 0;
        let there = lasting(
            || {
                looks += 1;
                // 7 holds it; 8 lists all links repeatedly, 9 once.
                match looks {
                    1 => vec![process(7), process(8), process(9)],
                    LOOKS => vec![process(7)],
                    _ => vec![process(7), process(8)],
                }
            },
            || rests += 1,
        );
        assert_eq!((there, rests), (vec![process(7)], LOOKS - 1));
        assert_eq!(lasting(Vec::new, || panic!("nobody to wait for")), []);
    }

    #[test]
    fn fields_are_found_by_their_whole_name() {
        let text = "pos:\t0\nflags:\t02000002\nlink_type:\txdp\nlink_id:\t17\nprog_tag:\tabc\n\
                    prog_id:\t42\nifindex:\t5\n";
        assert_eq!(field(text, "link_id"), Some(17));
        assert_eq!(field(text, "ifindex"), Some(5));
        assert_eq!(field(text, "id"), None);
        assert_eq!(field(text, "link_type"), None);
    }
}
