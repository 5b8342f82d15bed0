//! Ctrl-C during a run.

use std::time::{Duration, Instant};

use pyo3::prelude::*;

/// Interval of looks: attaching to the interpreter takes longer than some thousand events do.
const INTERVAL: Duration = Duration::from_millis(50);

/// Runs the interpreter's signal handlers now and then, and keeps the exception of one: usually `KeyboardInterrupt`.
#[derive(Debug)]
pub struct Signals {
    next: Instant,
    raised: Option<PyErr>,
}

impl Signals {
    pub fn new() -> Self {
        Self {
            next: Instant::now() + INTERVAL,
            raised: None,
        }
    }

    /// Returns true once a handler has raised an exception. Only Python's main thread has handlers.
    pub fn raised(&mut self) -> bool {
        let now = Instant::now();
        if self.raised.is_none() && now >= self.next {
            self.next = now + INTERVAL;
            self.raised = Python::attach(|py| py.check_signals()).err();
        }
        self.raised.is_some()
    }

    /// The exception.
    pub fn into_raised(self) -> Option<PyErr> {
        self.raised
    }
}
