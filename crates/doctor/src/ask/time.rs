//! Synchronisation of the system's clock.

use std::io;

/// Returns true if an NTP or PTP client has synchronised the clock.
///
/// # Errors
///
/// The kernel does not report it.
pub fn is_synchronised() -> io::Result<bool> {
    // SAFETY: all bytes zero are a value of this type of integers. No mode bit is set: nothing is changed.
    let mut timex: libc::timex = unsafe { std::mem::zeroed() };
    // SAFETY: the kernel fills in our structure.
    match unsafe { libc::adjtimex(&raw mut timex) } {
        -1 => Err(io::Error::last_os_error()),
        state => Ok(state != libc::TIME_ERROR && timex.status & libc::STA_UNSYNC == 0),
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_kernel_answers() {
        assert!(super::is_synchronised().is_ok());
    }
}
