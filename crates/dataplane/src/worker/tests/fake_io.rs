//! Rings in plain memory, so that the loop's tests need neither a kernel nor privileges.
//!
//! Every chunk is in one place at a time, as [`Io`] requires; passing a chunk that the caller does not hold fails the test
//! at once.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::rc::Rc;

use weir_core::{Duration, Form, Instant};
use weir_ebpf::Meta;

use crate::exchange::messages::{KernelLosses, Ring, Rings};
use crate::memory::pool::Chunk;
use crate::rings::io::{Batch, Io};

const CHUNK_SIZE: usize = 2048;
/// Control frames fit into one chunk even if a test splits frames into smaller parts.
const CONTROL_ROOM: usize = 256;

thread_local! {
    static NOW: Cell<Instant> = const { Cell::new(Instant::ZERO) };
}

/// Virtual time of this test; each reading advances it by a microsecond.
pub(super) fn clock() -> Instant {
    let now = NOW.get() + Duration::from_micros(1);
    NOW.set(now);
    now
}

pub(super) fn set_clock(now: Instant) {
    NOW.set(now);
}

/// A sent frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Sent {
    pub(super) port: usize,
    pub(super) chunk: Chunk,
    pub(super) bytes: Vec<u8>,
}

/// All sent frames, oldest first; outlives the loop.
pub(super) type SentLog = Rc<RefCell<Vec<Sent>>>;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Caller,
    Fill,
    Rx,
    /// In this many TX rings.
    Tx(usize),
}

#[derive(Debug)]
struct FakeChunk {
    place: Place,
    meta: Option<Meta>,
    bytes: Vec<u8>,
    next: Option<Chunk>,
}

/// Queues contain the first chunks of frames.
#[derive(Debug)]
struct FakePort {
    fill: VecDeque<Chunk>,
    rx: VecDeque<Chunk>,
    tx: VecDeque<Chunk>,
    done: VecDeque<Chunk>,
    /// Completions of chunks that this port no longer holds.
    stray: Vec<Chunk>,
    budget: usize,
    parted: bool,
}

/// The rings of all ports. At first the caller holds all chunks.
#[derive(Debug)]
pub(super) struct FakeIo {
    chunks: Vec<FakeChunk>,
    ports: Vec<FakePort>,
    ring: usize,
    /// Bytes of a frame per chunk.
    pub(super) part: usize,
    pub(super) sent: SentLog,
    /// Timeouts of all sleeps so far.
    pub(super) waits: Vec<Option<Duration>>,
    /// Duration of the next sleep.
    pub(super) sleeps: Option<Duration>,
    /// Port whose rings were taken last.
    joined: Option<usize>,
    /// Slots of every port's ring reserved for frames with a credit.
    pub(super) kept: Option<u32>,
    /// Frames counted out of rings, with and without a credit.
    pub(super) counted_out: [u64; 2],
    /// Priorities whose frames have a credit.
    pub(super) credited: u8,
}

impl FakeIo {
    pub(super) fn new(port_count: usize, ring: usize, chunk_count: usize) -> Self {
        let chunk = || FakeChunk {
            place: Place::Caller,
            meta: None,
            bytes: Vec::new(),
            next: None,
        };
        let port = || FakePort {
            fill: VecDeque::new(),
            rx: VecDeque::new(),
            tx: VecDeque::new(),
            done: VecDeque::new(),
            stray: Vec::new(),
            budget: usize::MAX,
            parted: false,
        };
        Self {
            chunks: std::iter::repeat_with(chunk).take(chunk_count).collect(),
            ports: std::iter::repeat_with(port).take(port_count).collect(),
            ring,
            part: CHUNK_SIZE,
            sent: SentLog::default(),
            waits: Vec::new(),
            sleeps: None,
            joined: None,
            kept: None,
            counted_out: [0; 2],
            credited: 0,
        }
    }

    /// Receives a frame. Returns `None` if the kernel has no chunk to receive into and drops it.
    pub(super) fn arrive(
        &mut self,
        port: usize,
        meta: Option<Meta>,
        bytes: &[u8],
    ) -> Option<Chunk> {
        let mut parts: Vec<&[u8]> = bytes.chunks(self.part).collect();
        if parts.is_empty() {
            parts.push(&[]);
        }
        let fill = &mut self.ports[port].fill;
        if fill.len() < parts.len() {
            return None;
        }
        let chunks: Vec<Chunk> = fill.drain(..parts.len()).collect();
        for (at, (chunk, part)) in chunks.iter().zip(&parts).enumerate() {
            let state = &mut self.chunks[*chunk as usize];
            state.place = Place::Rx;
            state.meta = meta.filter(|_| at == 0);
            state.bytes = part.to_vec();
            state.next = chunks.get(at + 1).copied();
        }
        self.ports[port].rx.push_back(chunks[0]);
        Some(chunks[0])
    }

    /// Sets the number of frames that a port's device takes per [`flush`](Io::flush); with zero it is stuck.
    pub(super) fn set_budget(&mut self, port: usize, budget: usize) {
        self.ports[port].budget = budget;
    }

