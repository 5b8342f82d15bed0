//! Reading the configuration file again, as those see it who ask for it. Who does it stands above the control plane.

use std::future::Future;
use std::pin::Pin;

use weir_api::reload::Reload;
use weir_config::FileError;

use super::Shared;

/// What comes of it, later.
pub type Outcome<'a, T> = Pin<Box<dyn Future<Output = Result<T, ReloadError>> + Send + 'a>>;

/// Reads the configuration file again.
pub trait Reloading: Send + Sync {
    /// Puts in force what can be; with `dry_run` it only tells what that would be. Nothing is changed when the file is not
    /// legal.
    fn reload<'a>(&'a self, shared: &'a Shared, dry_run: bool) -> Outcome<'a, Reload>;

    /// Whether a daemon that starts now could stand in this one's place. No when the file is not legal, or means another
    /// place.
    fn check(&self) -> Outcome<'_, ()>;

    /// As [`reload`](Self::reload) for a signal: what came of it is logged, and the service manager hears of it.
    fn reload_and_log<'a>(
        &'a self,
        shared: &'a Shared,
    ) -> Pin<Box<dyn Future<Output = ()> + Send + 'a>>;
}

/// Why nothing was changed.
#[derive(Debug, thiserror::Error)]
pub enum ReloadError {
    /// The file is not legal, or not there.
    #[error(transparent)]
    File(#[from] FileError),
    /// The file cannot be read in the background.
    #[error("reading the file was aborted: {0}")]
    Task(#[from] tokio::task::JoinError),
    /// The next daemon would not stand where this one does.
    #[error("{file}: {key} cannot change across a keeper restart; stop and start the service")]
    Moved {
        /// The file.
        file: String,
        /// The key.
        key: &'static str,
    },
}
