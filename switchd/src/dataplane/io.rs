//! What the polling loop needs of the world: rings and the memory behind them. The daemon's are AF_XDP
//! sockets over one UMEM; tests run the same loop over rings in plain memory.

use weir_core::Duration;
use weir_ebpf::Meta;

use super::messages::{KernelLosses, Rings};
use super::pool::Chunk;

/// Chunks that one call moves at most.
pub(super) const BATCH: usize = 64;
/// Batches that are taken from an RX ring in one go at most.
pub(super) const RECEIVE_BATCHES: usize = 8;
/// Completions come without a signal: while any is due, sleeps are no longer than this.
pub(super) const COMPLETION_WAIT: Duration = Duration::from_micros(200);

/// A handful of chunks, without allocation.
#[derive(Debug)]
pub(super) struct Batch {
    chunks: [Chunk; BATCH],
    length: usize,
}

impl Batch {
    pub(super) const fn new() -> Self {
        Self {
            chunks: [0; BATCH],
            length: 0,
        }
    }

    pub(super) fn clear(&mut self) {
        self.length = 0;
    }

    /// Appends a chunk; one beyond [`BATCH`] is refused.
    pub(super) fn push(&mut self, chunk: Chunk) -> bool {
        match self.chunks.get_mut(self.length) {
            Some(place) => {
                *place = chunk;
                self.length += 1;
                true
            }
            None => false,
        }
    }

    pub(super) fn as_slice(&self) -> &[Chunk] {
        self.chunks.get(..self.length).unwrap_or(&[])
    }

    /// The chunk at a place that is below [`len`](Self::len).
    pub(super) fn get(&self, at: usize) -> Option<Chunk> {
        self.as_slice().get(at).copied()
    }

    pub(super) fn len(&self) -> usize {
        self.length
    }

    pub(super) fn is_empty(&self) -> bool {
        self.length == 0
    }
}

/// The rings of all ports, and the chunks that travel through them.
///
/// A chunk is in one place at a time: with the caller, or in one ring (a flooded frame in several TX
/// rings). The caller hands in only chunks that it holds.
pub(super) trait Io {
    /// Received frames of `port`, up to [`BATCH`]; their chunks are the caller's now.
    fn receive(&mut self, port: usize, into: &mut Batch);

    /// A held chunk's record and frame.
    fn frame(&self, chunk: Chunk) -> (Option<Meta>, &[u8]);

    /// Lets `edit` change a held chunk's frame in place.
    fn edit(&mut self, chunk: Chunk, edit: &mut dyn FnMut(&mut [u8]));

    /// Lets `write` put a frame into a held chunk; it gives the length, or `None` for no frame.
    fn write(&mut self, chunk: Chunk, write: &mut dyn FnMut(&mut [u8]) -> Option<usize>) -> bool;

    /// Puts a chunk into `port`'s TX ring. False when the ring is full.
    fn send(&mut self, port: usize, chunk: Chunk) -> bool;

    /// Makes the kernel look at `port`'s TX ring, if there is anything new in it.
    fn flush(&mut self, port: usize);

    /// Chunks that `port`'s transmitter is done with, up to [`BATCH`].
    fn completed(&mut self, port: usize, into: &mut Batch);

    /// How many chunks `port`'s fill ring lacks.
    fn fill_room(&mut self, port: usize) -> usize;

    /// Gives chunks to receive into; there is [room](Self::fill_room).
    fn fill(&mut self, port: usize, chunks: &[Chunk]);

    /// What the kernel lost at `port`.
    fn losses(&self, port: usize) -> KernelLosses;

    /// How full `port`'s rings are.
    fn rings(&mut self, port: usize) -> Rings;

    /// False when some rings are served by nobody any more.
    fn is_served(&self) -> bool {
        true
    }

    /// Sleeps until a frame arrives, somebody signals, or `timeout` is over.
    fn wait(&mut self, timeout: Option<Duration>);
}
