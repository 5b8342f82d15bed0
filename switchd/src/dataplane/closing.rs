//! Closing what the kernel takes its time to close: neighbours may be held meanwhile, and the next switch has something else to do.

use std::os::fd::OwnedFd;
use std::thread::JoinHandle;

/// Sockets that are closed at the same time.
const TOGETHER: usize = 64;

/// Threads that close something. They go on without a [waiter](Self::wait), but not beyond the end
/// of the process, which would close the rest one after the other.
#[derive(Debug, Default)]
pub struct Closing(Vec<JoinHandle<()>>);

impl Closing {
    /// Closes something in a thread. If none can be started, it is closed before this returns.
    pub(super) fn begin(&mut self, close: impl FnOnce() + Send + 'static) {
        // A thread that cannot start drops its closure, and with it what that closes.
        self.0.extend(named().spawn(close).ok());
    }

    /// Waits until all is closed.
    pub fn wait(self) {
        for thread in self.0 {
            // None can panic, and if one had, the process's end would close the rest.
            let _ = thread.join();
        }
    }
}

/// Closes sockets, each in a thread of its own: the kernel waits for a grace period in each close,
/// and those that begin together wait for the same one. If no thread can be started, closes them
/// here.
pub(super) fn close_together(mut sockets: Vec<OwnedFd>) {
    while !sockets.is_empty() {
        let some = sockets.split_off(sockets.len().saturating_sub(TOGETHER));
        std::thread::scope(|scope| {
            for socket in some {
                // As above.
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
    fn whoever_waits_goes_on_when_all_is_closed() {
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
