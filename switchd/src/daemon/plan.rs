//! Plan of a daemon, and the errors that prevent it.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use tokio::sync::mpsc;
use weir_config::daemon::{ApiConfig, Protection};
use weir_core::Quanta;
use weir_dataplane::DataplaneError;

use super::doors::Protections;
use super::reload::Reloader;
use crate::cli::{Kept, EXIT_CONFIG, EXIT_FAILURE, EXIT_IN_USE};
use crate::control::info::SwitchInfo;
use crate::control::{ControlSettings, Signal, SupervisorError};
use crate::keeper::link::KeeperLink;
use crate::metrics::gnmi::GnmiSettings;
use crate::os::run_dir::RunDirError;
use crate::os::secret::SecretError;
use crate::page::PageSettings;

/// Everything that the daemon needs besides its dataplane.
#[derive(Debug)]
pub struct Plan {
    /// The run directory.
    pub run_dir: PathBuf,
    /// Path of the API's Unix socket.
    pub api_socket: PathBuf,
    /// Access to the API socket, and the read-only socket.
    pub api: ApiConfig,
    /// Address of the metrics; `None` to disable them.
    pub metrics: Option<SocketAddr>,
    /// Protection of the metrics.
    pub metrics_protection: Protection,
    /// Settings of gNMI; `None` to disable it.
    pub gnmi: Option<GnmiSettings>,
    /// Settings of the live page; `None` to disable it.
    pub page: Option<PageSettings>,
    /// Names and settings; attaching the ports fills in the rest.
    pub info: SwitchInfo,
    /// Settings of the control plane.
    pub control: ControlSettings,
    /// Time to send buffered frames at the end.
    pub drain: Duration,
    /// Reloads the configuration file; `None` if there is none.
    pub reloader: Option<Reloader>,
    /// Heartbeat timeout of the service manager; `None` if it needs none.
    pub watchdog: Option<Duration>,
    /// Contents of the files that protect listeners, if read beforehand.
    pub protections: Option<Protections>,
    /// Restart support; `None` without a keeper.
    pub keeping: Option<Keeping>,
}

/// The switch's connection to its keeper.
#[derive(Debug)]
pub struct Keeping {
    /// Channel to the keeper.
    pub link: KeeperLink,
    /// This process's role among the keeper's switches.
    pub kept: Kept,
    /// Pause time used to hold neighbours.
    pub pause_time: Quanta,
    /// Sender for [`Signal::Restart`].
    pub signals: mpsc::Sender<Signal>,
}

impl Keeping {
    /// Returns true if the keeper starts the previous switch when this one does not start.
    pub(super) fn has_way_back(&self) -> bool {
        self.kept != Kept::First && self.link.goes_back()
    }
}

/// Reason for which the daemon could not start, or ended by itself.
#[derive(Debug, thiserror::Error)]
pub enum DaemonError {
    /// The run directory cannot be used.
    #[error(transparent)]
    RunDir(#[from] RunDirError),
    /// The API's socket cannot be created.
    #[error("cannot create the API socket {path}: {source}")]
    Api {
        /// Path of the socket.
        path: PathBuf,
        /// Cause.
        source: io::Error,
    },
    /// The address of the metrics cannot be used.
    #[error("cannot serve metrics at {address}: {source}")]
    Metrics {
        /// Address of the listener.
        address: SocketAddr,
        /// Cause.
        source: io::Error,
    },
    /// The files that protect a listener cannot be used.
    #[error("cannot protect {what}: {source}")]
    Protection {
        /// The listener.
        what: &'static str,
        /// Cause.
        source: SecretError,
    },
    /// The address of gNMI cannot be used.
    #[error("cannot serve gNMI at {address}: {source}; set gnmi.listen to another address or to \"off\"")]
    Gnmi {
        /// Address of the listener.
        address: SocketAddr,
        /// Cause.
        source: io::Error,
    },
    /// The address of the page cannot be used.
    #[error("cannot serve the live page at {address}: {source}; set page.listen to another address or to \"off\"")]
    Page {
        /// Address of the listener.
        address: SocketAddr,
        /// Cause.
        source: io::Error,
    },
    /// The dataplane did not start.
    #[error("cannot start the dataplane: {}", unrepeated(.0))]
    Dataplane(anyhow::Error),
    /// The control plane did not start, or the dataplane has ended by itself.
    #[error(transparent)]
    Control(#[from] SupervisorError),
    /// The devices' link state cannot be watched.
    #[error("cannot monitor the link state of devices: {0}")]
    LinkMonitor(io::Error),
}

/// Returns the error and its causes, except causes that the preceding text already contains.
fn unrepeated(error: &anyhow::Error) -> String {
    error.chain().fold(String::new(), |text, cause| {
        let cause = cause.to_string();
        match text.is_empty() {
            true => cause,
            false if text.contains(&cause) => text,
            false => format!("{text}: {cause}"),
        }
    })
}

impl DaemonError {
    /// Returns the exit status for this error.
    pub fn status(&self) -> u8 {
        let dataplane = match self {
            Self::Dataplane(error) => error.downcast_ref(),
            Self::RunDir(RunDirError::InUse { .. }) => return EXIT_IN_USE,
            _ => None,
        };
        match dataplane {
            Some(DataplaneError::Unfit { .. } | DataplaneError::NoNative { .. }) => EXIT_CONFIG,
            Some(DataplaneError::Taken { holder, .. }) if holder.is_switch() => EXIT_IN_USE,
            _ => EXIT_FAILURE,
        }
    }
}

#[cfg(test)]
mod tests {
    use weir_ebpf::EbpfError;

    use super::*;

    #[test]
    fn a_cause_that_the_message_has_is_not_repeated() {
        let source = EbpfError::Attach {
            ifindex: 6,
            mode: "native",
            source: io::Error::from_raw_os_error(22),
        };
        let port = "x0".to_owned();
        let error = DaemonError::Dataplane(DataplaneError::Program { port, source }.into());
        let text = error.to_string();
        assert_eq!(text.matches("Invalid argument").count(), 1, "{text}");
        assert!(text.starts_with("cannot start the dataplane: port x0: attaching"));
        let wrapped = anyhow::Error::from(io::Error::from_raw_os_error(22)).context("mapping");
        assert!(unrepeated(&wrapped).starts_with("mapping: Invalid argument"));
    }
}
