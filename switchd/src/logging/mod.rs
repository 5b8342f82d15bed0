//! The daemon's log: lines on standard error, or entries with fields in systemd's journal.
//!
//! Both go through a bounded queue to a separate thread, since standard error or the journal may block and neither dataplane
//! nor control plane may wait for that. Lines are lost when the queue is full, and the log reports their number.

mod journal;
mod queue;

use std::io;

use tracing_subscriber::fmt;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{reload, EnvFilter, Registry};

use journal::{Journal, JournalLayer};

pub use queue::LogGuard;

/// Format and destination of the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogFormat {
    /// [`Journal`](Self::Journal) if systemd connects standard error to the journal, otherwise [`Text`](Self::Text).
    Auto,
    /// Lines of text on standard error.
    Text,
    /// One JSON object per line on standard error.
    Json,
    /// Entries with fields, in the journal.
    Journal,
}

/// Reason for which the log cannot be set up.
#[derive(Debug, thiserror::Error)]
pub enum LogError {
    /// The level is invalid.
    #[error(
        "`{level}` is not a log level: write error, warn, info, debug or trace, or a list such as \
         warn,weir_switchd=debug ({reason})"
    )]
    Level {
        /// The given value.
        level: String,
        /// Parse error.
        reason: String,
    },
    /// The journal is requested but unreachable.
    #[error("log.format is \"journal\", but the journal is unreachable at {path}: {source}", path = journal::SOCKET)]
    Journal {
        /// Cause.
        source: io::Error,
    },
    /// The writing thread cannot be started.
    #[error("cannot start the log's thread: {0}")]
    Thread(#[from] io::Error),
    /// The log is already set up.
    #[error("logging is already set up")]
    Twice,
}

/// Sets up the log of the whole process.
///
/// # Errors
///
/// See [`LogError`].
pub fn start(level: &str, format: LogFormat) -> Result<(LogGuard, LevelHandle), LogError> {
    let filter = filter(level)?;
    let journal = match format {
        LogFormat::Journal => {
            Some(Journal::connect().map_err(|source| LogError::Journal { source })?)
        }
        // If the journal does not answer, fall back to standard error.
        LogFormat::Auto if journal::has_standard_error() => Journal::connect().ok(),
        LogFormat::Auto | LogFormat::Text | LogFormat::Json => None,
    };
    let to_journal = journal.is_some();
    let (queue, guard) = queue::start(io::stderr(), journal)?;
    let (filter, handle) = reload::Layer::new(filter);
    let registry = tracing_subscriber::registry().with(filter);
    if to_journal {
        registry.with(JournalLayer::new(queue)).try_init()
    } else {
        let lines = fmt::layer().with_ansi(false).with_writer(queue);
        match format {
            LogFormat::Json => registry.with(lines.json().flatten_event(true)).try_init(),
            _ => registry.with(lines).try_init(),
        }
    }
    .map_err(|_| LogError::Twice)?;
    Ok((guard, LevelHandle(handle)))
}

/// Changes the level of the log.
#[derive(Clone, Debug)]
pub struct LevelHandle(reload::Handle<EnvFilter, Registry>);

impl LevelHandle {
    /// Sets the level.
    ///
    /// # Errors
    ///
    /// [`LogError::Level`].
    pub fn set(&self, level: &str) -> Result<(), LogError> {
        // The log itself lives as long as the process.
        let _ = self.0.reload(filter(level)?);
        Ok(())
    }
}

fn filter(level: &str) -> Result<EnvFilter, LogError> {
    EnvFilter::try_new(level).map_err(|error| LogError::Level {
        level: level.to_owned(),
        reason: error.to_string(),
    })
}
