//! AF_XDP access: one socket on a queue of one device, in copy mode.
//!
//! The only module of the endpoint with `unsafe`. The UMEM's frames are divided once: some belong to the transmitter, all
//! others to the receiver. Each is in exactly one place at any time: in a ring, in the free list, or lent to a callback.

use std::io;
use std::num::NonZeroU32;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};

use nix::errno::Errno;
use nix::sys::socket::{send, MsgFlags};
use thiserror::Error;
use weir_ebpf::queue;
use xsk_rs::config::{
    BindFlags, FrameSize, Interface, LibxdpFlags, QueueSize, SocketConfig, UmemConfig,
};
use xsk_rs::socket::XdpStatistics;
use xsk_rs::{CompQueue, FillQueue, FrameDesc, RxQueue, Socket, TxQueue, Umem};

/// Number of frames in the UMEM.
pub const FRAME_COUNT: u32 = 4096;
/// Number of frames that belong to the transmitter.
pub const TX_FRAMES: usize = 64;
/// Maximum number of frames passed to the kernel and not completed; small, so that a pause affects most frames and a frame
/// counted as sent has left.
pub const TX_OUTSTANDING_MAX: usize = 4;
/// Maximum number of frames taken from the RX ring at once.
pub const RX_BATCH: usize = 64;

/// Possible frame sizes of the UMEM, in bytes.
pub const CHUNKS: [u32; 2] = [2048, 4096];

const RX_RING: u32 = 2048;
const TX_RING: u32 = 64;
/// Room for every frame, so that returning one never fails.
const FILL_RING: u32 = 4096;
const COMPLETION_RING: u32 = 64;

/// Reason for which the socket could not be opened or used.
#[derive(Debug, Error)]
pub enum SocketError {
    /// The UMEM or the socket could not be created.
    #[error("{what} on {device}: {source}")]
    Setup {
        /// Attempted operation.
        what: &'static str,
        /// The device.
        device: String,
        /// The reason.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The kernel refused to send.
    #[error("sending: {0}")]
    Send(Errno),
}

/// An open socket with its UMEM.
#[derive(Debug)]
pub struct XdpPort {
    umem: Umem,
    rx: RxQueue,
    tx: TxQueue,
    fill: FillQueue,
    completion: CompQueue,
    /// The transmitter's frames that the kernel does not hold.
    free: Vec<FrameDesc>,
    /// Frames last taken from the RX ring.
    batch: [FrameDesc; RX_BATCH],
    outstanding: usize,
    device_drops: u64,
}

impl XdpPort {
    /// Binds to queue 0 of `device`, with frames of the smaller of [`CHUNKS`].
    ///
    /// # Errors
    /// Those of [`open_queue`](Self::open_queue).
    pub fn open(device: &str) -> Result<Self, SocketError> {
        Self::open_queue(device, 0, CHUNKS[0])
    }

    /// Binds to a queue of `device` and gives the receiver its frames, `chunk` bytes each. No program is attached.
    ///
    /// # Errors
    /// When the device does not exist, its queue is bound already, or privileges are missing.
    pub fn open_queue(device: &str, number: u32, chunk: u32) -> Result<Self, SocketError> {
        let failed = |what: &'static str| {
            let device = device.to_owned();
            move |source: Box<dyn std::error::Error + Send + Sync>| SocketError::Setup {
                what,
                device,
                source,
            }
        };
        let size = |entries: u32| QueueSize::new(entries).map_err(|e| failed("ring")(e.into()));
        let name: Interface = device
            .parse()
            .map_err(|_| failed("name")("NUL inside".into()))?;
        let umem_config = UmemConfig::builder()
            .frame_size(FrameSize::new(chunk).map_err(|e| failed("frame")(e.into()))?)
            .fill_queue_size(size(FILL_RING)?)
            .comp_queue_size(size(COMPLETION_RING)?)
            .build()
            .map_err(|e| failed("UMEM")(e.into()))?;
        let count = NonZeroU32::MIN.saturating_add(FRAME_COUNT - 1);
        let (umem, mut frames) =
            Umem::new(umem_config, count, false).map_err(|e| failed("UMEM")(with_cause(e)))?;
        let socket_config = SocketConfig::builder()
            .rx_queue_size(size(RX_RING)?)
            .tx_queue_size(size(TX_RING)?)
            .libxdp_flags(LibxdpFlags::XSK_LIBXDP_FLAGS_INHIBIT_PROG_LOAD)
            .bind_flags(BindFlags::XDP_COPY | BindFlags::XDP_USE_NEED_WAKEUP)
            .build();
        let opened = queue::open(device, queue::PATIENCE_AFTER_ANOTHER, || {
            // SAFETY: the UMEM is bound to no other queue, so it is not shared, and the program flag is set as the contract
            // requires.
            unsafe { Socket::new(socket_config, &umem, &name, number) }
        });
        let (tx, rx, rings) = opened.map_err(|e| failed("AF_XDP socket")(with_cause(e)))?;
        let (mut fill, completion) =
            rings.ok_or_else(|| failed("AF_XDP socket")("no fill ring was given".into()))?;

