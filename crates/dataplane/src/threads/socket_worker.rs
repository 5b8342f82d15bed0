//! Threads that serve the sockets for the switch core's thread.
//!
//! Most of the cost of a frame is the kernel's work in the sending system call (copy mode) or the ring traffic (zero-copy
//! mode). These threads take it over. The state of the switch (buffers, pauses, the Level Table) stays with one thread and
//! is not shared. A flow's frames pass the same queues in sequence and stay in order.

use weir_core::{Duration, Instant};

use super::doorway::Doorway;
use super::hand_over::SocketSide;
use super::io::COMPLETION_WAIT;
use super::lane::Lane;
use super::sleeper::{Sleeper, Waker};
use super::sync::thread::{self, JoinHandle};
use super::sync::{Arc, AtomicBool, Ordering};

/// The threads. Stop them with [`stop`](Self::stop).
#[derive(Debug, Default)]
pub(crate) struct SocketWorkers {
    threads: Vec<JoinHandle<()>>,
    wakers: Vec<Waker>,
    stopping: Arc<AtomicBool>,
}

#[derive(Debug)]
pub(crate) struct SocketWorker<L> {
    /// Sockets with the number of their port.
    pub(crate) sockets: Vec<(usize, SocketSide<L>)>,
    pub(crate) sleeper: Sleeper,
    pub(crate) doorway: SocketDoorway<L>,
    pub(crate) core: Waker,
    pub(crate) clock: fn() -> Instant,
    /// Time for which it polls before it sleeps.
    pub(crate) spin: Duration,
}

#[derive(Debug)]
pub(crate) enum Change<L> {
    Join(Vec<(usize, SocketSide<L>)>),
    /// Take the received frames from this port's sockets, and pass the sockets out.
    Part(usize),
}

pub(crate) type SocketDoorway<L> = Doorway<Change<L>, Vec<(usize, SocketSide<L>)>>;

/// Wakes the switch core's thread when a thread ends.
struct WakeAtEnd(Waker);

impl Drop for WakeAtEnd {
    fn drop(&mut self) {
        self.0.wake();
    }
}

impl SocketWorkers {
    /// Starts a thread that calls `prepare` first.
    ///
    /// # Errors
    ///
    /// When it cannot be started.
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
                // Dropped in reverse order, also after a panic: the core is woken once the sockets are gone.
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
    /// Lends the kernel the core's chunks to receive into, as far as there is room.
    pub(crate) fn fill_rings(&mut self) {
        for (_, socket) in &mut self.sockets {
            while socket.fill() {}
        }
    }

    fn take_change(&mut self) {
        match self.doorway.arrival() {
            None => {}
            Some(Change::Join(sockets)) => {
                for fd in sockets.iter().filter_map(|(_, it)| it.descriptor()) {
                    self.sleeper.heed(fd);
                }
                self.sockets.extend(sockets);
                self.fill_rings();
                self.doorway.note_settled();
            }
            Some(Change::Part(port)) => {
                let all = std::mem::take(&mut self.sockets).into_iter();
                let (mut parted, kept): (Vec<_>, Vec<_>) = all.partition(|(of, _)| *of == port);
                self.sockets = kept;
                for (_, socket) in &mut parted {
                    socket.receive_rest();
                    if let Some(fd) = socket.descriptor() {
                        self.sleeper.forget(fd);
                    }
                }
                self.doorway.hand_out(parted);
                self.doorway.note_settled();
            }
        }
    }

    /// Works until it was idle for a while, then sleeps.
    fn turn(&mut self, stopping: &AtomicBool) {
        let mut last_work = (self.clock)();
        loop {
            if self.doorway.has_arrival() {
                self.take_change();
            }
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
        let (sockets, doorway) = (&self.sockets, &self.doorway);
        let is_sending = sockets.iter().any(|(_, socket)| socket.is_sending());
        let timeout = is_sending.then_some(COMPLETION_WAIT);
        self.sleeper.sleep(timeout, || {
            stopping.load(Ordering::Relaxed)
                || sockets.iter().any(|(_, socket)| socket.has_work())
                || doorway.has_arrival()
        });
    }

    fn serve(&mut self) -> bool {
        let mut busy = false;
        for (_, socket) in &mut self.sockets {
            let served = socket.serve();
            busy |= served.busy;
            if served.for_core {
                self.core.wake();
            }
        }
        busy
    }
}
