//! One queue of one device, as the thread of the switch core sees it.

use std::os::fd::RawFd;

use xsk_rs::FrameDesc;

use super::messages::{KernelLosses, Rings};

/// Frames in and out of one queue of a device: an AF_XDP socket that the thread serves itself, or
/// the queues to a thread that does.
///
/// The holder of a descriptor owns its chunk. A lane takes back only chunks that it was given.
pub(crate) trait Lane {
    /// Returns received frames, or parts of frames in order, up to `most` of them and to a batch;
    /// their chunks are the caller's now. Fewer only when there are no more.
    fn receive(&mut self, most: usize) -> &[FrameDesc];

    fn received_waiting(&mut self) -> usize;

    /// Queues a frame, or the next part of one, for sending. Returns false when there is no room.
    fn send(&mut self, frame: FrameDesc) -> bool;

    fn flush(&mut self);

    /// Returns chunks that the transmitter has completed, up to a batch.
    fn completed(&mut self) -> &[FrameDesc];

    fn fill_room(&mut self) -> usize;

    /// Lends such chunks, up to a batch; there is [room](Self::fill_room).
    fn fill(&mut self, chunks: &[FrameDesc]);

    fn losses(&self) -> KernelLosses;

    fn rings(&mut self) -> Rings;

    /// Returns the descriptor that becomes readable when something has come, if there is one.
    fn descriptor(&self) -> Option<RawFd> {
        None
    }

    fn is_served(&self) -> bool {
        true
    }

    /// Returns true if slots are kept for frames with a credit; the next calls are only for such
    /// lanes.
    fn keeps_slots(&self) -> bool {
        false
    }

    /// See [`Ledger::count_out`](super::slots::Ledger::count_out).
    fn count_out(&mut self, _length: u64, _has_credit: bool) {}

    /// See [`Ledger::settle`](super::slots::Ledger::settle).
    fn settle_slots(&mut self) -> u32 {
        0
    }

    /// See [`Ledger::forget_lost`](super::slots::Ledger::forget_lost).
    fn forget_lost(&mut self) {}

    /// See [`Ledger::set_credited`](super::slots::Ledger::set_credited).
    fn set_credited(&mut self, _priorities: u8) {}

    /// Returns true when something has come that no descriptor reports to poll(2), or nothing will
    /// come any more.
    fn has_news(&self) -> bool {
        false
    }
}
