//! Where a thread takes rings on and gives them up while it goes on. Neither side ever waits for the other in a lock: the
//! control plane, which is in no hurry, looks again and again.

use std::thread;
use std::time::{Duration, Instant};

use super::sync::{Arc, AtomicBool, Mailbox, Ordering};

/// How often whoever waits for rings looks for them.
const LOOK: Duration = Duration::from_millis(1);

/// Both ends of a way in and of a way out. One change at a time is under way.
#[derive(Debug)]
pub(crate) struct Doorway<I, O> {
    arrivals: Arc<Mailbox<I>>,
    departures: Arc<Mailbox<O>>,
    /// What was handed in has not been dealt with yet.
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
    /// For the thread: what has come.
    pub(crate) fn arrival(&self) -> Option<I> {
        self.arrivals.pop()
    }

    /// For the thread: there is something to take.
    pub(crate) fn has_arrival(&self) -> bool {
        !self.arrivals.is_empty()
    }

    /// For the thread: what has come is in its place, and works.
    pub(crate) fn note_settled(&self) {
        self.is_pending.store(false, Ordering::Release);
    }

    /// For the thread: hands something out. What nobody waits for is dropped.
    pub(crate) fn hand_out(&self, departure: O) {
        drop(self.departures.push(departure));
    }

    /// For the control plane. What an earlier change left behind, which nobody waited for any more, is dropped.
    pub(crate) fn hand_in(&self, arrival: I) {
        drop(self.arrivals.pop());
        drop(self.departures.pop());
        self.is_pending.store(true, Ordering::Relaxed);
        drop(self.arrivals.push(arrival));
    }

    /// For the control plane: forgets what an earlier change left behind.
    pub(crate) fn clear(&self) {
        drop(self.departures.pop());
    }

    /// For the control plane: what the thread hands out; `None` when it does not within `limit`.
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

    /// For the control plane: waits until what was handed in is in its place, and works. False when that takes longer than
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
