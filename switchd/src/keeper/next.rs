//! The next switch, prepared while the present one runs.

use std::ffi::OsString;
use std::path::Path;
use std::time::Instant;

use super::link::{ToKeeper, PREPARE_WAIT};
use super::worker::Worker;
use crate::cli::Kept;

/// At most one next switch. Its outcome is reported once: ready, or the reason against it.
#[derive(Default)]
pub(super) struct Next {
    worker: Option<Worker>,
    /// Start of its preparation; `None` once it is ready.
    making_since: Option<Instant>,
}

/// Reason for which there is no next switch.
pub(super) type Refused = String;

impl Next {
    /// Starts a next switch; ends an earlier one that was not used.
    pub(super) fn start(&mut self, program: &Path, arguments: &[OsString]) -> Result<(), Refused> {
        self.end();
        let worker = Worker::start(program, arguments, Kept::Next);
        let cannot = |error| format!("cannot start {}: {error}", program.display());
        self.worker = Some(worker.map_err(cannot)?);
        self.making_since = Some(Instant::now());
        Ok(())
    }

    /// Waits until it is ready or has failed; forever if none is being prepared. Cancel-safe.
    pub(super) async fn becomes(&mut self) -> Result<(), Refused> {
        let (Some(worker), Some(since)) = (&mut self.worker, self.making_since) else {
            return std::future::pending().await;
        };
        let deadline = tokio::time::Instant::from_std(since + PREPARE_WAIT);
        let outcome = match tokio::time::timeout_at(deadline, worker.message()).await {
            Ok(Ok(ToKeeper::Prepared)) => Ok(()),
            Ok(Ok(ToKeeper::Unready { why })) => Err(why),
            Ok(Ok(other)) => Err(format!("it sent {other:?} before it was ready")),
            Ok(Err(error)) => Err(error.to_string()),
            Err(_) => Err(format!("not ready after {} s", PREPARE_WAIT.as_secs())),
        };
        self.making_since = None;
        if outcome.is_err() {
            self.end();
        }
        outcome
    }

    /// Checks the next switch after a process has ended; returns the reason if it failed while being prepared.
    pub(super) fn look(&mut self) -> Option<Refused> {
        let status = self.worker.as_mut()?.ended().ok().flatten()?;
        self.worker = None;
        let was_making = self.making_since.take().is_some();
        was_making.then(|| format!("it ended with {status}"))
    }

    pub(super) fn is_making(&self) -> bool {
        self.making_since.is_some()
    }

    /// Returns true if [`take`](Self::take) returns one.
    pub(super) fn is_ready(&self) -> bool {
        self.worker.is_some() && self.making_since.is_none()
    }

    /// Returns the next switch if it is ready, and ends it otherwise.
    pub(super) fn take(&mut self) -> Option<Worker> {
        if self.making_since.is_some() {
            self.end();
        }
        self.worker.take()
    }

    pub(super) fn end(&mut self) {
        self.making_since = None;
        if let Some(worker) = self.worker.take() {
            worker.kill();
        }
    }
}
