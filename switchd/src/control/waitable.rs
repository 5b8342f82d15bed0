//! A file descriptor that can be waited for.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};

use nix::fcntl::{fcntl, FcntlArg, OFlag};
use tokio::net::unix::pipe::Receiver;

/// Any descriptor that supports poll(2) and read(2): an eventfd, a netlink socket. tokio's type for
/// the reading end of a pipe does just these two and, unlike its `AsyncFd`, needs no unsafe code.
#[derive(Debug)]
pub(super) struct Waitable(Receiver);

impl Waitable {
    /// Sets the descriptor non-blocking. Needs a tokio runtime.
    pub(super) fn new(fd: OwnedFd) -> io::Result<Self> {
        let flags = OFlag::from_bits_retain(fcntl(&fd, FcntlArg::F_GETFL)?);
        fcntl(&fd, FcntlArg::F_SETFL(flags | OFlag::O_NONBLOCK))?;
        Ok(Self(Receiver::from_owned_fd_unchecked(fd)?))
    }

    /// Waits until data is available and reads it with one read(2).
    pub(super) async fn read(&self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            self.0.readable().await?;
            match self.0.try_read(buffer) {
                Err(error)
                    if matches!(
                        error.kind(),
                        io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted
                    ) => {}
                outcome => return outcome,
            }
        }
    }

    /// Reads available data; returns `WouldBlock` if there is none.
    pub(super) fn try_read(&self, buffer: &mut [u8]) -> io::Result<usize> {
        Ok(nix::unistd::read(&self.0, buffer)?)
    }
}

impl AsRawFd for Waitable {
    fn as_raw_fd(&self) -> RawFd {
        self.0.as_raw_fd()
    }
}
