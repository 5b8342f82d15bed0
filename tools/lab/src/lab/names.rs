//! Names of one run's namespaces, devices and directories. Concurrent runs do not collide.

use std::path::{Path, PathBuf};

use std::sync::atomic::{AtomicU32, Ordering};

/// Prefix of all namespaces of all runs.
pub const PREFIX: &str = "weir-";

/// Default parent of run directories.
pub const RUN: &str = "/run/weir";

/// Names of one run.
#[derive(Clone, Debug)]
pub struct Names {
    prefix: String,
    directory: PathBuf,
}

impl Names {
    /// Creates names that no other run on this machine has: they contain the process ID and a counter.
    pub fn new() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let tag = format!("{}-{count}", std::process::id());
        Self {
            prefix: format!("{PREFIX}{tag}-"),
            directory: Path::new(RUN).join(format!("lab-{tag}")),
        }
    }

    /// Returns the common prefix of this run's namespaces.
    pub fn prefix(&self) -> &str {
        &self.prefix
    }

    /// Returns the directory of this run's configurations, logs, sockets and reports.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// Returns the namespace of a switch or host.
    pub fn namespace(&self, node: &str) -> String {
        format!("{}{node}", self.prefix)
    }

    /// Returns the run directory of a switch's daemon.
    pub fn run_dir(&self, switch: &str) -> PathBuf {
        self.directory.join(switch)
    }

    /// Returns the device of a host. A switch's devices are named after their peers.
    pub fn host_device(&self) -> &'static str {
        "eth0"
    }
}

impl Default for Names {
    fn default() -> Self {
        Self::new()
    }
}
