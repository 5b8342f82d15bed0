//! The polling loop's interface to rings and the memory behind them. The daemon uses AF_XDP sockets over one UMEM; tests run
//! the same loop over rings in plain memory.

use weir_core::{Duration, Form};
use weir_ebpf::Meta;

use crate::exchange::messages::{KernelLosses, Rings};
use crate::memory::pool::Chunk;

/// Maximum number of chunks per call.
pub(crate) const BATCH: usize = 64;
/// Maximum length of a frame from a kernel, in bytes: 17 fragments (`MAX_SKB_FRAGS`) and a head, one page each.
pub(crate) const WHOLE_MAX: usize = 18 * 4096;
/// Number of frames taken from an RX ring, and sent, at a time while few wait: the first is sent before the last is
/// processed.
pub(crate) const FEW: usize = BATCH / 2;
/// Maximum batches read from an RX ring per round. The first has [`FEW`] frames.
pub(crate) const RECEIVE_BATCHES: usize = 8;
/// Completions arrive without a signal: while any is due, sleeps are no longer than this.
pub(crate) const COMPLETION_WAIT: Duration = Duration::from_micros(200);

/// A fixed number of chunks, without allocation.
#[derive(Debug)]
pub(crate) struct Batch {
    chunks: [Chunk; BATCH],
    length: usize,
    most: usize,
}

impl Batch {
    pub(crate) const fn new() -> Self {
        Self {
            chunks: [0; BATCH],
            length: 0,
            most: BATCH,
        }
    }

    pub(crate) fn clear(&mut self) {
        self.clear_for(BATCH);
    }

    /// Sets the capacity to `most`, up to [`BATCH`].
    pub(crate) fn clear_for(&mut self, most: usize) {
        self.length = 0;
        self.most = most.min(BATCH);
    }

    /// Returns how many more chunks it takes.
    pub(crate) fn room(&self) -> usize {
        self.most.saturating_sub(self.length)
    }

    /// Appends a chunk; returns false without [room](Self::room).
    pub(crate) fn push(&mut self, chunk: Chunk) -> bool {
        if self.room() == 0 {
            return false;
        }
        match self.chunks.get_mut(self.length) {
            Some(place) => {
                *place = chunk;
                self.length += 1;
                true
            }
            None => false,
        }
    }

    pub(crate) fn as_slice(&self) -> &[Chunk] {
        self.chunks.get(..self.length).unwrap_or(&[])
    }

    /// Returns the chunk at an index below [`len`](Self::len).
    pub(crate) fn get(&self, at: usize) -> Option<Chunk> {
        self.as_slice().get(at).copied()
    }

    pub(crate) fn len(&self) -> usize {
        self.length
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.length == 0
    }
}

/// The rings of all ports, and the chunks that move through them.
///
/// A chunk is in one place at a time: with the caller, or in one ring (a flooded frame in several TX rings). The caller
/// passes only chunks that it holds.
///
/// A frame is identified by its first chunk. A longer frame has further chunks [behind](Self::next) it, which move with the
/// first one. The caller owns them with the frame, and must fill or keep each of them.
pub(crate) trait Io {
    /// Receives frames of `port`, as many as there is [room](Batch::room) for; the caller now holds their chunks.
    fn receive(&mut self, port: usize, into: &mut Batch);

    /// Returns the number of chunks with received frames waiting at `port`.
    fn received_waiting(&mut self, port: usize) -> usize;

    /// Returns a held chunk's metadata and the part of the frame in it, which always includes the headers after Ethernet's.
    fn frame(&self, chunk: Chunk) -> (Option<Meta>, &[u8]);

    /// Returns the next chunk of the frame, which is also held; `None` at its end.
    fn next(&self, chunk: Chunk) -> Option<Chunk>;

    /// Returns the bytes of a frame behind its first chunk.
    fn length_behind(&self, first: Chunk) -> usize {
        let mut length = 0;
        let mut at = first;
        while let Some(next) = self.next(at) {
            length += self.frame(next).1.len();
            at = next;
        }
        length
    }