        let free = frames.split_off(frames.len() - TX_FRAMES);
        // SAFETY: these frames are of this socket's UMEM and in no other place: the transmitter's were separated before.
        unsafe { fill.produce(&frames) };
        Ok(Self {
            batch: [frames[0]; RX_BATCH],
            umem,
            rx,
            tx,
            fill,
            completion,
            free,
            outstanding: 0,
            device_drops: 0,
        })
    }

    /// Passes up to [`RX_BATCH`] received frames to `each`, in order, and returns their memory to the kernel. Returns their
    /// number.
    pub fn receive(&mut self, mut each: impl FnMut(&[u8])) -> usize {
        // SAFETY: the descriptors come from this socket's ring, whose frames are of this UMEM.
        let count = unsafe { self.rx.consume(&mut self.batch) };
        for descriptor in &self.batch[..count] {
            // SAFETY: the kernel has released this frame with the descriptor, and it has no other user: it returns to the
            // fill ring below, after the last use of these bytes.
            each(unsafe { self.umem.data(descriptor) }.contents());
        }
        if count > 0 {
            // SAFETY: just received, so of this UMEM and in no ring; no slice of them is left.
            let given_back = unsafe { self.fill.produce(&self.batch[..count]) };
            debug_assert_eq!(given_back, count, "the fill ring has room for every frame");
        }
        count
    }

    /// Lets `write` fill a frame and puts it into the kernel's ring; [`kick`](Self::kick) sends it. `write` returns the
    /// frame's length, or `None` for no frame. Returns false if nothing was sent, because `write` returned `None` or
    /// [`TX_OUTSTANDING_MAX`] frames are outstanding.
    pub fn send(&mut self, write: impl FnOnce(&mut [u8]) -> Option<usize>) -> bool {
        if self.outstanding >= TX_OUTSTANDING_MAX {
            return false;
        }
        let Some(mut descriptor) = self.free.pop() else {
            return false;
        };
        if !self.fill_frame(&mut descriptor, write) {
            self.free.push(descriptor);
            return false;
        }
        // SAFETY: the frame is of this UMEM, in no ring, and its descriptor leaves the free list.
        let sent = unsafe { self.tx.produce_one(&descriptor) } == 1;
        debug_assert!(sent, "the TX ring is longer than what may be outstanding");
        self.outstanding += 1;
        true
    }

    fn fill_frame(
        &self,
        descriptor: &mut FrameDesc,
        write: impl FnOnce(&mut [u8]) -> Option<usize>,
    ) -> bool {
        // SAFETY: the descriptor came from the free list, so neither the kernel nor this process uses this frame of the
        // UMEM.
        let mut data = unsafe { self.umem.data_mut(descriptor) };
        let mut cursor = data.cursor();
        // a descriptor from the completion ring has length zero
        let capacity = cursor.buf_len();
        cursor.set_pos(capacity);
        let length = write(data.contents_mut());
        data.cursor().set_pos(length.unwrap_or(0));
        length.is_some()
    }

    /// Makes the kernel send the frames in the TX ring, and reclaims completed frames.
    ///
    /// # Errors
    /// The kernel's error, except if it requires a retry or the link is down (both leave the frames in the ring), or the
    /// device dropped a frame (counted).
    pub fn kick(&mut self) -> Result<(), SocketError> {
        if self.outstanding > 0 {
            match send(self.rx.fd().as_raw_fd(), &[], MsgFlags::MSG_DONTWAIT) {
                Ok(_) | Err(Errno::EAGAIN | Errno::ENOBUFS | Errno::ENETDOWN) => {}
                // xsk_generic_xmit: completed, but the device reported a drop
                Err(Errno::EBUSY) => self.device_drops += 1,
                Err(errno) => return Err(SocketError::Send(errno)),
            }
            self.reap();
        }
        Ok(())
    }

    /// Returns the number of frames passed to the kernel and not completed.
    pub fn outstanding(&self) -> usize {
        self.outstanding
    }

    /// Returns the number of frames that the device dropped on transmission.
    pub fn device_drops(&self) -> u64 {
        self.device_drops
    }

    /// Returns the kernel's losses at this socket (`XDP_STATISTICS`).
    ///
    /// # Errors
    /// Those of getsockopt(2).
    pub fn statistics(&self) -> io::Result<XdpStatistics> {
        self.rx.fd().xdp_statistics()
    }

    fn reap(&mut self) {
        let mut done = [self.batch[0]; TX_OUTSTANDING_MAX];
        // SAFETY: the descriptors come from this socket's ring, whose frames are of this UMEM.
        let count = unsafe { self.completion.consume(&mut done) };
        self.free.extend_from_slice(&done[..count]);
        self.outstanding -= count.min(self.outstanding);
    }
}

impl AsFd for XdpPort {
    fn as_fd(&self) -> BorrowedFd<'_> {
        // SAFETY: the descriptor is the socket's, which lives as long as `self.rx`.
        unsafe { BorrowedFd::borrow_raw(self.rx.fd().as_raw_fd()) }
    }
}

fn with_cause(error: impl std::error::Error) -> Box<dyn std::error::Error + Send + Sync> {
    match error.source() {
        Some(cause) => format!("{error}: {cause}").into(),
        None => error.to_string().into(),
    }
}
