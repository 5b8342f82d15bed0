//! One port's AF_XDP socket: its four rings.

use std::os::fd::{AsFd, AsRawFd, BorrowedFd, RawFd};
use std::sync::atomic::{fence, Ordering};

use nix::errno::Errno;
use nix::sys::socket::{recv, send, MsgFlags};
use weir_config::daemon::ZeroCopy;
use weir_core::Duration;
use weir_ebpf::{queue, SlotShares, SlotWords};
use xsk_rs::config::{BindFlags, Interface, LibxdpFlags, QueueSize, SocketConfig};
use xsk_rs::{CompQueue, FillQueue, FrameDesc, RxQueue, Socket, TxQueue, Umem};

use super::refused;
use crate::error::DataplaneError;
use crate::exchange::messages::{KernelLosses, Ring, Rings};
use crate::memory::umem::with_cause;
use crate::rings::io::BATCH;
use crate::rings::lane::Lane;
use crate::rings::slots::{KeptSlots, Ledger, Shared, Words};

/// `SOL_XDP`, `XDP_OPTIONS` and `XDP_OPTIONS_ZEROCOPY` of linux/if_xdp.h.
const SOL_XDP: libc::c_int = 283;
const XDP_OPTIONS: libc::c_int = 8;
const XDP_OPTIONS_ZEROCOPY: u32 = 1;
/// `XDP_MAX_TX_SKB_BUDGET` ([`TRANSMIT_BUDGET`](weir_config::kernels::TRANSMIT_BUDGET)).
const XDP_MAX_TX_SKB_BUDGET: libc::c_int = 9;

#[derive(Debug)]
pub(crate) struct XdpSocket {
    rx: RxQueue,
    tx: TxQueue,
    fill: FillQueue,
    completion: CompQueue,
    /// Entries of the fill ring and of the RX ring.
    fill_size: usize,
    /// Entries of the TX ring and of the completion ring.
    tx_size: u32,
    /// Chunks lent to the kernel: in the fill ring, or not yet in the RX ring.
    lent: usize,
    scratch: [FrameDesc; BATCH],
    /// Frames to send at the next flush.
    outgoing: [FrameDesc; BATCH],
    outgoing_count: usize,
    /// True if the TX ring may hold frames that the kernel was not notified of.
    kick_due: bool,
    /// True if the kernel needs a wakeup after a refill of the fill ring.
    fill_kick_due: bool,
    /// True if the receiver polls the device.
    polls: bool,
    device_drops: u64,
    /// Slots reserved for frames with a credit.
    slots: Option<Ledger<SlotWords>>,
    /// Kernel's count of an empty fill ring before it was first filled; not a loss. `None` until it is filled.
    empty_before: Option<u64>,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct SocketOptions<'a> {
    pub(crate) device: &'a str,
    pub(crate) driver: &'a str,
    /// True if the program runs in the network stack: the driver's queues do not reach it and cannot be shared.
    pub(crate) generic: bool,
    pub(crate) queue: u32,
    pub(crate) rx_ring: u32,
    pub(crate) tx_ring: u32,
    pub(crate) zero_copy: ZeroCopy,
    /// Busy-poll time; zero for none.
    pub(crate) busy_poll: Duration,
    /// True if a frame may take several chunks ([`LONG_FRAMES`](weir_config::kernels::LONG_FRAMES)).
    pub(crate) has_long_frames: bool,
    /// Time for which another socket may still hold the queue.
    pub(crate) patience: std::time::Duration,
}

impl Words for SlotWords {
    fn entered(&self) -> u64 {
        Self::entered(self)
    }

    fn begun(&self) -> u64 {
        Self::begun(self)
    }

    fn returned(&self) -> u64 {
        Self::returned(self)
    }

    fn raise_limit(&self, limit: u64) {
        Self::raise_limit(self, limit);
    }

    fn set_credited(&self, priorities: u8) {
        Self::set_credited(self, priorities);
    }
}

