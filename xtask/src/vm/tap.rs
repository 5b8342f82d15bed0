//! A host whose frames arrive in several queues: the kernel's, at a tap device in a network namespace. Needs root.

use std::fs::File;
use std::net::{Ipv4Addr, UdpSocket};
use std::process::Command;

use anyhow::{anyhow, Context, Result};
use nix::sched::{setns, CloneFlags};

use super::set_up::programs::output;
use super::wire::host;

pub const DEVICE: &str = "tap0";
pub const QUEUES: u32 = 4;
const OWN: &str = "10.9.0.1/24";
const OTHER: Ipv4Addr = Ipv4Addr::new(10, 9, 0, 2);
const PORT: u16 = 9;

/// A namespace with the device; dropping it removes both. `cargo xtask clean-net` knows its name.
#[derive(Debug)]
pub struct Tap {
    namespace: String,
}

impl Tap {
    /// Creates it. Datagrams to the other address reach the host at port 0 of the switch.
    ///
    /// # Errors
    ///
    /// Without root, or without /dev/net/tun.
    pub fn new() -> Result<Self> {
        let namespace = format!("weir-{}-vm-tap", std::process::id());
        ip(&["netns", "add", &namespace])?;
        let tap = Self { namespace };
        let inside = |words: &str| {
            let words = words.split_whitespace();
            ip(&["-n", &tap.namespace]
                .into_iter()
                .chain(words)
                .collect::<Vec<_>>())
        };
        let address: Vec<String> = host(0).iter().map(|byte| format!("{byte:02x}")).collect();
        let address = address.join(":");
        inside(&format!(
            "tuntap add dev {DEVICE} mode tap multi_queue vnet_hdr"
        ))?;
        inside(&format!("addr add {OWN} dev {DEVICE}"))?;
        inside(&format!("link set {DEVICE} up"))?;
        inside(&format!(
            "neigh add {OTHER} lladdr {address} dev {DEVICE} nud permanent"
        ))?;
        Ok(tap)
    }

    /// Returns the file of the namespace.
    pub fn file(&self) -> String {
        format!("/run/netns/{}", self.namespace)
    }

    /// Returns sockets, one flow each, whose datagrams go to the host at port 0.
    ///
    /// # Errors
    ///
    /// When the namespace cannot be entered.
    pub fn flows(&self, count: usize) -> Result<Vec<UdpSocket>> {
        let file = File::open(self.file()).with_context(|| self.file())?;
        // A separate thread enters; a socket stays in the namespace in which it was created.
        let thread = std::thread::spawn(move || -> Result<Vec<UdpSocket>> {
            setns(file, CloneFlags::CLONE_NEWNET).context("entering the namespace")?;
            let socket = || -> Result<UdpSocket> {
                let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0))?;
                socket.connect((OTHER, PORT))?;
                Ok(socket)
            };
            (0..count).map(|_| socket()).collect()
        });
        thread
            .join()
            .map_err(|_| anyhow!("the thread in the namespace panicked"))?
    }
}

impl Drop for Tap {
    fn drop(&mut self) {
        if let Err(error) = ip(&["netns", "delete", &self.namespace]) {
            eprintln!("vm-test: {error:#}; `cargo xtask clean-net` removes what is left");
        }
    }
}

fn ip(arguments: &[&str]) -> Result<()> {
    output(Command::new("ip").args(arguments)).map(drop)
}