    /// Returns a frame's metadata and all of its bytes: in place, or, for a frame of several chunks, copied into `buffer` as
    /// far as they fit.
    fn whole<'a>(&'a self, first: Chunk, buffer: &'a mut [u8]) -> (Option<Meta>, &'a [u8]) {
        let (meta, part) = self.frame(first);
        if self.next(first).is_none() {
            return (meta, part);
        }
        let mut length = 0;
        let mut at = Some(first);
        while let Some(chunk) = at {
            let places = buffer.iter_mut().skip(length);
            let copied = places
                .zip(self.frame(chunk).1)
                .map(|(place, byte)| *place = *byte);
            length += copied.count();
            at = self.next(chunk);
        }
        (meta, buffer.get(..length).unwrap_or(&[]))
    }

    /// Lets `edit` change a held chunk in place.
    fn edit(&mut self, chunk: Chunk, edit: &mut dyn FnMut(&mut [u8]));

    /// Lets `write` store a frame in a held chunk; `write` returns the length, or `None` for no frame.
    fn write(&mut self, chunk: Chunk, write: &mut dyn FnMut(&mut [u8]) -> Option<usize>) -> bool;

    /// Returns true if a tag can be added to the frame in a held chunk; see [`reform`](Self::reform).
    fn has_room_for_tag(&self, chunk: Chunk) -> bool;

    /// Inserts or removes the tag of the frame in a held chunk, in place. Returns false if that is impossible.
    fn reform(&mut self, chunk: Chunk, form: Form) -> bool;

    /// Copies a held chunk's part of a frame and its metadata to another chunk, as a complete frame. Returns false if that
    /// is impossible.
    fn copy(&mut self, from: Chunk, to: Chunk) -> bool;

    /// Links held chunks that each contain a part of one frame.
    fn chain(&mut self, chunks: &[Chunk]);

    /// Puts a frame into `port`'s TX ring. Returns false when the ring is full.
    fn send(&mut self, port: usize, chunk: Chunk) -> bool;

    /// Makes the kernel send the new frames in `port`'s TX ring, if any.
    fn flush(&mut self, port: usize);

    /// Collects frames that `port`'s transmitter has completed, up to [`BATCH`].
    fn completed(&mut self, port: usize, into: &mut Batch);

    /// Returns the number of chunks that `port`'s fill ring lacks.
    fn fill_room(&mut self, port: usize) -> usize;

    /// Lends chunks to receive into; there is [room](Self::fill_room).
    fn fill(&mut self, port: usize, chunks: &[Chunk]);

    /// Returns true if slots of `port`'s RX ring are reserved for frames with a credit; the next four methods apply only to
    /// such ports.
    fn keeps_slots(&self, port: usize) -> bool;

    /// Accounts for a received frame of this length leaving `port`'s ring.
    fn count_out(&mut self, port: usize, length: u64, has_credit: bool);

    /// Frees slots of `port` as far as its fill ring allows. Returns the number of credits certainly covered by slots.
    fn settle_slots(&mut self, port: usize) -> u32;

    /// Frees slots of frames that the kernel lost behind `port`'s program. Makes a system call only if there may be any.
    fn forget_lost(&mut self, port: usize);

    /// Sets the priorities whose frames have a credit, one bit for each.
    fn set_credited(&mut self, port: usize, priorities: u8);

    fn losses(&self, port: usize) -> KernelLosses;

    /// Returns the fill levels of `port`'s rings.
    fn rings(&mut self, port: usize) -> Rings;

    /// Returns false when a thread that serves some rings has ended.
    fn is_served(&self) -> bool {
        true
    }

    /// Hands `port`'s rings out to be closed.
    fn part(&mut self, port: usize);

    /// Takes the rings that are ready for `port`, which has none. Returns false when none are ready.
    fn join(&mut self, port: usize) -> bool;

    /// Reports that the last added rings have chunks to receive into.
    fn note_joined(&mut self);

    /// Sleeps until a frame or a wakeup arrives, or `timeout` is over.
    fn wait(&mut self, timeout: Option<Duration>);
}
