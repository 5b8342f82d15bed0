//! One port's AF_XDP socket: its four rings.

use std::os::fd::{AsFd, AsRawFd, BorrowedFd};

use nix::errno::Errno;
use nix::sys::socket::{send, MsgFlags};
use weir_config::daemon::ZeroCopy;
use xsk_rs::config::{BindFlags, Interface, LibxdpFlags, QueueSize, SocketConfig};
use xsk_rs::{CompQueue, FillQueue, FrameDesc, RxQueue, Socket, TxQueue};

use super::io::{Batch, BATCH};
use super::messages::{KernelLosses, Ring, Rings};
use super::pool::Chunk;
use super::umem::{with_cause, Memory};
use super::DataplaneError;

/// `SOL_XDP`, `XDP_OPTIONS` and `XDP_OPTIONS_ZEROCOPY` of linux/if_xdp.h.
const SOL_XDP: libc::c_int = 283;
const XDP_OPTIONS: libc::c_int = 8;
const XDP_OPTIONS_ZEROCOPY: u32 = 1;

/// An open socket.
#[derive(Debug)]
pub(super) struct XdpSocket {
    rx: RxQueue,
    tx: TxQueue,
    fill: FillQueue,
    completion: CompQueue,
    /// Entries of the fill ring and of the RX ring.
    fill_size: usize,
    /// Entries of the TX ring and of the completion ring.
    tx_size: u32,
    /// Chunks that the kernel has to receive into: in the fill ring, or on their way to the RX ring.
    lent: usize,
    scratch: [FrameDesc; BATCH],
    kick_due: bool,
    device_drops: u64,
}

/// What a socket is opened with.
#[derive(Clone, Copy, Debug)]
pub(super) struct SocketOptions<'a> {
    pub(super) device: &'a str,
    pub(super) queue: u32,
    pub(super) rx_ring: u32,
    pub(super) tx_ring: u32,
    pub(super) zero_copy: ZeroCopy,
}

impl XdpSocket {
    /// Binds to a queue of a device. The UMEM may serve other queues too.
    pub(super) fn open(
        memory: &Memory,
        options: SocketOptions<'_>,
    ) -> Result<Self, DataplaneError> {
        let failed = |reason: String| DataplaneError::Socket {
            device: options.device.to_owned(),
            queue: options.queue,
            reason,
        };
        let size = |entries| QueueSize::new(entries).map_err(|error| failed(error.to_string()));
        let name: Interface = options
            .device
            .parse()
            .map_err(|_| failed("a device's name has no NUL".into()))?;
        // With neither flag the kernel takes zero-copy where the driver can and copies elsewhere.
        let mode = match options.zero_copy {
            ZeroCopy::Auto => BindFlags::empty(),
            ZeroCopy::Off => BindFlags::XDP_COPY,
            ZeroCopy::Require => BindFlags::XDP_ZEROCOPY,
        };
        let config = SocketConfig::builder()
            .rx_queue_size(size(options.rx_ring)?)
            .tx_queue_size(size(options.tx_ring)?)
            .libxdp_flags(LibxdpFlags::XSK_LIBXDP_FLAGS_INHIBIT_PROG_LOAD)
            .bind_flags(mode | BindFlags::XDP_USE_NEED_WAKEUP)
            .build();
        // SAFETY: no program is loaded by libxdp (the flag above), which is what the contract asks for
        // a UMEM that is shared.
        let opened = unsafe { Socket::new(config, memory.umem(), &name, options.queue) };
        let (tx, rx, rings) = opened.map_err(|error| failed(with_cause(&error)))?;
        let (fill, completion) =
            rings.ok_or_else(|| failed("the queue belongs to another port already".into()))?;
        let blank = *memory
            .descriptor(0)
            .ok_or_else(|| failed("the UMEM is empty".into()))?;
        Ok(Self {
            rx,
            tx,
            fill,
            completion,
            fill_size: options.rx_ring as usize,
            tx_size: options.tx_ring,
            lent: 0,
            scratch: [blank; BATCH],
            kick_due: false,
            device_drops: 0,
        })
    }

    /// True when the driver shares memory with this socket.
    pub(super) fn is_zero_copy(&self) -> bool {
        let mut flags = 0u32;
        let mut length = size_of::<u32>() as libc::socklen_t;
        // SAFETY: value and length are valid for the call and of the size that the option has.
        let result = unsafe {
            libc::getsockopt(
                self.as_fd().as_raw_fd(),
                SOL_XDP,
                XDP_OPTIONS,
                std::ptr::from_mut(&mut flags).cast(),
                &mut length,
            )
        };
        result == 0 && flags & XDP_OPTIONS_ZEROCOPY != 0
    }

