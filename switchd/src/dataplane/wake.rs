//! Waking a thread that sleeps in poll(2).

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;

use nix::sys::eventfd::{EfdFlags, EventFd};

/// An eventfd that several threads can signal.
#[derive(Clone, Debug)]
pub(super) struct Wake(Arc<EventFd>);

impl Wake {
    pub(super) fn new() -> io::Result<Self> {
        let flags = EfdFlags::EFD_CLOEXEC | EfdFlags::EFD_NONBLOCK;
        Ok(Self(Arc::new(EventFd::from_flags(flags)?)))
    }

    /// Makes the descriptor readable. A counter that is full is readable already.
    pub(super) fn signal(&self) {
        let _ = self.0.write(1);
    }

    /// Makes it unreadable again.
    pub(super) fn clear(&self) {
        let _ = self.0.read();
    }

    pub(super) fn try_clone_fd(&self) -> io::Result<OwnedFd> {
        self.0.as_fd().try_clone_to_owned()
    }
}

impl AsFd for Wake {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}