    /// Removes a port's device. The caller may reclaim the chunks it had to send; the device still completes all of them,
    /// but late.
    pub(super) fn lose_device(&mut self, port: usize) {
        let state = &mut self.ports[port];
        state.budget = 0;
        state.stray = state.tx.drain(..).collect();
        for chunk in self.ports[port].stray.clone() {
            *self.place(chunk) = Place::Caller;
        }
    }

    /// Returns true while a port has chunks to receive into.
    pub(super) fn is_receiving(&self, port: usize) -> bool {
        !self.ports[port].fill.is_empty()
    }

    /// Returns the number of frames that a port's device has not taken yet.
    pub(super) fn tx_waiting(&self, port: usize) -> usize {
        self.ports[port].tx.len()
    }

    /// Returns the number of received frames not processed yet.
    pub(super) fn rx_waiting(&self, port: usize) -> usize {
        self.ports[port].rx.len()
    }

    /// Returns the number of chunks lent to the kernel, empty or filled.
    pub(super) fn lent(&self) -> usize {
        self.count_where(|place| matches!(place, Place::Fill | Place::Rx))
    }

    /// Returns true while the chunk is in a TX ring.
    pub(super) fn is_with_transmitter(&self, chunk: usize) -> bool {
        matches!(self.chunks[chunk].place, Place::Tx(_))
    }

    fn count_where(&self, is: impl Fn(Place) -> bool) -> usize {
        let all = self.chunks.iter();
        all.filter(|chunk| is(chunk.place)).count()
    }

    fn parts(&self, first: Chunk) -> Vec<Chunk> {
        let next = |chunk: &Chunk| self.chunks[*chunk as usize].next;
        std::iter::successors(Some(first), next).collect()
    }

    fn rx_chunks(&self, port: usize) -> usize {
        let frames = self.ports[port].rx.iter();
        frames.map(|first| self.parts(*first).len()).sum()
    }

    fn place(&mut self, chunk: Chunk) -> &mut Place {
        &mut self.chunks[chunk as usize].place
    }
}

impl Io for FakeIo {
    fn keeps_slots(&self, _: usize) -> bool {
        self.kept.is_some()
    }

    fn count_out(&mut self, _: usize, _: u64, has_credit: bool) {
        self.counted_out[usize::from(!has_credit)] += 1;
    }

    fn settle_slots(&mut self, port: usize) -> u32 {
        let lent = self.ports[port].fill.len() + self.rx_chunks(port);
        self.kept.unwrap_or(0).min(lent as u32)
    }

    fn forget_lost(&mut self, _: usize) {}

    fn set_credited(&mut self, _: usize, priorities: u8) {
        self.credited = priorities;
    }

    fn receive(&mut self, port: usize, into: &mut Batch) {
        while let Some(chunk) = self.ports[port].rx.front().copied() {
            if !into.push(chunk) {
                break;
            }
            self.ports[port].rx.pop_front();
            for part in self.parts(chunk) {
                *self.place(part) = Place::Caller;
            }
        }
    }

    fn received_waiting(&mut self, port: usize) -> usize {
        self.rx_chunks(port)
    }

    fn frame(&self, chunk: Chunk) -> (Option<Meta>, &[u8]) {
        let state = &self.chunks[chunk as usize];
        assert_eq!(state.place, Place::Caller, "chunk {chunk} is read");
        (state.meta, &state.bytes)
    }

    fn next(&self, chunk: Chunk) -> Option<Chunk> {
        let state = &self.chunks[chunk as usize];
        assert_eq!(state.place, Place::Caller, "chunk {chunk} is looked behind");
        state.next
    }

    fn edit(&mut self, chunk: Chunk, edit: &mut dyn FnMut(&mut [u8])) {
        let state = &mut self.chunks[chunk as usize];
        assert_eq!(state.place, Place::Caller, "chunk {chunk} is edited");
        edit(&mut state.bytes);
    }

    fn write(&mut self, chunk: Chunk, write: &mut dyn FnMut(&mut [u8]) -> Option<usize>) -> bool {
        assert_eq!(
            *self.place(chunk),
            Place::Caller,
            "chunk {chunk} is written"
        );
        let mut buffer = [0xaa; CHUNK_SIZE];
        let length = write(&mut buffer[..self.part.max(CONTROL_ROOM)]);
        self.chunks[chunk as usize].bytes = buffer[..length.unwrap_or(0)].to_vec();
        self.chunks[chunk as usize].next = None;
        length.is_some()
    }

    fn has_room_for_tag(&self, _: Chunk) -> bool {
        true
    }

    fn reform(&mut self, chunk: Chunk, form: Form) -> bool {
        let state = &mut self.chunks[chunk as usize];
        assert_eq!(state.place, Place::Caller, "chunk {chunk} is retagged");
        let (taken, tag) = match form {
            Form::AsIs => return true,
            Form::Untagged => (4, None),
            Form::Tagged(tag) => (0, Some(tag)),
            Form::Retagged(tag) => (4, Some(tag)),
        };
        let tag = tag.map(|tag| [[0x81, 0], tag.bits().to_be_bytes()].concat());
        state.bytes.splice(12..12 + taken, tag.unwrap_or_default());
        true
    }

