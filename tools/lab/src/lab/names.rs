//! Names of one run's namespaces, devices and directories. Concurrent runs do not collide.

use std::path::{Path, PathBuf};

use std::sync::atomic::{AtomicU32, Ordering};

/// Every namespace of every run begins with this.
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
    /// Names that no other run of this machine has: they hold the process id and a count.
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

    /// Configurations, logs, sockets and reports of this run.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// The namespace of a switch or host.
    pub fn namespace(&self, node: &str) -> String {
        format!("{}{node}", self.prefix)
    }

    /// The run directory of a switch's daemon.
    pub fn run_dir(&self, switch: &str) -> PathBuf {
        self.directory.join(switch)
    }

    /// The device of a host. A switch's devices have the names of what they lead to.
    pub fn host_device(&self) -> &'static str {
        "eth0"
    }
}

impl Default for Names {
    fn default() -> Self {
        Self::new()
    }
}
