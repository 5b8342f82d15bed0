//! Where a thread takes rings on and gives them up while it goes on. Neither side ever waits for the other in a lock: the
//! control plane, which is in no hurry, looks again and again.

use std::thread;
use std::time::{Duration, Instant};

use super::sync::{Arc, Mailbox};

/// How often whoever waits for rings looks for them.
const LOOK: Duration = Duration::from_millis(1);

/// Both ends of a way in and of a way out. One change at a time is under way.
#[derive(Debug)]
pub(crate) struct Doorway<I, O> {
    arrivals: Arc<Mailbox<I>>,
    departures: Arc<Mailbox<O>>,
}

impl<I, O> Clone for Doorway<I, O> {
    fn clone(&self) -> Self {
        Self {
            arrivals: Arc::clone(&self.arrivals),
            departures: Arc::clone(&self.departures),
        }
    }
}

impl<I, O> Default for Doorway<I, O> {
    fn default() -> Self {
        Self {
            arrivals: Arc::new(Mailbox::new(1)),
            departures: Arc::new(Mailbox::new(1)),
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

    /// For the thread: hands something out. What nobody waits for is dropped.
    pub(crate) fn hand_out(&self, departure: O) {
        drop(self.departures.push(departure));
    }

    /// For the control plane. What an earlier change left behind, which nobody waited for any more, is dropped.
    pub(crate) fn hand_in(&self, arrival: I) {
        drop(self.arrivals.pop());
        drop(self.departures.pop());
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

    /// For the control plane: waits until the thread has taken what was handed in. False when it does not within `limit`.
    pub(crate) fn was_taken(&self, limit: Duration) -> bool {
        let began = Instant::now();
        while self.has_arrival() {
            if began.elapsed() >= limit {
                return false;
            }
            thread::sleep(LOOK);
        }
        true
    }
}
