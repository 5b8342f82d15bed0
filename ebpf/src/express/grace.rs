//! Waits until running programs have ended.

use std::io;

use nix::libc;

/// `MEMBARRIER_CMD_GLOBAL` of linux/membarrier.h.
const GLOBAL: libc::c_int = 1;

/// Returns once every poll in progress at the call has ended, so that frames handled by programs before have been sent.
/// Takes some milliseconds.
///
/// membarrier(2) waits for an RCU grace period, and a poll is an RCU read-side section.
///
/// # Errors
///
/// When the kernel does not support it, because CPUs run without a tick (`nohz_full`).
pub fn grace_period() -> io::Result<()> {
    // SAFETY: a system call that takes numbers.
    match unsafe { libc::syscall(libc::SYS_membarrier, GLOBAL, 0, 0) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}
