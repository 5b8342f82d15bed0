//! AF_XDP for sender and forwarder: memory that sockets share, and sockets with deep rings.
//!
//! Beside the live-frame sender, the only module of this package with `unsafe`. Each frame of the memory is either in a ring
//! or owned by the holder of its descriptor.

use std::num::NonZeroU32;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};

use anyhow::{anyhow, Context, Result};
use nix::errno::Errno;
use nix::sys::socket::{send, MsgFlags};
use weir_ebpf::queue;
use xsk_rs::config::{
    BindFlags, FrameSize, Interface, LibxdpFlags, QueueSize, SocketConfig, UmemConfig,
};
use xsk_rs::{CompQueue, FillQueue, FrameDesc, RxQueue, Socket, TxQueue, Umem};

/// Entries of each ring, as in the daemon and Open vSwitch.
pub const RING: u32 = 2048;
/// Maximum number of frames moved to or from a ring at once, as in the daemon.
pub const BATCH: usize = 64;

const FRAME_BYTES: u32 = 2048;
const QUEUE: u32 = 0;
/// `SOL_XDP` and `XDP_MAX_TX_SKB_BUDGET` of linux/if_xdp.h (the latter since 6.17): frames that one send(2) takes.
const SOL_XDP: libc::c_int = 283;
const XDP_MAX_TX_SKB_BUDGET: libc::c_int = 9;

/// Memory for frames.
#[derive(Debug)]
pub struct Memory {
    umem: Umem,
}

/// A socket on queue 0 of a device, in copy mode.
#[derive(Debug)]
pub struct Port {
    rx: RxQueue,
    tx: TxQueue,
    fill: FillQueue,
    completion: CompQueue,
    scratch: [FrameDesc; BATCH],
    /// Chunks lent to the kernel to receive into.
    lent: usize,
    /// Frames passed to the kernel to send, but not completed.
    outstanding: usize,
    device_drops: u64,
}

impl Memory {
    /// Allocates `count` frames of 2 KiB; also returns all descriptors.
    ///
    /// # Errors
    ///
    /// There is not enough memory.
    pub fn new(count: u32) -> Result<(Self, Vec<FrameDesc>)> {
        let config = UmemConfig::builder()
            .frame_size(FrameSize::new(FRAME_BYTES)?)
            .fill_queue_size(QueueSize::new(RING)?)
            .comp_queue_size(QueueSize::new(RING)?)
            .build()?;
        let count = NonZeroU32::new(count).context("memory for no frames")?;
        let (umem, frames) = Umem::new(config, count, false).map_err(with_cause)?;
        Ok((Self { umem }, frames))
    }

    /// Lets `write` change the bytes of an owned frame, and sets its length.
    pub fn write(&self, frame: &mut FrameDesc, length: usize, write: impl FnOnce(&mut [u8])) {
        // SAFETY: the descriptor is of this memory, and who has it holds the frame: it is in no ring.
        let mut data = unsafe { self.umem.data_mut(frame) };
        data.cursor().set_pos(length);
        write(data.contents_mut());
    }
}

impl Port {
    /// Opens a socket; the memory may have others. No program is attached.
    ///
    /// # Errors
    ///
    /// The device does not exist, its queue is in use, or privileges are missing.
    pub fn open(memory: &Memory, blank: FrameDesc, device: &str) -> Result<Self> {
        let name: Interface = device.parse().with_context(|| device.to_owned())?;
        let config = SocketConfig::builder()
            .rx_queue_size(QueueSize::new(RING)?)
            .tx_queue_size(QueueSize::new(RING)?)
            .libxdp_flags(LibxdpFlags::XSK_LIBXDP_FLAGS_INHIBIT_PROG_LOAD)
            .bind_flags(BindFlags::XDP_COPY | BindFlags::XDP_USE_NEED_WAKEUP)
            .build();
        let opened = queue::open(device, queue::PATIENCE, || {
            // SAFETY: no program is loaded by libxdp (the flag above), as memory that is shared asks for.
            unsafe { Socket::new(config, &memory.umem, &name, QUEUE) }
        });
        let (tx, rx, rings) = opened
            .map_err(|error| with_cause(error).context(format!("AF_XDP socket on {device}")))?;
        let (fill, completion) = rings.with_context(|| format!("{device}: the queue is taken"))?;
        let port = Self {
            rx,
            tx,
            fill,
            completion,
            scratch: [blank; BATCH],
            lent: 0,
            outstanding: 0,
            device_drops: 0,
        };
        port.allow_long_sends();
        Ok(port)
    }

