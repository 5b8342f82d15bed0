//! Descriptors handed over between the thread of the switch core and a thread that serves sockets.
//!
//! Four rings for each socket, two in each direction, each with one writer and one reader: a batch is written or read by one
//! atomic store. None can overflow: the chunks lent for receiving are limited by the RX ring's entries, and the frames to
//! send by the outstanding limit.

use std::os::fd::RawFd;

use xsk_rs::FrameDesc;

use super::io::{BATCH, RECEIVE_BATCHES};
use super::lane::Lane;
use super::messages::{KernelLosses, Rings};
use super::sleeper::Waker;
use super::sync::{Arc, AtomicBool, AtomicCell, Consumer, Ordering, Producer, RingBuffer};

/// State shared by the two sides besides the rings.
#[derive(Debug)]
struct Figures {
    /// True if the core has read them since they were written.
    are_read: AtomicBool,
    losses: AtomicCell<KernelLosses>,
    rings: AtomicCell<Rings>,
}

#[derive(Debug)]
pub(crate) struct CoreSide {
    received: Consumer<FrameDesc>,
    completed: Consumer<FrameDesc>,
    to_send: Producer<FrameDesc>,
    to_fill: Producer<FrameDesc>,
    figures: Arc<Figures>,
    socket_thread: Waker,
    scratch: [FrameDesc; BATCH],
    rx_ring: usize,
    tx_ring: usize,
    /// Chunks lent to receive into and not returned yet.
    lent: usize,
}

#[derive(Debug)]
pub(crate) struct SocketSide<L> {
    lane: L,
    received: Producer<FrameDesc>,
    completed: Producer<FrameDesc>,
    to_send: Consumer<FrameDesc>,
    to_fill: Consumer<FrameDesc>,
    figures: Arc<Figures>,
    scratch: [FrameDesc; BATCH],
    /// Frames sent whose chunks were not returned yet.
    outstanding: usize,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Served {
    pub(crate) busy: bool,
    /// True if there is work for the core.
    pub(crate) for_core: bool,
}

/// Creates the two ends of the rings to `lane`, whose rings have this many entries.
pub(crate) fn hand_over<L: Lane>(
    lane: L,
    rx_ring: usize,
    tx_ring: usize,
    socket_thread: Waker,
) -> (CoreSide, SocketSide<L>) {
    let (gives_received, takes_received) = RingBuffer::new(rx_ring);
    let (gives_completed, takes_completed) = RingBuffer::new(tx_ring);
    let (gives_to_send, takes_to_send) = RingBuffer::new(tx_ring);
    let (gives_to_fill, takes_to_fill) = RingBuffer::new(rx_ring);
    let figures = Arc::new(Figures {
        are_read: AtomicBool::new(true),
        losses: AtomicCell::default(),
        rings: AtomicCell::default(),
    });
    let core = CoreSide {
        received: takes_received,
        completed: takes_completed,
        to_send: gives_to_send,
        to_fill: gives_to_fill,
        figures: Arc::clone(&figures),
        socket_thread,
        scratch: [FrameDesc::default(); BATCH],
        rx_ring,
        tx_ring,
        lent: 0,
    };
    let socket = SocketSide {
        lane,
        received: gives_received,
        completed: gives_completed,
        to_send: takes_to_send,
        to_fill: takes_to_fill,
        figures,
        scratch: [FrameDesc::default(); BATCH],
        outstanding: 0,
    };
    (core, socket)
}

impl Lane for CoreSide {
    fn receive(&mut self, most: usize) -> &[FrameDesc] {
        let frames = take(&mut self.received, &mut self.scratch, most);
        self.lent = self.lent.saturating_sub(frames.len());
        frames
    }

    fn received_waiting(&mut self) -> usize {
        self.received.slots()
    }

    fn send(&mut self, frame: FrameDesc) -> bool {
        self.to_send.push(frame).is_ok()
    }

    fn flush(&mut self) {
        if self.left_to_send() > 0 {
            self.socket_thread.wake();
        }
    }

    fn completed(&mut self) -> &[FrameDesc] {
        take(&mut self.completed, &mut self.scratch, BATCH)
    }

    fn fill_room(&mut self) -> usize {
        self.rx_ring.saturating_sub(self.lent)
    }

