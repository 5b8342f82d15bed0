//! The sending and the receiving host, and the namespace for a switch between them.
//!
//! ```text
//!   namespace `hosts`                    namespace `switch`
//!   sender   ── h1 ═══════ veth ═══════ p1 ──┐
//!                                            │ the switch under test
//!   receiver ── h2 ═══════ veth ═══════ p2 ──┘
//! ```

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result};
use nix::net::if_::if_nametoindex;
use nix::sched::{setns, CloneFlags};
use weir_lab::lab::names::Names;
use weir_lab::lab::topology::Topology;

use crate::programs::HostPrograms;
use crate::sender::Sender;

/// The switch's ports: those of the sender and of the receiver.
pub const PORTS: [&str; 2] = ["p1", "p2"];
/// The sender's address.
pub const SOURCE: [u8; 6] = [0x02, 0x57, 0x42, 0, 0, 1];
/// The receiver's address.
pub const DESTINATION: [u8; 6] = [0x02, 0x57, 0x42, 0, 0, 2];
/// Line rate configured for switches: more than any of them reaches.
pub const LINE_GBITS: u64 = 100;
/// 512 bit times.
pub const QUANTUM_PICOS: u64 = 512 * 1_000 / LINE_GBITS;

const HOSTS: [&str; 2] = ["h1", "h2"];

/// Namespaces with links between them, and a directory for files. Removed on drop: the fields are dropped in this order.
#[derive(Debug)]
pub struct Site {
    _topology: Topology,
    directory: Directory,
    names: Names,
}

impl Site {
    /// Builds the site of `plan`, which must have a namespace `switch`.
    ///
    /// # Errors
    ///
    /// A namespace or a link cannot be created, for example without root.
    pub fn build(plan: impl Fn(&Names) -> String) -> Result<Self> {
        let names = Names::new();
        let directory = Directory(names.directory().to_owned());
        let topology = Topology::build(&plan(&names), &names)?;
        Ok(Self {
            _topology: topology,
            directory,
            names,
        })
    }

    /// Namespace of a host.
    pub fn host(&self, name: &str) -> String {
        self.names.namespace(name)
    }

    /// Namespace of the switch.
    pub fn namespace(&self) -> String {
        self.names.namespace("switch")
    }

    /// Directory for files of the switch under test.
    pub fn directory(&self) -> &Path {
        &self.directory.0
    }
}

/// The hosts, and a place for a switch. Removed on drop: the fields are dropped in this order.
#[derive(Debug)]
pub struct Stage {
    /// The hosts' programs.
    pub programs: HostPrograms,
    /// The sending host.
    pub sender: Sender,
    /// Index of the sender's device.
    pub sender_ifindex: u32,
    _inside: Inside,
    /// Place of the switch.
    pub site: Site,
}

impl Stage {
    /// Builds namespaces and links, and moves the calling thread into the hosts' namespace until the value is dropped.
    ///
    /// # Errors
    ///
    /// A namespace, a socket or a program cannot be created, for example without root.
    pub fn build() -> Result<Self> {
        let site = Site::build(plan)?;
        let inside = Inside::enter(&site.host("hosts"))?;
        let index = |device| if_nametoindex(device).with_context(|| String::from(device));
        let indices = [index(HOSTS[0])?, index(HOSTS[1])?];
        Ok(Self {
            programs: HostPrograms::attach(&indices)?,
            sender: Sender::open(HOSTS[0])?,
            sender_ifindex: indices[0],
            _inside: inside,
            site,
        })
    }
}

/// Formats an address.
pub fn address(bytes: [u8; 6]) -> String {
    let parts: Vec<String> = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    parts.join(":")
}

fn plan(names: &Names) -> String {
    let (hosts, switch) = (names.namespace("hosts"), names.namespace("switch"));
    let mut plan = format!("ns {hosts}\nns {switch}\n");
    for ((host, port), of_host) in HOSTS.iter().zip(PORTS).zip([SOURCE, DESTINATION]) {
        let of_host = address(of_host);
        plan.push_str(&format!(
            "veth {switch} {port} - {hosts} {host} {of_host} 1500\n"
        ));
    }
    plan
}

/// Keeps the calling thread in another network namespace until dropped.
#[derive(Debug)]
struct Inside {
    before: File,
}

impl Inside {
    fn enter(namespace: &str) -> Result<Self> {
        let before = File::open("/proc/thread-self/ns/net").context("/proc/thread-self/ns/net")?;
        let path = format!("/run/netns/{namespace}");
        let file = File::open(&path).with_context(|| path.clone())?;
        setns(file, CloneFlags::CLONE_NEWNET).context(path)?;
        Ok(Self { before })
    }
}

impl Drop for Inside {
    fn drop(&mut self) {
        if let Err(error) = setns(&self.before, CloneFlags::CLONE_NEWNET) {
            eprintln!("going back to the network namespace: {error}");
        }
    }
}

#[derive(Debug)]
struct Directory(PathBuf);

impl Drop for Directory {
    fn drop(&mut self) {
        // A killed daemon leaves its BPF file system mounted.
        let _ = Command::new("umount")
            .arg("-q")
            .arg(self.0.join("run/bpf"))
            .stderr(Stdio::null())
            .status();
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
