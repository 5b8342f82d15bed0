//! The network namespace of a veth's other end, if this process can find and enter it.

use std::fs::File;
use std::os::fd::{AsFd, AsRawFd};
use std::path::{Path, PathBuf};

use nix::sched::{setns, CloneFlags};
use weir_netlink::message::{attribute, body, find, u32_at, HEADER};
use weir_netlink::socket::{ask, Protocol};

// linux/rtnetlink.h, linux/net_namespace.h
const RTM_NEWNSID: u16 = 88;
const RTM_GETNSID: u16 = 90;
/// `struct rtgenmsg`, padded.
const RTGENMSG: usize = 4;
const NETNSA_NSID: u16 = 1;
const NETNSA_FD: u16 = 3;
/// Directory in which ip(8) keeps the names of namespaces.
const NAMED: &str = "/run/netns";

/// A network namespace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Namespace {
    path: PathBuf,
    /// Shell words that run a command in this namespace.
    pub enter: String,
}

impl Namespace {
    /// Finds the namespace with this id (`link-netnsid`) in this process's namespace: by a name, or by one of its
    /// processes.
    pub fn by_number(nsid: u32) -> Option<Self> {
        let named = entries(NAMED).map(|(name, path)| Self {
            path,
            enter: format!("ip netns exec {name}"),
        });
        let of_processes = entries("/proc").filter_map(|(name, path)| {
            let pid: u32 = name.parse().ok()?;
            Some(Self {
                path: path.join("ns/net"),
                enter: format!("nsenter --target {pid} --net"),
            })
        });
        named
            .chain(of_processes)
            .find(|namespace| number(&namespace.path) == Some(nsid))
    }

    /// Runs `look` there, in a separate thread. `None` if this process may not enter.
    pub fn visit<T: Send>(&self, look: impl FnOnce() -> T + Send) -> Option<T> {
        let there = File::open(&self.path).ok()?;
        std::thread::scope(|scope| {
            let visitor = scope.spawn(|| {
                setns(there.as_fd(), CloneFlags::CLONE_NEWNET).ok()?;
                Some(look())
            });
            visitor.join().ok().flatten()
        })
    }
}

fn entries(directory: &str) -> impl Iterator<Item = (String, PathBuf)> {
    let entries = std::fs::read_dir(directory).into_iter().flatten();
    entries.flatten().filter_map(|entry| {
        let name = entry.file_name().into_string().ok()?;
        Some((name, entry.path()))
    })
}

/// Returns the number by which this process's namespace refers to another one; `None` if it has
/// none.
fn number(namespace: &Path) -> Option<u32> {
    let file = File::open(namespace).ok()?;
    let question = [
        vec![0; RTGENMSG],
        attribute(NETNSA_FD, &file.as_raw_fd().to_ne_bytes()),
    ];
    let answer = ask(Protocol::NetlinkRoute, RTM_GETNSID, &question.concat()).ok()?;
    let attributes = body(&answer, RTM_NEWNSID, HEADER + RTGENMSG)?;
    // -1: none.
    let number = u32_at(find(attributes, NETNSA_NSID)?, 0)?;
    (number != u32::MAX).then_some(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Entering requires CAP_SYS_ADMIN; without it there is nothing to see.
    #[test]
    fn a_visit_returns_its_result() {
        let own = Namespace {
            path: "/proc/self/ns/net".into(),
            enter: String::new(),
        };
        let seen = own.visit(|| super::super::link::find(1).unwrap().unwrap().name);
        assert!(seen.is_none_or(|name| name == "lo"));
        let missing = Namespace {
            path: "/run/netns/weir-no-such".into(),
            ..own
        };
        assert_eq!(missing.visit(|| ()), None);
        assert_eq!(number(Path::new("/run/netns/weir-no-such")), None);
    }
}
