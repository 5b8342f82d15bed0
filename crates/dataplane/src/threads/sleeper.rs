//! Sleeping until there is work; work that arrives while no thread sleeps costs no system call.

use std::os::fd::RawFd;

use weir_core::Duration;

use super::sync::{fence, Arc, AtomicBool, Ordering};
use super::wake::{Readable, Wake};

#[derive(Debug)]
pub(crate) struct Sleeper {
    wake: Wake,
    asleep: Arc<AtomicBool>,
    readable: Readable,
}

/// Wakes a [`Sleeper`].
#[derive(Clone, Debug)]
pub(crate) struct Waker {
    wake: Wake,
    asleep: Arc<AtomicBool>,
}

impl Sleeper {
    /// Creates a sleeper. Sleeps end when one of `readable` is readable, or on `wake`. The descriptors stay open until they
    /// are [forgotten](Self::forget).
    pub(crate) fn new(wake: Wake, readable: impl IntoIterator<Item = RawFd>) -> Self {
        Self {
            readable: Readable::new(&wake, readable),
            wake,
            asleep: Arc::default(),
        }
    }

    pub(crate) fn waker(&self) -> Waker {
        Waker {
            wake: self.wake.clone(),
            asleep: Arc::clone(&self.asleep),
        }
    }

    /// Adds a descriptor that ends sleeps. It stays open until it is [forgotten](Self::forget).
    pub(crate) fn heed(&mut self, descriptor: RawFd) {
        self.readable.add(descriptor);
    }

    pub(crate) fn forget(&mut self, descriptor: RawFd) {
        self.readable.remove(descriptor);
    }

    /// Clears the wakeup. Check for earlier work after this call.
    pub(crate) fn clear(&self) {
        self.wake.clear();
    }

    /// Sleeps until a descriptor is readable, a waker wakes it, or `timeout` is over. Returns at once when there is work
    /// already.
    pub(crate) fn sleep(&mut self, timeout: Option<Duration>, has_work: impl FnOnce() -> bool) {
        // An exchange rather than a store, here and below: it is ordered after a waker's exchange, whose `false` could
        // otherwise come later in loom's model. It costs little compared with the system call.
        self.asleep.swap(true, Ordering::Relaxed);
        // Either the waker's fence comes first and its work is seen here, or this fence comes first and the waker sees that
        // this thread sleeps.
        fence(Ordering::SeqCst);
        if !has_work() {
            self.readable.wait(timeout);
        }
        self.asleep.swap(false, Ordering::Relaxed);
    }
}

impl Waker {
    /// Wakes the sleeper. Call this after publishing the work.
    pub(crate) fn wake(&self) {
        fence(Ordering::SeqCst);
        if self.asleep.load(Ordering::Relaxed) && self.asleep.swap(false, Ordering::Relaxed) {
            self.wake.signal();
        }
    }
}
