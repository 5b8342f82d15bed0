//! Closes kernel objects in the background: the kernel takes time, while neighbours may be paused and the next switch has
//! work to do.

use std::os::fd::OwnedFd;
use std::thread::JoinHandle;

/// Maximum number of sockets closed at the same time.
const TOGETHER: usize = 64;

/// Threads that close kernel objects. They run without a [waiter](Self::wait), but end with the process, which then closes
/// the rest one by one.
#[derive(Debug, Default)]
pub struct Closing(Vec<JoinHandle<()>>);

impl Closing {
    /// Runs `close` on a thread. If none can be started, it runs before this returns.
    pub(super) fn begin(&mut self, close: impl FnOnce() + Send + 'static) {
        // If the thread cannot start, dropping the closure closes its objects.
        self.0.extend(named().spawn(close).ok());
    }

    /// Waits until everything is closed.
    pub fn wait(self) {
        for thread in self.0 {
            // No thread can panic; even then the end of the process would close the rest.
            let _ = thread.join();
        }
    }
}

/// Drops `what` on a separate thread: the kernel takes a grace period to close a socket, and neither the
/// runtime nor a pause may wait for it. If no thread can be started, drops it here.
pub fn drop_apart(what: impl Send + 'static) {
    let _ = named().spawn(move || drop(what));
}

/// Closes each socket on a separate thread: every close waits for a grace period of the kernel, and concurrent ones share
/// it. If no thread can be started, closes them here.
pub(super) fn close_together(mut sockets: Vec<OwnedFd>) {
    while !sockets.is_empty() {
        let some = sockets.split_off(sockets.len().saturating_sub(TOGETHER));
        std::thread::scope(|scope| {
            for socket in some {
                // If the thread cannot start, dropping the closure closes the socket.
                let _ = named().spawn_scoped(scope, move || drop(socket));
            }
        });
    }
}

fn named() -> std::thread::Builder {
    std::thread::Builder::new().name("weir-close".to_owned())
}

#[cfg(test)]
mod tests {
    use std::io::Read;
    use std::sync::mpsc;

    use super::*;

    #[test]
    fn waiting_ends_when_all_is_closed() {
        let (may_end, told) = mpsc::channel::<()>();
        let (done, is_done) = mpsc::channel();
        let mut closing = Closing::default();
        closing.begin(move || {
            let _ = told.recv();
            let _ = done.send(());
        });
        assert!(is_done.try_recv().is_err());
        drop(may_end);
        closing.wait();
        is_done.try_recv().unwrap();
    }

    #[test]
    fn more_than_are_closed_at_the_same_time_are_closed() {
        let pipes = (0..2 * TOGETHER + 1).map(|_| std::io::pipe().unwrap());
        let (readers, writers): (Vec<_>, Vec<_>) = pipes.unzip();
        close_together(writers.into_iter().map(OwnedFd::from).collect());
        for mut reader in readers {
            assert_eq!(reader.read(&mut [0]).unwrap(), 0);
        }
    }
}
