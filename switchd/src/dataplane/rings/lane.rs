//! One queue of one device, as the thread of the switch core sees it.

use std::os::fd::RawFd;

use xsk_rs::FrameDesc;

use super::messages::{KernelLosses, Rings};

/// Frames in and out of one queue of a device: an AF_XDP socket that the thread serves itself, or the queues to a thread
/// that does.
///
/// Whoever holds a descriptor owns its chunk. A lane takes back only what it was given.
pub(crate) trait Lane {
    /// Received frames, or parts of frames in order, up to `most` of them and to a batch; their chunks are the
    /// caller's now. Fewer only when there are no more.
    fn receive(&mut self, most: usize) -> &[FrameDesc];

    /// How many wait to be received.
    fn received_waiting(&mut self) -> usize;

    /// Puts a frame, or the next part of one, with those that are to be sent. False when there is no room.
    fn send(&mut self, frame: FrameDesc) -> bool;

    /// Sends them.
    fn flush(&mut self);

    /// Chunks that the transmitter is done with, up to a batch.
    fn completed(&mut self) -> &[FrameDesc];

    /// How many chunks to receive into are lacking.
    fn fill_room(&mut self) -> usize;

    /// Gives such chunks, up to a batch; there is [room](Self::fill_room).
    fn fill(&mut self, chunks: &[FrameDesc]);

    /// What the kernel lost.
    fn losses(&self) -> KernelLosses;

    /// How full the rings are.
    fn rings(&mut self) -> Rings;

    /// What becomes readable when something has come, if a descriptor tells.
    fn descriptor(&self) -> Option<RawFd> {
        None
    }

    /// False when whoever serves the lane has ended.
    fn is_served(&self) -> bool {
        true
    }

    /// True when something has come of which no descriptor tells poll(2), or nothing will come any more.
    fn has_news(&self) -> bool {
        false
    }
}
