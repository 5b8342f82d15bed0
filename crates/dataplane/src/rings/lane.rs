//! One queue of one device, as seen by the switch core's thread.

use std::os::fd::RawFd;

use xsk_rs::FrameDesc;

use super::messages::{KernelLosses, Rings};

/// Frames in and out of one queue of a device: either an AF_XDP socket served by the same thread, or the queues to the
/// thread that serves it.
///
/// The holder of a descriptor owns its chunk. A lane accepts only chunks that it handed out.
pub(crate) trait Lane {
    /// Returns received frames, or parts of frames in order, at most `most` and at most one batch; the caller now holds
    /// their chunks. Returns fewer only when there are no more.
    fn receive(&mut self, most: usize) -> &[FrameDesc];

    fn received_waiting(&mut self) -> usize;

    /// Queues a frame, or its next part, for sending. Returns false when there is no room.
    fn send(&mut self, frame: FrameDesc) -> bool;

    fn flush(&mut self);

    /// Returns chunks that the transmitter has completed, up to a batch.
    fn completed(&mut self) -> &[FrameDesc];

    fn fill_room(&mut self) -> usize;

    /// Lends chunks to receive into, up to a batch; there is [room](Self::fill_room).
    fn fill(&mut self, chunks: &[FrameDesc]);

    fn losses(&self) -> KernelLosses;

    fn rings(&mut self) -> Rings;

    /// Returns the descriptor that becomes readable when there is work, if any.
    fn descriptor(&self) -> Option<RawFd> {
        None
    }

    fn is_served(&self) -> bool {
        true
    }

    /// Returns true if slots are reserved for frames with a credit; the next four methods apply only to such lanes.
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

    /// Returns true if there is work that no descriptor reports to poll(2), or the other side has ended.
    fn has_news(&self) -> bool {
        false
    }
}
