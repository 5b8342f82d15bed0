//! The threads that serve sockets, where the thread of the switch core does not do that itself.
//!
//! Most of what a frame costs in copy mode is the kernel's work in the system call that sends it, and in zero-copy mode
//! the traffic of the rings. That is what these threads take over; what the switch knows (buffers, pauses, the Level
//! Table) stays with one thread, so that nothing of it is shared. A flow's frames pass the same queues one behind
//! the other and stay in order.

use weir_core::{Duration, Instant};

use super::hand_over::SocketSide;
use super::io::COMPLETION_WAIT;
use super::lane::Lane;
use super::sleeper::{Sleeper, Waker};
use super::sync::thread::{self, JoinHandle};
use super::sync::{Arc, AtomicBool, Ordering};

/// The threads; they end with [`stop`](Self::stop).
#[derive(Debug, Default)]
pub(crate) struct SocketWorkers {
    threads: Vec<JoinHandle<()>>,
    wakers: Vec<Waker>,
    stopping: Arc<AtomicBool>,
}

/// What one thread serves.
#[derive(Debug)]
pub(crate) struct SocketWorker<L> {
    pub(crate) sockets: Vec<SocketSide<L>>,
    pub(crate) sleeper: Sleeper,
    /// Wakes the thread of the switch core.
    pub(crate) core: Waker,
    pub(crate) clock: fn() -> Instant,
    /// For how long it looks for work before it sleeps.
    pub(crate) spin: Duration,
}

/// Has the thread of the switch core look around when a thread ends.
struct WakeAtEnd(Waker);

impl Drop for WakeAtEnd {
    fn drop(&mut self) {
        self.0.wake();
    }
}

impl SocketWorkers {
    /// Starts a thread, after `prepare` in it.
    ///
    /// # Errors
    ///
    /// When there can be no more threads.
    pub(crate) fn start<L: Lane + Send + 'static>(
        &mut self,
        worker: SocketWorker<L>,
        prepare: impl FnOnce() + Send + 'static,
    ) -> std::io::Result<()> {
        let stopping = Arc::clone(&self.stopping);
        let waker = worker.sleeper.waker();
        let at_end = WakeAtEnd(worker.core.clone());
        let thread = thread::Builder::new()
            .name(format!("weir-worker-{}", self.threads.len()))
            .spawn(move || {
                // Dropped in the opposite order, after a panic, too: the core is woken when the sockets are gone.
                let _at_end = at_end;
                let mut worker = worker;
                prepare();
                while !stopping.load(Ordering::Relaxed) {
                    worker.turn(&stopping);
                }
            })?;
        self.threads.push(thread);
        self.wakers.push(waker);
        Ok(())
    }

    /// Ends all threads.
    ///
    /// # Errors
    ///
    /// When one of them has panicked.
    pub(crate) fn stop(self) -> std::thread::Result<()> {
        self.stopping.store(true, Ordering::Relaxed);
        for waker in &self.wakers {
            waker.wake();
        }
        self.threads.into_iter().try_for_each(JoinHandle::join)
    }
}

impl<L: Lane> SocketWorker<L> {
    /// Gives the kernel what the core has left to receive into, as far as there is room.
    pub(crate) fn fill_rings(&mut self) {
        for socket in &mut self.sockets {
            while socket.fill() {}
        }
    }

    /// Works until there was nothing to do for a while, then sleeps.
    fn turn(&mut self, stopping: &AtomicBool) {
        let mut last_work = (self.clock)();
        loop {
            let served = self.serve();
            let now = (self.clock)();
            if served {
                last_work = now;
            } else if now.saturating_since(last_work) >= self.spin {
                break;
            }
            if stopping.load(Ordering::Relaxed) {
                return;
            }
        }
        self.sleeper.clear();
        let sockets = &self.sockets;
        let timeout = sockets
            .iter()
            .any(SocketSide::is_sending)
            .then_some(COMPLETION_WAIT);
        self.sleeper.sleep(timeout, || {
            stopping.load(Ordering::Relaxed) || sockets.iter().any(SocketSide::has_work)
        });
    }

    fn serve(&mut self) -> bool {
        let mut busy = false;
        for socket in &mut self.sockets {
            let served = socket.serve();
            busy |= served.busy;
            if served.for_core {
                self.core.wake();
            }
        }
        busy
    }
}