    /// Returns frames that have arrived, at most `BATCH` and at most `most`.
    pub fn receive(&mut self, most: usize) -> &[FrameDesc] {
        let most = most.min(BATCH);
        // SAFETY: the ring's descriptors are of its memory; the frames are the caller's from here on.
        let count = unsafe { self.rx.consume(&mut self.scratch[..most]) };
        self.lent = self.lent.saturating_sub(count);
        &self.scratch[..count]
    }

    /// Lends the kernel frames to receive into while there is room.
    pub fn fill(&mut self, frames: &mut Vec<FrameDesc>) {
        while self.lent < RING as usize && !frames.is_empty() {
            let count = frames.len().min(BATCH).min(RING as usize - self.lent);
            let from = frames.len() - count;
            // SAFETY: the frames are of this memory and held by the caller, who gives them away here.
            let given = unsafe { self.fill.produce(&frames[from..]) };
            if given == 0 {
                return;
            }
            self.lent += given;
            frames.truncate(from);
        }
    }

    /// Room in the TX ring.
    pub fn room(&self) -> usize {
        RING as usize - self.outstanding
    }

    /// Puts owned frames into the TX ring, which must have [`room`](Self::room) for them.
    pub fn send(&mut self, frames: &[FrameDesc]) {
        // SAFETY: the frames are of this memory and held by the caller, who gives them away here.
        let count = unsafe { self.tx.produce(frames) };
        debug_assert_eq!(count, frames.len(), "there was room");
        self.outstanding += count;
    }

    /// Makes the kernel send all frames of the TX ring, and takes back completed ones.
    pub fn flush(&mut self, into: &mut Vec<FrameDesc>) {
        /// A device that accepts nothing is given up.
        const ATTEMPTS: usize = RING as usize;
        for _ in 0..ATTEMPTS {
            if self.outstanding == 0 {
                return;
            }
            let result = send(self.rx.fd().as_raw_fd(), &[], MsgFlags::MSG_DONTWAIT);
            self.reap(into);
            match result {
                Ok(_) => return,
                // the budget of one call is used up
                Err(Errno::EAGAIN) => {}
                // the frame is gone and completed, but the device dropped it
                Err(Errno::EBUSY) => self.device_drops += 1,
                Err(_) => return,
            }
        }
    }

    /// Takes back completed frames.
    pub fn reap(&mut self, into: &mut Vec<FrameDesc>) {
        loop {
            // SAFETY: the ring's descriptors are of its memory; the kernel is done with them.
            let count = unsafe { self.completion.consume(&mut self.scratch) };
            into.extend_from_slice(&self.scratch[..count]);
            self.outstanding = self.outstanding.saturating_sub(count);
            if count < BATCH {
                return;
            }
        }
    }

    /// Frames passed to the kernel to send, but not completed.
    pub fn outstanding(&self) -> usize {
        self.outstanding
    }

    /// Frames sent but dropped by the device.
    pub fn device_drops(&self) -> u64 {
        self.device_drops
    }

    /// Frames for this socket without room.
    pub fn receive_drops(&self) -> u64 {
        self.rx.fd().xdp_statistics().map_or(0, |statistics| {
            statistics.rx_dropped() + statistics.rx_ring_full()
        })
    }

    /// Ignores failure: before 6.17 kernels need a system call for each 32 frames.
    fn allow_long_sends(&self) {
        let budget = RING;
        // SAFETY: value and length are valid for the call.
        unsafe {
            libc::setsockopt(
                self.rx.fd().as_raw_fd(),
                SOL_XDP,
                XDP_MAX_TX_SKB_BUDGET,
                std::ptr::from_ref(&budget).cast(),
                size_of_val(&budget) as libc::socklen_t,
            );
        }
    }
}

impl AsFd for Port {
    fn as_fd(&self) -> BorrowedFd<'_> {
        // SAFETY: the descriptor is the socket's, which lives as long as `self.rx`.
        unsafe { BorrowedFd::borrow_raw(self.rx.fd().as_raw_fd()) }
    }
}

/// Formats an error of xsk-rs with its cause, which its text leaves out.
fn with_cause(error: impl std::error::Error) -> anyhow::Error {
    match error.source() {
        Some(cause) => anyhow!("{error}: {cause}"),
        None => anyhow!("{error}"),
    }
}
