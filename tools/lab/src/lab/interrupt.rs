//! Ctrl-C and SIGTERM: all waits check here, so that the run ends and cleans up.

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

/// Fails once a signal has arrived.
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

/// Polls `condition` until it returns a value, for at most `limit`; then returns `Ok(None)`.
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
