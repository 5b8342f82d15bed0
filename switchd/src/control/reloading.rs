//! Interface for reloading the configuration file. It is implemented above the control plane.

use std::future::Future;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::time::Duration;

use weir_api::reload::{Configuration, ConfigurationHistory, PastConfiguration, Reload};
use weir_config::FileError;

use super::Shared;

/// Future result of a request.
pub type Outcome<'a, T> = Pin<Box<dyn Future<Output = Result<T, ReloadError>> + Send + 'a>>;

/// Reads the configuration file again.
pub trait Reloading: Send + Sync {
    /// Applies all settings that can change at run time; with `dry_run` it only reports them. An invalid file changes
    /// nothing. With `confirm`, the previous settings are kept until [`confirm`](Self::confirm) or [`revert`](Self::revert);
    /// the caller has to call the latter in time.
    fn reload<'a>(
        &'a self,
        shared: &'a Shared,
        dry_run: bool,
        confirm: Option<Duration>,
    ) -> Outcome<'a, Reload>;

    /// Keeps the settings of the last reload. Returns the file, and the time that was left.
    fn confirm<'a>(&'a self, shared: &'a Shared) -> Outcome<'a, (String, Duration)>;

    /// Restores the settings from before the reload that waits for a confirmation. Does nothing if none waits or its time is
    /// not over.
    fn revert<'a>(&'a self, shared: &'a Shared) -> Pin<Box<dyn Future<Output = ()> + Send + 'a>>;

    /// Returns the settings in force.
    fn running<'a>(
        &'a self,
        shared: &'a Shared,
    ) -> Pin<Box<dyn Future<Output = Configuration> + Send + 'a>>;

    /// Keeps the initial configuration for a rollback, once the switch forwards.
    fn begun(&self) -> Pin<Box<dyn Future<Output = ()> + Send + '_>>;

    /// Stores run-time changes in `run_dir` for the next switch, and the text of the configuration in force for a keeper
    /// that starts this one again. Returns the file of that text, if it could be written.
    fn leave<'a>(
        &'a self,
        shared: &'a Shared,
        run_dir: &'a Path,
    ) -> Pin<Box<dyn Future<Output = Option<PathBuf>> + Send + 'a>>;

    /// Returns the last files that were in force.
    fn history(&self) -> Outcome<'_, ConfigurationHistory>;

    /// Returns the past file of this number.
    fn past(&self, number: u64) -> Outcome<'_, PastConfiguration>;

    /// Checks that a daemon started now could replace this one. It could not if the file is
    /// invalid, or names another run directory or socket.
    fn check(&self) -> Outcome<'_, ()>;

    /// Like [`reload`](Self::reload), but for a signal: logs the result and notifies the service manager.
    fn reload_and_log<'a>(
        &'a self,
        shared: &'a Shared,
    ) -> Pin<Box<dyn Future<Output = ()> + Send + 'a>>;
}

/// Reason for which nothing was changed.
#[derive(Debug, thiserror::Error)]
pub enum ReloadError {
    /// The file is invalid or missing.
    #[error(transparent)]
    File(#[from] FileError),
    /// The task that reads the file was aborted.
    #[error("reading the file was aborted: {0}")]
    Task(#[from] tokio::task::JoinError),
    /// A reload waits for its confirmation.
    #[error("the last reload waits to be confirmed, {left_seconds} s left: `switchctl confirm` keeps it, otherwise the previous configuration returns")]
    Unconfirmed {
        /// Seconds until its time is over, rounded up.
        left_seconds: u64,
    },
    /// There is nothing to confirm.
    #[error("nothing waits to be confirmed: no reload had a time limit, or it has passed")]
    NothingToConfirm,
    /// The settings in force cannot be read.
    #[error("cannot read the configurations that were in force: {0}")]
    History(std::io::Error),
    /// No past configuration has this number.
    #[error("no configuration {0} is kept; `switchctl config history` lists them")]
    NoSuchPast(u64),
    /// The next daemon could not get its memory.
    #[error("{file}: {why}")]
    Memory {
        /// The file.
        file: String,
        /// Mismatch.
        why: String,
    },
    /// The next daemon could not open a listener.
    #[error("{file}: {key}: {address}: {error}: the next switch would not start")]
    Taken {
        /// The file.
        file: String,
        /// The key.
        key: &'static str,
        /// Address to listen on.
        address: std::net::SocketAddr,
        /// The kernel's error.
        error: std::io::Error,
    },
    /// The next daemon would use another run directory or socket.
    #[error("{file}: {key} cannot change across a keeper restart; stop and start the service")]
    Moved {
        /// The file.
        file: String,
        /// The key.
        key: &'static str,
    },
}
