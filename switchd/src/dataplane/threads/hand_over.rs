//! Descriptors handed over between the thread of the switch core and a thread that serves sockets.
//!
//! Four queues for each socket, two in each direction, each with one writer and one reader. None can overflow: no more
//! chunks are given to receive into than the RX ring has entries, and no more frames to send than may be outstanding.

use std::os::fd::RawFd;

use xsk_rs::FrameDesc;

use super::io::{BATCH, RECEIVE_BATCHES};
use super::lane::Lane;
use super::messages::{KernelLosses, Rings};
use super::sleeper::Waker;
use super::sync::{Arc, ArrayQueue, AtomicBool, AtomicCell, Ordering};

/// What the two sides share.
#[derive(Debug)]
struct Queues {
    received: ArrayQueue<FrameDesc>,
    completed: ArrayQueue<FrameDesc>,
    to_send: ArrayQueue<FrameDesc>,
    to_fill: ArrayQueue<FrameDesc>,
    /// The core has looked at the figures since they were written.
    figures_read: AtomicBool,
    losses: AtomicCell<KernelLosses>,
    rings: AtomicCell<Rings>,
}

/// The switch core's side.
#[derive(Debug)]
pub(crate) struct CoreSide {
    queues: Arc<Queues>,
    socket_thread: Waker,
    scratch: [FrameDesc; BATCH],
    rx_ring: usize,
    /// Chunks given to receive into that have not come back.
    lent: usize,
}

/// The socket's side.
#[derive(Debug)]
pub(crate) struct SocketSide<L> {
    lane: L,
    queues: Arc<Queues>,
    scratch: [FrameDesc; BATCH],
    /// Frames sent whose chunks have not come back.
    outstanding: usize,
}

/// What a turn did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Served {
    /// It moved anything.
    pub(crate) busy: bool,
    /// There is something for the core.
    pub(crate) for_core: bool,
}

/// The two ends of the queues to `lane`, whose rings have so many entries.
pub(crate) fn hand_over<L: Lane>(
    lane: L,
    rx_ring: usize,
    tx_ring: usize,
    socket_thread: Waker,
) -> (CoreSide, SocketSide<L>) {
    let queues = Arc::new(Queues {
        received: ArrayQueue::new(rx_ring),
        completed: ArrayQueue::new(tx_ring),
        to_send: ArrayQueue::new(tx_ring),
        to_fill: ArrayQueue::new(rx_ring),
        figures_read: AtomicBool::new(true),
        losses: AtomicCell::default(),
        rings: AtomicCell::default(),
    });
    let core = CoreSide {
        queues: Arc::clone(&queues),
        socket_thread,
        scratch: [FrameDesc::default(); BATCH],
        rx_ring,
        lent: 0,
    };
    let socket = SocketSide {
        lane,
        queues,
        scratch: [FrameDesc::default(); BATCH],
        outstanding: 0,
    };
    (core, socket)
}

impl Lane for CoreSide {
    fn receive(&mut self, most: usize) -> &[FrameDesc] {
        let count = take(&self.queues.received, &mut self.scratch, most);
        self.lent = self.lent.saturating_sub(count);
        self.scratch.get(..count).unwrap_or(&[])
    }

    fn received_waiting(&mut self) -> usize {
        self.queues.received.len()
    }

    fn send(&mut self, frame: FrameDesc) -> bool {
        self.queues.to_send.push(frame).is_ok()
    }

    fn flush(&mut self) {
        if !self.queues.to_send.is_empty() {
            self.socket_thread.wake();
        }
    }

    fn completed(&mut self) -> &[FrameDesc] {
        let count = take(&self.queues.completed, &mut self.scratch, BATCH);
        self.scratch.get(..count).unwrap_or(&[])
    }

    fn fill_room(&mut self) -> usize {
        self.rx_ring.saturating_sub(self.lent)
    }

    fn fill(&mut self, chunks: &[FrameDesc]) {
        give(&self.queues.to_fill, chunks);
        self.lent += chunks.len();
        self.socket_thread.wake();
    }