    fn fill(&mut self, chunks: &[FrameDesc]) {
        give(&mut self.to_fill, chunks);
        self.lent += chunks.len();
        self.socket_thread.wake();
    }

    /// Values from the socket thread's last turn before the previous call.
    fn losses(&self) -> KernelLosses {
        self.figures.losses.load()
    }

    /// Values from the socket thread's last turn before the previous call.
    fn rings(&mut self) -> Rings {
        let mut rings = self.figures.rings.load();
        rings.rx.used += self.received.slots() as u32;
        rings.tx.used += self.left_to_send() as u32;
        self.figures.are_read.store(true, Ordering::Relaxed);
        rings
    }

    /// The other side is gone once its thread has ended, which only a panic causes early.
    fn is_served(&self) -> bool {
        Arc::strong_count(&self.figures) > 1
    }

    /// The end of the socket's thread counts as work: it wakes this thread, which may be about to sleep.
    fn has_news(&self) -> bool {
        !self.received.is_empty() || !self.completed.is_empty() || !self.is_served()
    }
}

impl CoreSide {
    /// Returns the number of frames that the socket's thread has not taken yet.
    fn left_to_send(&self) -> usize {
        self.tx_ring - self.to_send.slots()
    }
}

impl<L: Lane> SocketSide<L> {
    /// Moves a bounded number of frames in both directions.
    pub(crate) fn serve(&mut self) -> Served {
        let filled = self.fill();
        let received = self.receive();
        let sent = self.send();
        let completed = self.complete();
        if self.figures.are_read.swap(false, Ordering::Relaxed) {
            self.figures.losses.store(self.lane.losses());
            self.figures.rings.store(self.lane.rings());
        }
        Served {
            busy: filled | received | sent | completed,
            for_core: received | completed,
        }
    }

    /// Takes all remaining frames after the last arrival.
    pub(crate) fn receive_rest(&mut self) {
        while self.receive() {}
    }

    /// Returns the socket's descriptor, for poll(2).
    pub(crate) fn descriptor(&self) -> Option<RawFd> {
        self.lane.descriptor()
    }

    pub(crate) fn has_work(&self) -> bool {
        !self.to_send.is_empty() || !self.to_fill.is_empty()
    }

    /// Returns true while chunks are to be returned, which no descriptor reports.
    pub(crate) fn is_sending(&self) -> bool {
        self.outstanding > 0
    }

    /// Lends the kernel chunks from the core. Returns true when there were any, and room for them.
    pub(crate) fn fill(&mut self) -> bool {
        let room = self.lane.fill_room();
        let chunks = take(&mut self.to_fill, &mut self.scratch, room);
        if !chunks.is_empty() {
            self.lane.fill(chunks);
        }
        !chunks.is_empty()
    }

    fn receive(&mut self) -> bool {
        let mut any = false;
        for _ in 0..RECEIVE_BATCHES {
            let frames = self.lane.receive(BATCH);
            any |= !frames.is_empty();
            give(&mut self.received, frames);
            if frames.len() < BATCH {
                break;
            }
        }
        any
    }

    fn send(&mut self) -> bool {
        let frames = take(&mut self.to_send, &mut self.scratch, BATCH);
        for frame in frames.iter() {
            let taken = self.lane.send(*frame);
            debug_assert!(taken, "a turn sends a batch");
        }
        self.outstanding += frames.len();
        self.lane.flush();
        !frames.is_empty()
    }

    fn complete(&mut self) -> bool {
        let frames = self.lane.completed();
        give(&mut self.completed, frames);
        self.outstanding = self.outstanding.saturating_sub(frames.len());
        !frames.is_empty()
    }
}

/// Takes at most `most`, and at most a batch.
fn take<'a>(
    from: &mut Consumer<FrameDesc>,
    into: &'a mut [FrameDesc; BATCH],
    most: usize,
) -> &'a [FrameDesc] {
    let places = into.get_mut(..most.min(BATCH)).unwrap_or(&mut []);
    from.pop_partial_slice(places).0
}

fn give(to: &mut Producer<FrameDesc>, frames: &[FrameDesc]) {
    let had_room = to.push_entire_slice(frames).is_ok();
    debug_assert!(had_room, "more than its ring holds");
}
