//! Ctrl-C and SIGTERM: everything that waits looks here, so that the run ends and cleans up behind it.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

static INTERRUPTED: AtomicBool = AtomicBool::new(false);

/// The run was interrupted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("interrupted")]
pub struct Interrupted;

/// From now on SIGINT, SIGTERM and SIGHUP only set a flag.
///
/// # Errors
///
/// When the process has a handler already.
pub fn catch() -> Result<(), ctrlc::Error> {
    ctrlc::set_handler(|| INTERRUPTED.store(true, Ordering::Relaxed))
}

/// `Err` once a signal came.
///
/// # Errors
///
/// [`Interrupted`].
pub fn check() -> Result<(), Interrupted> {
    if INTERRUPTED.load(Ordering::Relaxed) {
        Err(Interrupted)
    } else {
        Ok(())
    }
}

/// Polls `condition` until it returns a value, for `limit` at most; `Ok(None)` then.
///
/// # Errors
///
/// [`Interrupted`], or the error of `condition`.
pub fn wait_for<T>(
    limit: Duration,
    mut condition: impl FnMut() -> anyhow::Result<Option<T>>,
) -> anyhow::Result<Option<T>> {
    const INTERVAL: Duration = Duration::from_millis(20);
    let deadline = Instant::now() + limit;
    loop {
        check()?;
        if let Some(value) = condition()? {
            return Ok(Some(value));
        }
        if Instant::now() >= deadline {
            return Ok(None);
        }
        std::thread::sleep(INTERVAL);
    }
}
