//! Until programs that run now have ended.

use std::io;

use nix::libc;

/// `MEMBARRIER_CMD_GLOBAL` of linux/membarrier.h.
const GLOBAL: libc::c_int = 1;

/// Returns once no CPU is in a poll that it was in at the call: frames that a program had handled
/// before have left as well. It takes some milliseconds.
///
/// membarrier(2) waits for an RCU grace period, and a poll is a read-side section of RCU.
///
/// # Errors
///
/// When the kernel does not support it: CPUs run without a tick (`nohz_full`).
pub fn grace_period() -> io::Result<()> {
    // SAFETY: a system call that takes numbers.
    match unsafe { libc::syscall(libc::SYS_membarrier, GLOBAL, 0, 0) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}
