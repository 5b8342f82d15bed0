//! Threads of tests in other network namespaces.

use std::fs::File;
use std::io;

use nix::sched::{setns, CloneFlags};

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
