//! Waking a thread that sleeps in poll(2).

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::sync::Arc;

use nix::sys::eventfd::{EfdFlags, EventFd};
use weir_core::units::NANOS_PER_SECOND;
use weir_core::Duration;

/// Value that poll(2) ignores.
const NONE: RawFd = -1;

#[derive(Clone, Debug)]
pub(crate) struct Wake(Arc<EventFd>);

#[derive(Debug)]
pub(crate) struct Readable(Vec<libc::pollfd>);

impl Wake {
    pub(crate) fn new() -> io::Result<Self> {
        let flags = EfdFlags::EFD_CLOEXEC | EfdFlags::EFD_NONBLOCK;
        Ok(Self(Arc::new(EventFd::from_flags(flags)?)))
    }

    /// Makes the descriptor readable. A full counter already is.
    pub(crate) fn signal(&self) {
        let _ = self.0.write(1);
    }

    pub(crate) fn clear(&self) {
        let _ = self.0.read();
    }

    pub(crate) fn try_clone_fd(&self) -> io::Result<OwnedFd> {
        self.0.as_fd().try_clone_to_owned()
    }
}

impl AsFd for Wake {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

impl Readable {
    /// Creates a set of `wake` and others, which stay open until they are removed.
    pub(crate) fn new(wake: &Wake, others: impl IntoIterator<Item = RawFd>) -> Self {
        let own = wake.as_fd().as_raw_fd();
        let descriptors = others.into_iter().chain([own]);
        Self(
            descriptors
                .map(|fd| libc::pollfd {
                    fd,
                    events: libc::POLLIN,
                    revents: 0,
                })
                .collect(),
        )
    }

    /// Adds a descriptor, replacing a removed one if possible.
    pub(crate) fn add(&mut self, fd: RawFd) {
        match self.0.iter_mut().find(|place| place.fd == NONE) {
            Some(place) => place.fd = fd,
            None => self.0.push(libc::pollfd {
                fd,
                events: libc::POLLIN,
                revents: 0,
            }),
        }
    }

    pub(crate) fn remove(&mut self, fd: RawFd) {
        for place in self.0.iter_mut().filter(|place| place.fd == fd) {
            place.fd = NONE;
        }
    }

    /// Waits until a descriptor is readable, or `timeout` is over.
    pub(crate) fn wait(&mut self, timeout: Option<Duration>) {
        let limit = timeout.map(|timeout| libc::timespec {
            tv_sec: (timeout.as_nanos() / NANOS_PER_SECOND) as libc::time_t,
            tv_nsec: (timeout.as_nanos() % NANOS_PER_SECOND) as libc::c_long,
        });
        // SAFETY: the array and the limit are valid for the call, and no signal mask is given. A failed
        // or interrupted call means only that the loop looks for work.
        unsafe {
            libc::ppoll(
                self.0.as_mut_ptr(),
                self.0.len() as libc::nfds_t,
                limit.as_ref().map_or(std::ptr::null(), std::ptr::from_ref),
                std::ptr::null(),
            );
        }
    }
}
