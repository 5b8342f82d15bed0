//! A barrier for threads.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// A barrier that breaks if a thread panics, so that no other waits for it forever.
#[derive(Debug)]
pub(super) struct Meeting {
    members: usize,
    /// Number of checks before a thread sleeps: the others may arrive at any moment.
    looks: usize,
    state: Mutex<State>,
    changed: Condvar,
    /// Incremented with each change of `state` that ends waiting.
    turns: AtomicUsize,
}

#[derive(Debug, Default)]
struct State {
    present: usize,
    broken: bool,
}

/// A member has left for good.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Broken;

/// Takes about as long as putting a thread to sleep and waking it.
const LOOKS: usize = 300;

impl Meeting {
    /// Creates one for `members` threads on `cores` cores.
    pub(super) fn new(members: usize, cores: usize) -> Self {
        Self {
            members,
            looks: if members <= cores { LOOKS } else { 0 },
            state: Mutex::default(),
            changed: Condvar::new(),
            turns: AtomicUsize::new(0),
        }
    }

    /// Waits for all members.
    pub(super) fn wait(&self) -> Result<(), Broken> {
        let turn = self.turns.load(Ordering::Acquire);
        let mut state = self.lock();
        if state.broken {
            return Err(Broken);
        }
        state.present += 1;
        if state.present == self.members {
            state.present = 0;
            self.turns.fetch_add(1, Ordering::Release);
            drop(state);
            self.changed.notify_all();
            return Ok(());
        }
        drop(state);
        for _ in 0..self.looks {
            if self.turns.load(Ordering::Acquire) != turn {
                break;
            }
            std::hint::spin_loop();
        }
        let mut state = self.lock();
        while self.turns.load(Ordering::Acquire) == turn {
            state = self
                .changed
                .wait(state)
                .unwrap_or_else(PoisonError::into_inner);
        }
        if state.broken {
            Err(Broken)
        } else {
            Ok(())
        }
    }

    /// Ends all waiting for good.
    pub(super) fn break_up(&self) {
        self.lock().broken = true;
        self.turns.fetch_add(1, Ordering::Release);
        self.changed.notify_all();
    }

    /// No thread panics while it holds the lock.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Breaks the meeting if its thread panics.
#[derive(Debug)]
pub(super) struct Membership<'a>(pub(super) &'a Meeting);

impl Drop for Membership<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.break_up();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_meet_as_often_as_they_want() {
        for cores in [1, 8] {
            let meeting = Meeting::new(3, cores);
            let steps = AtomicUsize::new(0);
            std::thread::scope(|scope| {
                for _ in 0..3 {
                    scope.spawn(|| {
                        for round in 1..=1_000 {
                            steps.fetch_add(1, Ordering::Relaxed);
                            meeting.wait().expect("nobody leaves");
                            assert_eq!(steps.load(Ordering::Relaxed), 3 * round);
                            meeting.wait().expect("nobody leaves");
                        }
                    });
                }
            });
        }
    }

    #[test]
    fn a_panic_leaves_no_thread_waiting() {
        let meeting = Meeting::new(3, 1);
        std::thread::scope(|scope| {
            let waiting = [(); 2].map(|()| scope.spawn(|| meeting.wait()));
            let lost = scope.spawn(|| {
                let _membership = Membership(&meeting);
                panic!("on purpose");
            });
            assert!(lost.join().is_err());
            assert_eq!(
                waiting.map(|thread| thread.join().unwrap()),
                [Err(Broken); 2]
            );
            assert_eq!(meeting.wait(), Err(Broken), "nor later");
        });
    }
}