    /// As of the last turn of the socket's thread before it was asked the last time.
    fn losses(&self) -> KernelLosses {
        self.queues.losses.load()
    }

    /// As of the last turn of the socket's thread before it was asked the last time.
    fn rings(&mut self) -> Rings {
        let mut rings = self.queues.rings.load();
        rings.rx.used += self.queues.received.len() as u32;
        rings.tx.used += self.queues.to_send.len() as u32;
        self.queues.figures_read.store(true, Ordering::Relaxed);
        rings
    }

    /// The other side is gone once its thread has ended, which before the end only a panic does.
    fn is_served(&self) -> bool {
        Arc::strong_count(&self.queues) > 1
    }

    /// The end of the socket's thread is news: it wakes this one, which may just be about to sleep.
    fn has_news(&self) -> bool {
        !self.queues.received.is_empty() || !self.queues.completed.is_empty() || !self.is_served()
    }
}

impl<L: Lane> SocketSide<L> {
    /// Moves what there is in both directions, a bounded amount of it.
    pub(crate) fn serve(&mut self) -> Served {
        let filled = self.fill();
        let received = self.receive();
        let sent = self.send();
        let completed = self.complete();
        if self.queues.figures_read.swap(false, Ordering::Relaxed) {
            self.queues.losses.store(self.lane.losses());
            self.queues.rings.store(self.lane.rings());
        }
        Served {
            busy: filled | received | sent | completed,
            for_core: received | completed,
        }
    }

    /// Takes all that has come, now that nothing more will.
    pub(crate) fn receive_rest(&mut self) {
        while self.receive() {}
    }

    /// The socket's, for poll(2).
    pub(crate) fn descriptor(&self) -> Option<RawFd> {
        self.lane.descriptor()
    }

    /// True when the core has left something to do.
    pub(crate) fn has_work(&self) -> bool {
        !self.queues.to_send.is_empty() || !self.queues.to_fill.is_empty()
    }

    /// True while chunks are to come back, of which nobody tells.
    pub(crate) fn is_sending(&self) -> bool {
        self.outstanding > 0
    }

    /// Gives the kernel chunks that the core has left. True when there were any, and room.
    pub(crate) fn fill(&mut self) -> bool {
        let room = self.lane.fill_room();
        let count = take(&self.queues.to_fill, &mut self.scratch, room);
        let chunks = self.scratch.get(..count).unwrap_or(&[]);
        if !chunks.is_empty() {
            self.lane.fill(chunks);
        }
        count > 0
    }

    fn receive(&mut self) -> bool {
        let mut any = false;
        for _ in 0..RECEIVE_BATCHES {
            let frames = self.lane.receive(BATCH);
            any |= !frames.is_empty();
            give(&self.queues.received, frames);
            if frames.len() < BATCH {
                break;
            }
        }
        any
    }

    fn send(&mut self) -> bool {
        let count = take(&self.queues.to_send, &mut self.scratch, BATCH);
        for frame in self.scratch.iter().take(count) {
            let taken = self.lane.send(*frame);
            debug_assert!(taken, "a turn sends a batch");
        }
        self.outstanding += count;
        self.lane.flush();
        count > 0
    }

    fn complete(&mut self) -> bool {
        let frames = self.lane.completed();
        give(&self.queues.completed, frames);
        self.outstanding = self.outstanding.saturating_sub(frames.len());
        !frames.is_empty()
    }
}

/// Takes up to `most` and a batch; how many it were.
fn take(from: &ArrayQueue<FrameDesc>, into: &mut [FrameDesc; BATCH], most: usize) -> usize {
    let mut count = 0;
    for place in into.iter_mut().take(most) {
        let Some(frame) = from.pop() else { break };
        *place = frame;
        count += 1;
    }
    count
}

fn give(to: &ArrayQueue<FrameDesc>, frames: &[FrameDesc]) {
    for frame in frames {
        let had_room = to.push(*frame).is_ok();
        debug_assert!(had_room, "more than its ring holds");
    }
}
