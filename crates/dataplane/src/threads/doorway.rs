//! Exchange of rings with a running thread. Neither side ever waits for the other in a lock: the control plane is in no
//! hurry and polls.

use std::thread;
use std::time::{Duration, Instant};

use super::sync::{Arc, AtomicBool, Mailbox, Ordering};

/// Polling interval for rings.
const LOOK: Duration = Duration::from_millis(1);

/// Both ends of one channel in and one channel out. Only one change is in progress at a time.
#[derive(Debug)]
pub(crate) struct Doorway<I, O> {
    arrivals: Arc<Mailbox<I>>,
    departures: Arc<Mailbox<O>>,
    /// True while the last arrival is not handled yet.
    is_pending: Arc<AtomicBool>,
}

impl<I, O> Clone for Doorway<I, O> {
    fn clone(&self) -> Self {
        Self {
            arrivals: Arc::clone(&self.arrivals),
            departures: Arc::clone(&self.departures),
            is_pending: Arc::clone(&self.is_pending),
        }
    }
}

impl<I, O> Default for Doorway<I, O> {
    fn default() -> Self {
        Self {
            arrivals: Arc::new(Mailbox::new(1)),
            departures: Arc::new(Mailbox::new(1)),
            is_pending: Arc::new(AtomicBool::new(false)),
        }
    }
}

impl<I, O> Doorway<I, O> {
    pub(crate) fn arrival(&self) -> Option<I> {
        self.arrivals.pop()
    }

    /// For the thread: returns true if there is an arrival to take.
    pub(crate) fn has_arrival(&self) -> bool {
        !self.arrivals.is_empty()
    }

    /// For the thread: reports that the arrival is in place and works.
    pub(crate) fn note_settled(&self) {
        self.is_pending.store(false, Ordering::Release);
    }

    /// For the thread: passes something out. It is dropped if no caller waits for it.
    pub(crate) fn hand_out(&self, departure: O) {
        drop(self.departures.push(departure));
    }

    /// For the control plane: passes something in. Remains of an earlier change that timed out are
    /// dropped.
    pub(crate) fn hand_in(&self, arrival: I) {
        drop(self.arrivals.pop());
        drop(self.departures.pop());
        self.is_pending.store(true, Ordering::Relaxed);
        drop(self.arrivals.push(arrival));
    }

    /// For the control plane: drops the remains of an earlier change.
    pub(crate) fn clear(&self) {
        drop(self.departures.pop());
    }

    /// For the control plane: returns the object that the thread passes out; `None` if there is none within `limit`.
    pub(crate) fn departure(&self, limit: Duration) -> Option<O> {
        let began = Instant::now();
        loop {
            match self.departures.pop() {
                Some(departure) => return Some(departure),
                None if began.elapsed() >= limit => return None,
                None => thread::sleep(LOOK),
            }
        }
    }

    /// For the control plane: waits until the arrival is in place and works. Returns false when that takes longer than
    /// `limit`.
    pub(crate) fn is_settled(&self, limit: Duration) -> bool {
        let began = Instant::now();
        while self.is_pending.load(Ordering::Acquire) {
            if began.elapsed() >= limit {
                return false;
            }
            thread::sleep(LOOK);
        }
        true
    }
}
