//! Sleeping until there is work, without a system call of whoever brings it while nobody sleeps.

use std::os::fd::{AsFd, AsRawFd, RawFd};
use std::sync::atomic::{fence, AtomicBool, Ordering};
use std::sync::Arc;

use weir_core::units::NANOS_PER_SECOND;
use weir_core::Duration;

use super::wake::Wake;

/// Whoever sleeps.
#[derive(Debug)]
pub(super) struct Sleeper {
    wake: Wake,
    asleep: Arc<AtomicBool>,
    poll: Vec<libc::pollfd>,
}

/// Wakes a [`Sleeper`].
#[derive(Clone, Debug)]
pub(super) struct Waker {
    wake: Wake,
    asleep: Arc<AtomicBool>,
}

impl Sleeper {
    /// Sleeps end when one of `readable` is, or `wake`. The descriptors stay open for as long as this is used.
    pub(super) fn new(wake: Wake, readable: impl IntoIterator<Item = RawFd>) -> Self {
        let own = wake.as_fd().as_raw_fd();
        let poll = readable
            .into_iter()
            .chain([own])
            .map(|fd| libc::pollfd {
                fd,
                events: libc::POLLIN,
                revents: 0,
            })
            .collect();
        Self {
            wake,
            asleep: Arc::default(),
            poll,
        }
    }

    pub(super) fn waker(&self) -> Waker {
        Waker {
            wake: self.wake.clone(),
            asleep: Arc::clone(&self.asleep),
        }
    }

    /// Forgets that it was woken. Work that came before is to be looked for after this.
    pub(super) fn clear(&self) {
        self.wake.clear();
    }

    /// Sleeps until a descriptor is readable, somebody wakes it, or `timeout` is over; not at all when there is
    /// work already.
    pub(super) fn sleep(&mut self, timeout: Option<Duration>, has_work: impl FnOnce() -> bool) {
        self.asleep.store(true, Ordering::Relaxed);
        // Either the waker's fence comes first, and its work is seen here, or this one does, and it sees that we sleep.
        fence(Ordering::SeqCst);
        if !has_work() {
            self.poll(timeout);
        }
        self.asleep.store(false, Ordering::Relaxed);
    }

    fn poll(&mut self, timeout: Option<Duration>) {
        let limit = timeout.map(|timeout| libc::timespec {
            tv_sec: (timeout.as_nanos() / NANOS_PER_SECOND) as libc::time_t,
            tv_nsec: (timeout.as_nanos() % NANOS_PER_SECOND) as libc::c_long,
        });
        // SAFETY: the array and the limit are valid for the call, and no signal mask is given. A failed
        // or interrupted call means only that the loop looks for work.
        unsafe {
            libc::ppoll(
                self.poll.as_mut_ptr(),
                self.poll.len() as libc::nfds_t,
                limit.as_ref().map_or(std::ptr::null(), std::ptr::from_ref),
                std::ptr::null(),
            );
        }
    }
}

impl Waker {
    /// To be called after work was put where the sleeper looks for it.
    pub(super) fn wake(&self) {
        fence(Ordering::SeqCst);
        if self.asleep.load(Ordering::Relaxed) && self.asleep.swap(false, Ordering::Relaxed) {
            self.wake.signal();
        }
    }
}

#[cfg(test)]
mod tests {
    use crossbeam::queue::ArrayQueue;

    use super::*;

    /// Without a timeout: a wake that is lost hangs.
    #[test]
    fn no_wake_is_lost() {
        const ROUNDS: u32 = 20_000;
        let queue = Arc::new(ArrayQueue::new(1));
        let mut sleeper = Sleeper::new(Wake::new().unwrap(), []);
        let waker = sleeper.waker();
        let from = Arc::clone(&queue);
        let reader = std::thread::spawn(move || {
            for expected in 0..ROUNDS {
                let got = loop {
                    if let Some(got) = from.pop() {
                        break got;
                    }
                    sleeper.clear();
                    sleeper.sleep(None, || !from.is_empty());
                };
                assert_eq!(got, expected);
            }
        });
        for number in 0..ROUNDS {
            while queue.push(number).is_err() {
                std::thread::yield_now();
            }
            waker.wake();
        }
        reader.join().unwrap();
    }
}