    pub(super) fn receive(&mut self, memory: &mut Memory, into: &mut Batch) {
        // SAFETY: the ring's descriptors are of this UMEM; what they point at is ours from here on.
        let count = unsafe { self.rx.consume(&mut self.scratch) };
        self.lent = self.lent.saturating_sub(count);
        for descriptor in self.scratch.iter().take(count) {
            if let Some(chunk) = memory.note_received(*descriptor) {
                into.push(chunk);
            }
        }
    }

    pub(super) fn send(&mut self, memory: &Memory, chunk: Chunk) -> bool {
        let Some(descriptor) = memory.descriptor(chunk) else {
            return false;
        };
        // SAFETY: the descriptor is of this UMEM, and the caller hands the chunk over with this call.
        let sent = unsafe { self.tx.produce_one(descriptor) } == 1;
        self.kick_due |= sent;
        sent
    }

    pub(super) fn flush(&mut self) {
        if !self.kick_due {
            return;
        }
        match send(self.rx.fd().as_raw_fd(), &[], MsgFlags::MSG_DONTWAIT) {
            Ok(_) => self.kick_due = false,
            // xsk_generic_xmit: the frame is gone and completed, but the device dropped it
            Err(Errno::EBUSY) => self.device_drops += 1,
            // out of budget or memory, or the link is down: the rest waits in the ring
            Err(_) => {}
        }
    }

    pub(super) fn completed(&mut self, memory: &Memory, into: &mut Batch) {
        // SAFETY: the ring's descriptors are of this UMEM; the kernel is done with them.
        let count = unsafe { self.completion.consume(&mut self.scratch) };
        for descriptor in self.scratch.iter().take(count) {
            if let Some(chunk) = memory.chunk_of(descriptor) {
                into.push(chunk);
            }
        }
    }

    /// No more is lent than the RX ring holds, so that it cannot overflow. The fill ring may have less
    /// room than that: the kernel hands frames over before it says that their entries are free again.
    pub(super) fn fill_room(&mut self) -> usize {
        let free = self.fill.nb_free(BATCH as u32) as usize;
        self.fill_size.saturating_sub(self.lent).min(free)
    }

    pub(super) fn fill(&mut self, memory: &Memory, chunks: &[Chunk]) {
        for chunk in chunks {
            let Some(descriptor) = memory.descriptor(*chunk) else {
                continue;
            };
            // SAFETY: the descriptor is of this UMEM, and the caller hands the chunk over with this call.
            let given = unsafe { self.fill.produce_one(descriptor) };
            debug_assert_eq!(given, 1, "there is room");
            self.lent += given;
        }
        if self.fill.needs_wakeup() {
            self.kick_due = true;
        }
    }

    pub(super) fn rings(&mut self) -> Rings {
        let produced = |free: u32, size: u32| Ring {
            used: size.saturating_sub(free),
            size,
        };
        let waiting = |used: u32, size: u32| Ring { used, size };
        let (rx_size, tx_size) = (self.fill_size as u32, self.tx_size);
        Rings {
            fill: produced(self.fill.nb_free_exact(), rx_size),
            rx: waiting(self.rx.nb_avail_exact(), rx_size),
            tx: produced(self.tx.nb_free_exact(), tx_size),
            completion: waiting(self.completion.nb_avail_exact(), tx_size),
        }
    }

    pub(super) fn losses(&self) -> KernelLosses {
        let Ok(statistics) = self.rx.fd().xdp_statistics() else {
            return KernelLosses::default();
        };
        KernelLosses {
            rx_dropped: statistics.rx_dropped(),
            rx_ring_full: statistics.rx_ring_full(),
            rx_fill_ring_empty: statistics.rx_fill_ring_empty_descs(),
            rx_invalid_descs: statistics.rx_invalid_descs(),
            tx_invalid_descs: statistics.tx_invalid_descs(),
            tx_device_drops: self.device_drops,
        }
    }
}

impl AsFd for XdpSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        // SAFETY: the descriptor is the socket's, which lives as long as `self.rx`.
        unsafe { BorrowedFd::borrow_raw(self.rx.fd().as_raw_fd()) }
    }
}
