//! Network namespaces of tests, and threads in them.

use std::fs::File;
use std::io;
use std::process::Command;

use nix::sched::{setns, CloneFlags};

use crate::printed;

/// A network namespace of this test. Removed on drop.
#[derive(Debug)]
pub struct Namespace(String);

impl Namespace {
    /// Makes the namespace `weir-TAG-PID`, whose loopback device is down.
    pub fn create(tag: &str) -> Self {
        let place = Self(format!("weir-{tag}-{}", std::process::id()));
        printed(Command::new("ip").args(["netns", "add", &place.0]));
        place
    }

    /// Like [`create`](Self::create), but with the loopback device up.
    pub fn with_loopback(tag: &str) -> Self {
        let place = Self::create(tag);
        printed(Command::new("ip").args(["-n", &place.0, "link", "set", "lo", "up"]));
        place
    }

    /// Returns its name.
    pub fn name(&self) -> &str {
        &self.0
    }
}

impl Drop for Namespace {
    fn drop(&mut self) {
        let mut command = Command::new("ip");
        let _ = command.args(["netns", "delete", &self.0]).status();
    }
}

/// Moves this thread to another network namespace until dropped.
#[derive(Debug)]
pub struct Visit {
    home: File,
}

impl Visit {
    /// Enters the namespace with this name.
    ///
    /// # Errors
    ///
    /// It does not exist.
    pub fn to(namespace: &str) -> io::Result<Self> {
        let home = File::open("/proc/thread-self/ns/net")?;
        let there = File::open(format!("/run/netns/{namespace}"))?;
        setns(there, CloneFlags::CLONE_NEWNET)?;
        Ok(Self { home })
    }
}

impl Drop for Visit {
    fn drop(&mut self) {
        setns(&self.home, CloneFlags::CLONE_NEWNET).expect("the way back is open");
    }
}