impl XdpSocket {
    /// Binds to a queue of a device. The UMEM may serve other queues as well.
    pub(crate) fn open(umem: &Umem, options: SocketOptions<'_>) -> Result<Self, DataplaneError> {
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
        // With neither flag, the kernel uses zero-copy where the driver supports it and copies elsewhere.
        let mode = match options.zero_copy {
            ZeroCopy::Auto if options.generic => BindFlags::XDP_COPY,
            ZeroCopy::Require if options.generic => {
                return Err(failed(
                    "generic XDP has no zero-copy; set zero-copy = \"auto\"".into(),
                ));
            }
            ZeroCopy::Auto => BindFlags::empty(),
            ZeroCopy::Off => BindFlags::XDP_COPY,
            ZeroCopy::Require => BindFlags::XDP_ZEROCOPY,
        };
        let long = if options.has_long_frames {
            BindFlags::XDP_USE_SG
        } else {
            BindFlags::empty()
        };
        let config = SocketConfig::builder()
            .rx_queue_size(size(options.rx_ring)?)
            .tx_queue_size(size(options.tx_ring)?)
            .libxdp_flags(LibxdpFlags::XSK_LIBXDP_FLAGS_INHIBIT_PROG_LOAD)
            .bind_flags(mode | long | BindFlags::XDP_USE_NEED_WAKEUP)
            .build();
        let opened = queue::open(options.device, options.patience, || {
            // SAFETY: no program is loaded by libxdp (the flag above), as required for a shared UMEM.
            unsafe { Socket::new(config, umem, &name, options.queue) }
        });
        let (tx, rx, rings) = opened.map_err(|error| {
            let helps = refused::remedy(queue::code(&error), &options);
            failed(format!("{}; {helps}", with_cause(&error)))
        })?;
        let (fill, completion) =
            rings.ok_or_else(|| failed("the queue is in use by another port".into()))?;
        let socket = Self {
            rx,
            tx,
            fill,
            completion,
            fill_size: options.rx_ring as usize,
            tx_size: options.tx_ring,
            lent: 0,
            scratch: [FrameDesc::default(); BATCH],
            outgoing: [FrameDesc::default(); BATCH],
            outgoing_count: 0,
            kick_due: false,
            fill_kick_due: false,
            polls: !options.busy_poll.is_zero(),
            device_drops: 0,
            slots: None,
            empty_before: None,
        };
        socket.raise_transmit_budget();
        if socket.polls {
            socket
                .prefer_busy_poll(options.busy_poll)
                .map_err(|error| failed(format!("preferred busy polling: {error}")))?;
        }
        Ok(socket)
    }

    /// Reserves `kept` slots of the RX ring for frames with a credit, using the words of the program that will pass frames
    /// to this socket.
    pub(crate) fn keep_slots(&mut self, words: SlotWords, slots: KeptSlots) {
        let shared = Shared::of(self.fill_size as u32, slots.kept);
        words.set_shares(SlotShares {
            kept_from_lossless: shared.kept_from_lossless,
            kept_from_lossy: shared.kept_from_lossy,
            lossless: slots.lossless,
            part_bytes: slots.part_bytes,
        });
        self.slots = Some(Ledger::new(words, shared, slots));
    }

