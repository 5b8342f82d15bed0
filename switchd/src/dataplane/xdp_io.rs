//! [`Io`] over AF_XDP.

use std::os::fd::{AsFd, AsRawFd};

use weir_core::units::NANOS_PER_SECOND;
use weir_core::Duration;
use weir_ebpf::Meta;

use super::io::{Batch, Io};
use super::messages::{KernelLosses, Rings};
use super::pool::Chunk;
use super::socket::XdpSocket;
use super::umem::Memory;
use super::wake::Wake;

/// The sockets of all ports over one UMEM. Sockets come first: they are closed before the UMEM goes.
#[derive(Debug)]
pub(super) struct XdpIo {
    sockets: Vec<XdpSocket>,
    memory: Memory,
    poll: Vec<libc::pollfd>,
}

impl XdpIo {
    pub(super) fn new(sockets: Vec<XdpSocket>, memory: Memory, wake: &Wake) -> Self {
        let poll = sockets
            .iter()
            .map(|socket| socket.as_fd().as_raw_fd())
            .chain([wake.as_fd().as_raw_fd()])
            .map(|fd| libc::pollfd {
                fd,
                events: libc::POLLIN,
                revents: 0,
            })
            .collect();
        Self {
            sockets,
            memory,
            poll,
        }
    }

    /// By port.
    pub(super) fn sockets(&self) -> &[XdpSocket] {
        &self.sockets
    }
}

impl Io for XdpIo {
    fn receive(&mut self, port: usize, into: &mut Batch) {
        if let Some(socket) = self.sockets.get_mut(port) {
            socket.receive(&mut self.memory, into);
        }
    }

    fn frame(&self, chunk: Chunk) -> (Option<Meta>, &[u8]) {
        self.memory.frame(chunk)
    }

    fn edit(&mut self, chunk: Chunk, edit: &mut dyn FnMut(&mut [u8])) {
        self.memory.edit(chunk, edit);
    }

    fn write(&mut self, chunk: Chunk, write: &mut dyn FnMut(&mut [u8]) -> Option<usize>) -> bool {
        self.memory.write(chunk, write)
    }

    fn send(&mut self, port: usize, chunk: Chunk) -> bool {
        self.sockets
            .get_mut(port)
            .is_some_and(|socket| socket.send(&self.memory, chunk))
    }

    fn flush(&mut self, port: usize) {
        if let Some(socket) = self.sockets.get_mut(port) {
            socket.flush();
        }
    }

    fn completed(&mut self, port: usize, into: &mut Batch) {
        if let Some(socket) = self.sockets.get_mut(port) {
            socket.completed(&self.memory, into);
        }
    }

    fn fill_room(&mut self, port: usize) -> usize {
        self.sockets.get_mut(port).map_or(0, XdpSocket::fill_room)
    }

    fn fill(&mut self, port: usize, chunks: &[Chunk]) {
        if let Some(socket) = self.sockets.get_mut(port) {
            socket.fill(&self.memory, chunks);
        }
    }

    fn losses(&self, port: usize) -> KernelLosses {
        self.sockets
            .get(port)
            .map_or_else(KernelLosses::default, XdpSocket::losses)
    }

    fn rings(&mut self, port: usize) -> Rings {
        self.sockets
            .get_mut(port)
            .map_or_else(Rings::default, XdpSocket::rings)
    }

    fn wait(&mut self, timeout: Option<Duration>) {
        let limit = timeout.map(|timeout| libc::timespec {
            tv_sec: (timeout.as_nanos() / NANOS_PER_SECOND) as libc::time_t,
            tv_nsec: (timeout.as_nanos() % NANOS_PER_SECOND) as libc::c_long,
        });
        // SAFETY: the array and the limit are valid for the call, and no signal mask is given. A failed
        // or interrupted call means only that the loop looks for work.
        unsafe {
            libc::ppoll(
                self.poll.as_mut_ptr(),
                self.poll.len() as libc::nfds_t,
                limit.as_ref().map_or(std::ptr::null(), std::ptr::from_ref),
                std::ptr::null(),
            );
        }
    }
}
