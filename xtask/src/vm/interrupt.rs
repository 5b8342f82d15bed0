//! Ctrl-C and SIGTERM: all waits check here, so that the run ends and cleans up.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};

static INTERRUPTED: AtomicBool = AtomicBool::new(false);

/// The run was interrupted.
#[derive(Clone, Copy, Debug)]
pub struct Interrupted;

impl std::fmt::Display for Interrupted {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("interrupted")
    }
}

impl std::error::Error for Interrupted {}

/// From now on SIGINT, SIGTERM and SIGHUP only set a flag.
pub fn catch() -> Result<()> {
    ctrlc::set_handler(|| INTERRUPTED.store(true, Ordering::Relaxed))
        .context("setting the signal handler")
}

/// Fails with [`Interrupted`] after a signal.
pub fn check() -> Result<()> {
    if INTERRUPTED.load(Ordering::Relaxed) {
        Err(Interrupted.into())
    } else {
        Ok(())
    }
}

/// Polls `condition` until it returns a value; returns `Ok(None)` after `limit`.
///
/// # Errors
///
/// [`Interrupted`], or the error of `condition`.
pub fn wait_for<T>(
    limit: Duration,
    mut condition: impl FnMut() -> Result<Option<T>>,
) -> Result<Option<T>> {
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
