//! Which daemon is meant.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{bail, Result};
use clap::Args;
use serde::de::DeserializeOwned;
use weir_api::client;

const RUN: &str = "/run/weir";
const ANSWER_LIMIT: Duration = Duration::from_secs(10);

/// Which daemon to ask.
#[derive(Debug, Args)]
pub struct Target {
    /// API socket of the daemon. Default: the only one under /run/weir.
    #[arg(long, global = true, value_name = "PATH", env = "WEIR_SOCKET")]
    socket: Option<PathBuf>,
    /// Name of the switch; its socket is /run/weir/NAME/api.sock.
    #[arg(long, global = true, value_name = "NAME", conflicts_with = "socket")]
    name: Option<String>,
}

/// No daemon to ask.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NoDaemon(String);

impl std::fmt::Display for NoDaemon {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for NoDaemon {}

impl Target {
    /// Asks for `path`.
    ///
    /// # Errors
    ///
    /// When no daemon is there, or it refuses.
    pub fn get<T: DeserializeOwned>(&self, path: &str) -> Result<T> {
        self.get_within(path, ANSWER_LIMIT)
    }

    /// Asks for `path`, whose answer may take longer.
    ///
    /// # Errors
    ///
    /// When no daemon is there, or it refuses.
    pub fn get_within<T: DeserializeOwned>(&self, path: &str, limit: Duration) -> Result<T> {
        let socket = self.socket()?;
        client::get(&socket, path, limit).map_err(|error| {
            let hint = match &error {
                client::ClientError::Unreachable { source, .. } => match source.kind() {
                    std::io::ErrorKind::PermissionDenied => {
                        "you may not use this socket: its group may, and root"
                    }
                    std::io::ErrorKind::ConnectionRefused => {
                        "the socket is stale: weir-switchd is not running"
                    }
                    _ => "is weir-switchd running?",
                },
                _ => "the daemon does not answer as it should",
            };
            anyhow::Error::new(error).context(hint)
        })
    }

    fn socket(&self) -> Result<PathBuf> {
        if let Some(socket) = &self.socket {
            return Ok(socket.clone());
        }
        if let Some(name) = &self.name {
            return Ok(Path::new(RUN).join(name).join("api.sock"));
        }
        let mut sockets = run_dirs("api.sock");
        match sockets.len() {
            0 => Err(NoDaemon(format!(
                "no daemon under {RUN}; is weir-switchd running? (--socket names another place)"
            ))
            .into()),
            1 => Ok(sockets.remove(0).join("api.sock")),
            _ => bail!(
                "several switches: {}; choose one with --name",
                names(&sockets)
            ),
        }
    }
}

/// A daemon's run directory, for what it pinned.
#[derive(Clone, Debug)]
pub struct PinPlace {
    /// The run directory.
    pub run_dir: PathBuf,
}

impl PinPlace {
    /// The run directory that is meant.
    ///
    /// # Errors
    ///
    /// When there is none, or more than one to choose from.
    pub fn find(run_dir: Option<&Path>) -> Result<Self> {
        if let Some(run_dir) = run_dir {
            return Ok(Self {
                run_dir: run_dir.to_owned(),
            });
        }
        let mut found = run_dirs("bpf");
        match found.len() {
            0 => bail!("nothing is pinned under {RUN}; --run-dir names another place"),
            1 => Ok(Self {
                run_dir: found.remove(0),
            }),
            _ => bail!(
                "several switches: {}; choose one with --run-dir",
                names(&found)
            ),
        }
    }

    /// Where the daemon pins, one directory for each port.
    pub fn pins(&self) -> PathBuf {
        self.run_dir.join("bpf")
    }

    /// The process id of the daemon, if one answers.
    pub fn daemon(&self) -> Option<u32> {
        let socket = self.run_dir.join("api.sock");
        client::get::<weir_api::daemon::Status>(&socket, "/v1/status", ANSWER_LIMIT)
            .ok()
            .map(|status| status.pid)
    }
}

/// Run directories that have `entry`, by name.
fn run_dirs(entry: &str) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = fs::read_dir(RUN)
        .into_iter()
        .flatten()
        .flatten()
        .map(|directory| directory.path())
        .filter(|path| path.join(entry).exists())
        .collect();
    found.sort();
    found
}

fn names(paths: &[PathBuf]) -> String {
    let names: Vec<String> = paths
        .iter()
        .filter_map(|path| path.file_name())
        .map(|name| name.to_string_lossy().into_owned())
        .collect();
    names.join(", ")
}