    fn copy(&mut self, from: Chunk, to: Chunk) -> bool {
        let source = &self.chunks[from as usize];
        assert_eq!(source.place, Place::Caller, "chunk {from} is copied");
        let (meta, bytes) = (source.meta, source.bytes.clone());
        assert_eq!(*self.place(to), Place::Caller, "chunk {to} is copied to");
        let state = &mut self.chunks[to as usize];
        (state.meta, state.bytes, state.next) = (meta, bytes, None);
        true
    }

    fn chain(&mut self, chunks: &[Chunk]) {
        for pair in chunks.windows(2) {
            self.chunks[pair[0] as usize].next = Some(pair[1]);
        }
    }

    fn send(&mut self, port: usize, chunk: Chunk) -> bool {
        if self.ports[port].tx.len() + self.ports[port].done.len() >= self.ring {
            return false;
        }
        for part in self.parts(chunk) {
            let place = self.place(part);
            *place = match *place {
                Place::Caller => Place::Tx(1),
                Place::Tx(copies) => Place::Tx(copies + 1),
                other => panic!("chunk {part} is sent and is in {other:?}"),
            };
        }
        self.ports[port].tx.push_back(chunk);
        true
    }

    fn flush(&mut self, port: usize) {
        let state = &mut self.ports[port];
        let count = state.budget.min(state.tx.len());
        let frames: Vec<Chunk> = state.tx.drain(..count).collect();
        state.done.extend(&frames);
        for chunk in frames {
            let parts = self.parts(chunk).into_iter();
            let bytes = parts.flat_map(|part| self.chunks[part as usize].bytes.clone());
            let bytes = bytes.collect();
            self.sent.borrow_mut().push(Sent { port, chunk, bytes });
        }
    }

    fn completed(&mut self, port: usize, into: &mut Batch) {
        for chunk in std::mem::take(&mut self.ports[port].stray) {
            assert!(into.push(chunk), "few were outstanding");
        }
        while let Some(chunk) = self.ports[port].done.front().copied() {
            if !into.push(chunk) {
                break;
            }
            self.ports[port].done.pop_front();
            for part in self.parts(chunk) {
                let place = self.place(part);
                *place = match *place {
                    Place::Tx(1) => Place::Caller,
                    Place::Tx(copies) => Place::Tx(copies - 1),
                    other => panic!("chunk {part} was sent and is in {other:?}"),
                };
            }
        }
    }

    fn fill_room(&mut self, port: usize) -> usize {
        if self.ports[port].parted {
            return 0;
        }
        self.ring - self.ports[port].fill.len() - self.rx_chunks(port)
    }

    fn fill(&mut self, port: usize, chunks: &[Chunk]) {
        assert!(chunks.len() <= self.fill_room(port), "there is room");
        for chunk in chunks {
            assert_eq!(*self.place(*chunk), Place::Caller, "chunk {chunk} is lent");
            *self.place(*chunk) = Place::Fill;
            self.chunks[*chunk as usize].next = None;
            self.ports[port].fill.push_back(*chunk);
        }
    }

    /// Returns values that are unique for the port.
    fn losses(&self, port: usize) -> KernelLosses {
        KernelLosses {
            rx_ring_full_total: 100 + port as u64,
            ..KernelLosses::default()
        }
    }

    fn rings(&mut self, port: usize) -> Rings {
        let state = &self.ports[port];
        let ring = |queue: &VecDeque<Chunk>| Ring {
            used: queue.len() as u32,
            size: self.ring as u32,
        };
        Rings {
            fill: ring(&state.fill),
            rx: Ring {
                used: self.rx_chunks(port) as u32,
                size: self.ring as u32,
            },
            tx: ring(&state.tx),
            completion: ring(&state.done),
        }
    }

    /// Closes the rings at once: their chunks no longer have an owner.
    fn part(&mut self, port: usize) {
        let state = &mut self.ports[port];
        let rings = [
            &mut state.fill,
            &mut state.rx,
            &mut state.tx,
            &mut state.done,
        ];
        let chunks: Vec<Chunk> = rings.into_iter().flat_map(std::mem::take).collect();
        state.parted = true;
        for chunk in chunks {
            for part in self.parts(chunk) {
                let place = self.place(part);
                *place = match *place {
                    Place::Tx(copies) if copies > 1 => Place::Tx(copies - 1),
                    _ => Place::Caller,
                };
            }
        }
    }

    fn join(&mut self, port: usize) -> bool {
        self.joined = Some(port);
        std::mem::take(&mut self.ports[port].parted)
    }

    fn note_joined(&mut self) {
        let port = self.joined.take().expect("rings were taken");
        assert!(!self.ports[port].fill.is_empty(), "a frame would be lost");
    }

    fn wait(&mut self, timeout: Option<Duration>) {
        self.waits.push(timeout);
        if self.ports.iter().any(|port| !port.rx.is_empty()) {
            return;
        }
        let timeout = timeout.expect("nobody would ever end this sleep");
        set_clock(NOW.get() + self.sleeps.take().unwrap_or(timeout));
    }
}
