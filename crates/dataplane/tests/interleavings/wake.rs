//! An eventfd and poll(2) under loom. Each operation on the counter sees the latest value, as under the kernel's lock.

use std::io;
use std::os::fd::RawFd;
use std::sync::Mutex;

use loom::sync::atomic::{AtomicBool, Ordering};
use loom::thread::{self, Thread};
use weir_core::Duration;

use super::sync::Arc;

#[derive(Clone, Debug)]
pub(super) struct Wake(Arc<EventFd>);

#[derive(Debug)]
struct EventFd {
    is_readable: AtomicBool,
    /// The waiting thread. Loom does not preempt a holder of this lock.
    sleeper: Mutex<Option<Thread>>,
}

#[derive(Debug)]
pub(super) struct Readable(Wake);

impl Wake {
    pub(super) fn new() -> io::Result<Self> {
        Ok(Self(Arc::new(EventFd {
            is_readable: AtomicBool::new(false),
            sleeper: Mutex::default(),
        })))
    }

    pub(super) fn signal(&self) {
        self.0.is_readable.swap(true, Ordering::AcqRel);
        let sleeper = self.0.sleeper.lock().unwrap().clone();
        if let Some(sleeper) = sleeper {
            sleeper.unpark();
        }
    }

    pub(super) fn clear(&self) {
        self.0.is_readable.swap(false, Ordering::AcqRel);
    }
}

impl Readable {
    /// Sockets are served whenever their thread runs, so none has to wake it.
    pub(super) fn new(wake: &Wake, _others: impl IntoIterator<Item = RawFd>) -> Self {
        Self(wake.clone())
    }

    pub(super) fn add(&mut self, _: RawFd) {}

    pub(super) fn remove(&mut self, _: RawFd) {}

    /// Without a timeout, waits forever if no signal arrives, which loom reports as a deadlock.
    pub(super) fn wait(&mut self, timeout: Option<Duration>) {
        if timeout.is_some() {
            thread::yield_now();
            return;
        }
        let event = &self.0 .0;
        *event.sleeper.lock().unwrap() = Some(thread::current());
        while !event.is_readable.fetch_or(false, Ordering::AcqRel) {
            thread::park();
        }
        *event.sleeper.lock().unwrap() = None;
    }
}