    /// Returns true when the driver shares memory with this socket.
    pub(crate) fn is_zero_copy(&self) -> bool {
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

    /// Raises the limit so that one system call sends a whole batch in copy mode. The kernel's own limit is 32 frames; if it
    /// cannot be raised ([`TRANSMIT_BUDGET`](weir_config::kernels::TRANSMIT_BUDGET)), a batch takes two calls.
    fn raise_transmit_budget(&self) {
        let budget = (2 * BATCH as u32).min(self.tx_size);
        if let Err(error) = self.set_option(SOL_XDP, XDP_MAX_TX_SKB_BUDGET, budget) {
            tracing::debug!(%error, "the kernel sends at most 32 frames per system call");
        }
    }

    /// Makes system calls on the socket poll the device themselves, for up to `span`; its interrupts stay off during that
    /// time.
    fn prefer_busy_poll(&self, span: Duration) -> std::io::Result<()> {
        let microseconds = (span.as_nanos() / 1_000).clamp(1, i32::MAX as u64);
        self.set_option(libc::SOL_SOCKET, libc::SO_PREFER_BUSY_POLL, 1)?;
        self.set_option(libc::SOL_SOCKET, libc::SO_BUSY_POLL, microseconds as u32)?;
        self.set_option(libc::SOL_SOCKET, libc::SO_BUSY_POLL_BUDGET, BATCH as u32)
    }

    fn set_option(
        &self,
        level: libc::c_int,
        option: libc::c_int,
        value: u32,
    ) -> std::io::Result<()> {
        // SAFETY: value and length are valid for the call and of the size that these options have.
        let result = unsafe {
            libc::setsockopt(
                self.as_fd().as_raw_fd(),
                level,
                option,
                std::ptr::from_ref(&value).cast(),
                size_of::<u32>() as libc::socklen_t,
            )
        };
        if result == 0 {
            Ok(())
        } else {
            Err(std::io::Error::last_os_error())
        }
    }

    fn put_outgoing(&mut self) {
        let Some(frames) = self.outgoing.get(..self.outgoing_count) else {
            return;
        };
        // SAFETY: the descriptors are of this UMEM, and the caller has given up their chunks.
        let sent = unsafe { self.tx.produce(frames) };
        // All or none: the ring is longer than the outstanding limit.
        debug_assert_eq!(sent, frames.len(), "the TX ring is full");
        if sent == frames.len() {
            self.kick_due |= sent > 0;
            self.outgoing_count = 0;
        }
    }

    /// Returns true if the kernel has to be called for frames in the TX ring. A working driver polls by itself and indicates
    /// this in the ring; in copy mode nothing does. With busy polling the call drives the device.
    fn must_kick(&mut self) -> bool {
        if !self.kick_due || self.polls {
            return self.kick_due;
        }
        // The driver announces that it stops, then checks the ring once more. This side has put frames there, then checks
        // for the announcement. The fence keeps each check behind its store, so that one side sees the other.
        fence(Ordering::SeqCst);
        let must = self.tx.needs_wakeup();
        // The driver may still stop before it has taken everything.
        self.kick_due = must || self.tx.nb_free_exact() < self.tx_size;
        must
    }

    fn consume(&mut self, most: usize) -> usize {
        let Some(into) = self.scratch.get_mut(..most) else {
            return 0;
        };
        // SAFETY: the ring's descriptors are of this UMEM; the chunks behind them now belong to the caller.
        unsafe { self.rx.consume(into) }
    }
}

impl Lane for XdpSocket {
    fn receive(&mut self, most: usize) -> &[FrameDesc] {
        let most = most.min(BATCH);
        let mut count = self.consume(most);
        if count == 0 && self.polls {
            // Polls the device, which puts any received frames into the ring.
            let _ = recv(self.rx.fd().as_raw_fd(), &mut [], MsgFlags::MSG_DONTWAIT);
            count = self.consume(most);
        }
        self.lent = self.lent.saturating_sub(count);
        self.scratch.get(..count).unwrap_or(&[])
    }

    fn received_waiting(&mut self) -> usize {
        self.rx.nb_avail_exact() as usize
    }

    fn send(&mut self, frame: FrameDesc) -> bool {
        if self.outgoing_count == BATCH {
            self.put_outgoing();
        }
        let Some(place) = self.outgoing.get_mut(self.outgoing_count) else {
            return false;
        };
        *place = frame;
        self.outgoing_count += 1;
        true
    }

