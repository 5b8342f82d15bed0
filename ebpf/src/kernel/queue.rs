//! Device queues that another socket still holds for a moment.
//!
//! The kernel releases the queues of an AF_XDP socket some time after its last descriptor is closed: after a grace period,
//! and after every frame that the socket has sent is freed. Until then bind(2) fails with EBUSY. Weir binds all sockets
//! through [`open`].

use std::error::Error;
use std::io;
use std::time::{Duration, Instant};

use nix::errno::Errno;

/// Time that [`open`] waits if nothing is known about the other socket. On an idle machine queues are free after 0.02 to 0.4
/// s; on an emulated one it took longer than 2 s.
pub const PATIENCE: Duration = Duration::from_secs(2);
/// Time limit if the other socket belonged to a switch that has just ended.
pub const PATIENCE_AFTER_ANOTHER: Duration = Duration::from_secs(10);
const POLL: Duration = Duration::from_millis(1);
/// A longer wait is logged.
const SILENT: Duration = Duration::from_millis(500);

/// Calls `bind` until the queue of `device` is free, for at most `patience`. To prevent a deadlock, the caller must not hold
/// a device that the other socket's owner waits for.
///
/// # Errors
///
/// The last error of `bind`; errors other than EBUSY are returned at once.
pub fn open<T, E: Error + 'static>(
    device: &str,
    patience: Duration,
    mut bind: impl FnMut() -> Result<T, E>,
) -> Result<T, E> {
    let began = Instant::now();
    let mut is_told = false;
    loop {
        let error = match bind() {
            Err(error) if is_busy(&error) && began.elapsed() < patience => error,
            outcome => return outcome,
        };
        if began.elapsed() >= SILENT && !is_told {
            tracing::warn!(device, %error, ?patience, "waiting for a queue that another socket holds");
            is_told = true;
        }
        std::thread::sleep(POLL);
    }
}

/// Returns true if EBUSY is at the bottom of `error`.
fn is_busy(error: &(dyn Error + 'static)) -> bool {
    code(error) == Some(Errno::EBUSY)
}

/// Returns the error number of the kernel, if any.
pub fn code(error: &(dyn Error + 'static)) -> Option<Errno> {
    let mut cause = Some(error);
    while let Some(error) = cause {
        let code = error.downcast_ref::<io::Error>();
        if let Some(code) = code.and_then(io::Error::raw_os_error) {
            return Some(Errno::from_raw(code));
        }
        cause = error.source();
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(code: Errno) -> io::Error {
        io::Error::from_raw_os_error(code as i32)
    }

    #[test]
    fn a_queue_that_becomes_free_is_taken() {
        let mut tries = 0;
        let opened = open("p1", PATIENCE, || {
            tries += 1;
            if tries < 4 {
                Err(refused(Errno::EBUSY))
            } else {
                Ok(tries)
            }
        });
        assert_eq!(opened.unwrap(), 4);
    }

    #[test]
    fn a_queue_that_stays_busy_is_given_up_and_other_errors_are_not_tried_again() {
        let mut tries = 0;
        let outcome: Result<(), _> = open("p1", Duration::from_millis(20), || {
            tries += 1;
            Err(refused(Errno::EBUSY))
        });
        assert_eq!(code(&outcome.unwrap_err()), Some(Errno::EBUSY));
        assert!(tries > 1);
        tries = 0;
        let outcome: Result<(), _> = open("p1", PATIENCE, || {
            tries += 1;
            Err(refused(Errno::ENODEV))
        });
        assert_eq!(code(&outcome.unwrap_err()), Some(Errno::ENODEV));
        assert_eq!(tries, 1);
    }
}
