//! Sleeping until there is work, without a system call for work that comes while no thread sleeps.

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
    /// Sleeps end when one of `readable` is readable, or on `wake`. The descriptors stay open until
    /// they are [forgotten](Self::forget).
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

    /// Clears the wakeup. Earlier work is to be looked for after this.
    pub(crate) fn clear(&self) {
        self.wake.clear();
    }

    /// Sleeps until a descriptor is readable, a waker wakes it, or `timeout` is over; not at all
    /// when there is work already.
    pub(crate) fn sleep(&mut self, timeout: Option<Duration>, has_work: impl FnOnce() -> bool) {
        // Exchanged and not stored, here and below: an exchange comes behind what a waker has exchanged, also in loom's model,
        // where a waker's `false` could otherwise come behind this. It costs little beside the system call.
        self.asleep.swap(true, Ordering::Relaxed);
        // Either the waker's fence comes first, and its work is seen here, or this one does, and it sees that we sleep.
        fence(Ordering::SeqCst);
        if !has_work() {
            self.readable.wait(timeout);
        }
        self.asleep.swap(false, Ordering::Relaxed);
    }
}

impl Waker {
    /// To be called after work was put where the sleeper finds it.
    pub(crate) fn wake(&self) {
        fence(Ordering::SeqCst);
        if self.asleep.load(Ordering::Relaxed) && self.asleep.swap(false, Ordering::Relaxed) {
            self.wake.signal();
        }
    }
}