    fn flush(&mut self) {
        if self.outgoing_count > 0 {
            self.put_outgoing();
        }
        if !self.must_kick() && !self.fill_kick_due {
            return;
        }
        // Each call that reports a drop has removed at least one frame.
        for _ in 0..=self.tx_size {
            match send(self.rx.fd().as_raw_fd(), &[], MsgFlags::MSG_DONTWAIT) {
                Ok(_) => (self.kick_due, self.fill_kick_due) = (false, false),
                // xsk_generic_xmit: the frame is gone and completed, but the device dropped it. The frames behind it are
                // still in the ring; poll(2) would send them too, but without reporting drops.
                Err(Errno::EBUSY) => {
                    self.device_drops += 1;
                    continue;
                }
                // out of budget or memory, no room in the device, or link down: the rest waits in the ring
                Err(_) => {}
            }
            return;
        }
    }

    fn completed(&mut self) -> &[FrameDesc] {
        // SAFETY: the ring's descriptors are of this UMEM; the kernel no longer uses them.
        let count = unsafe { self.completion.consume(&mut self.scratch) };
        self.scratch.get(..count).unwrap_or(&[])
    }

    /// Limits lent chunks to the size of the RX ring, so that it cannot overflow. The fill ring may have less room: the
    /// kernel passes frames on before it marks their entries as free.
    fn fill_room(&mut self) -> usize {
        let free = self.fill.nb_free(BATCH as u32) as usize;
        self.fill_size.saturating_sub(self.lent).min(free)
    }

    fn fill(&mut self, chunks: &[FrameDesc]) {
        // SAFETY: the descriptors are of this UMEM, and the caller gives up their chunks with this call.
        let given = unsafe { self.fill.produce(chunks) };
        debug_assert_eq!(given, chunks.len(), "there is room");
        self.lent += given;
        if self.empty_before.is_none() {
            let statistics = self.rx.fd().xdp_statistics();
            self.empty_before = statistics.ok().map(|it| it.rx_fill_ring_empty_descs());
        }
        self.fill_kick_due |= self.fill.needs_wakeup();
    }

    fn losses(&self) -> KernelLosses {
        let Ok(statistics) = self.rx.fd().xdp_statistics() else {
            return KernelLosses::default();
        };
        KernelLosses {
            rx_dropped_total: statistics.rx_dropped(),
            rx_ring_full_total: statistics.rx_ring_full(),
            rx_fill_ring_empty_total: statistics
                .rx_fill_ring_empty_descs()
                .saturating_sub(self.empty_before.unwrap_or(u64::MAX)),
            rx_invalid_descs_total: statistics.rx_invalid_descs(),
            tx_invalid_descs_total: statistics.tx_invalid_descs(),
            tx_device_drops_total: self.device_drops,
            ..KernelLosses::default()
        }
    }

    fn keeps_slots(&self) -> bool {
        self.slots.is_some()
    }

    fn count_out(&mut self, length: u64, has_credit: bool) {
        if let Some(slots) = &mut self.slots {
            slots.count_out(length, has_credit);
        }
    }

    fn settle_slots(&mut self) -> u32 {
        let lent = self.lent;
        self.slots.as_mut().map_or(0, |slots| slots.settle(lent))
    }

    fn forget_lost(&mut self) {
        let Some(slots) = self.slots.as_mut().filter(|slots| slots.may_have_lost()) else {
            return;
        };
        // A frame passed on by the program reaches the ring, or one of these counters.
        if let Ok(statistics) = self.rx.fd().xdp_statistics() {
            slots.forget_lost(statistics.rx_dropped() + statistics.rx_ring_full());
        }
    }

    fn set_credited(&mut self, priorities: u8) {
        if let Some(slots) = &mut self.slots {
            slots.set_credited(priorities);
        }
    }

    fn descriptor(&self) -> Option<RawFd> {
        Some(self.rx.fd().as_raw_fd())
    }

    fn rings(&mut self) -> Rings {
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
}

impl AsFd for XdpSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        // SAFETY: the descriptor is the socket's, which lives as long as `self.rx`.
        unsafe { BorrowedFd::borrow_raw(self.rx.fd().as_raw_fd()) }
    }
}
