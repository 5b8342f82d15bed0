//! What is under way: hosts' frames as records, control frames as the bytes that a wire would carry.

mod telemetry;

use weir_core::{Bytes, Instant, Priority};

use crate::transport::telemetry::Hop;

pub(super) use telemetry::Telemetry;

/// A list whose entries keep their place until they are given back.
#[derive(Debug)]
pub(super) struct Pool<T> {
    entries: Vec<T>,
    free: Vec<u32>,
}

impl<T> Pool<T> {
    pub(super) const fn new() -> Self {
        Self {
            entries: Vec::new(),
            free: Vec::new(),
        }
    }

    pub(super) fn add(&mut self, entry: T) -> u32 {
        if let Some(index) = self.free.pop() {
            self.entries[index as usize] = entry;
            return index;
        }
        self.entries.push(entry);
        (self.entries.len() - 1) as u32
    }

    pub(super) fn get(&self, index: u32) -> &T {
        &self.entries[index as usize]
    }

    pub(super) fn get_mut(&mut self, index: u32) -> &mut T {
        &mut self.entries[index as usize]
    }

    /// `index` is free again; its entry stays until it is given out anew.
    pub(super) fn give_back(&mut self, index: u32) {
        self.free.push(index);
    }

    /// Takes an entry out of its place.
    pub(super) fn take(&mut self, index: u32) -> T
    where
        T: Default,
    {
        self.give_back(index);
        std::mem::take(&mut self.entries[index as usize])
    }

    /// Entries in use, in the order of their places. O(entries).
    pub(super) fn iter_used(&self) -> impl Iterator<Item = &T> {
        let mut used = vec![true; self.entries.len()];
        for index in &self.free {
            used[*index as usize] = false;
        }
        self.entries
            .iter()
            .zip(used)
            .filter_map(|(entry, used)| used.then_some(entry))
    }

    /// Entries in use.
    pub(super) fn len(&self) -> usize {
        self.entries.len() - self.free.len()
    }
}

/// What a host's frame is to its flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FrameKind {
    /// From the sender to the receiver.
    Data,
    /// Back from the receiver: a notification or an acknowledgement.
    Answer,
}

/// What else a frame says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Flags(u8);

impl Flags {
    pub(super) const NONE: Self = Self(0);
    /// Of data: switches tell it what it meets.
    pub(super) const TRACED: Self = Self(1);
    /// Of an answer: something before the frame that it answers is missing.
    pub(super) const NACK: Self = Self(2);
    /// Of an answer: it is a notification of congestion and acknowledges nothing.
    pub(super) const NOTIFICATION: Self = Self(4);
    /// Of an answer: the frame that it answers was marked.
    pub(super) const ECHO: Self = Self(8);

    pub(super) const fn has(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    /// With `other`, if `is_so`.
    pub(super) const fn with(self, other: Self, is_so: bool) -> Self {
        if is_so {
            Self(self.0 | other.0)
        } else {
            self
        }
    }
}

/// One frame of a host.
#[derive(Clone, Copy, Debug)]
pub(super) struct FrameRecord {
    pub(super) flow: u32,
    /// Of data: how many frames of the flow were sent before it, repetitions among them.
    pub(super) sequence: u32,
    /// Of data: which of the flow's frames it is. Of an acknowledgement: the first one that is missing; which one it answers is
    /// its `sequence`.
    pub(super) number: u32,
    pub(super) from: u32,
    pub(super) to: u32,
    pub(super) flow_hash: u32,
    pub(super) length_bytes: u32,
    pub(super) priority: Priority,
    /// Congestion Experienced.
    pub(super) marked: bool,
    pub(super) kind: FrameKind,
    pub(super) flags: Flags,
    /// When it was sent; of an answer, when the frame was sent that it answers.
    pub(super) sent: Instant,
}

impl FrameRecord {
    pub(super) const fn length(&self) -> Bytes {
        Bytes::new(self.length_bytes as u64)
    }
}

/// There are millions of them: each is read at every hop.
const _: () = assert!(size_of::<FrameRecord>() <= 40);

/// The frames that are under way, and what switches have told them.
#[derive(Debug)]
pub(super) struct Frames {
    records: Pool<FrameRecord>,
    /// `None` where no flow asks for it.
    telemetry: Option<Box<Telemetry>>,
}

impl Frames {
    pub(super) const fn new(telemetry: Option<Box<Telemetry>>) -> Self {
        Self {
            records: Pool::new(),
            telemetry,
        }
    }

    /// A frame that has met `hops`.
    pub(super) fn add(&mut self, record: FrameRecord, hops: Vec<Hop>) -> u32 {
        let place = self.records.add(record);
        if let Some(telemetry) = &mut self.telemetry {
            telemetry.put(place, hops);
        }
        place
    }

    pub(super) fn get(&self, place: u32) -> &FrameRecord {
        self.records.get(place)
    }

    pub(super) fn get_mut(&mut self, place: u32) -> &mut FrameRecord {
        self.records.get_mut(place)
    }

    /// `place` is free again.
    pub(super) fn give_back(&mut self, place: u32) {
        self.records.give_back(place);
    }

    /// The frame at `place` leaves, with what it has met.
    pub(super) fn take(&mut self, place: u32) -> (FrameRecord, Vec<Hop>) {
        let record = *self.records.get(place);
        self.records.give_back(place);
        (record, self.take_hops(place))
    }

    /// The same for what it has met alone; also of one that was given back, until its place is given out anew.
    pub(super) fn take_hops(&mut self, place: u32) -> Vec<Hop> {
        let telemetry = self.telemetry.as_mut();
        telemetry.map_or_else(Vec::new, |telemetry| telemetry.take(place))
    }

    /// What the frame at `place` has met; also of one that was given back, until its place is given out anew.
    pub(super) fn hops(&self, place: u32) -> &[Hop] {
        let telemetry = self.telemetry.as_ref();
        telemetry.map_or(&[], |telemetry| telemetry.get(place))
    }

    /// A list for what a new frame will meet.
    pub(super) fn no_hops(&mut self) -> Vec<Hop> {
        let telemetry = self.telemetry.as_mut();
        telemetry.map_or_else(Vec::new, |telemetry| telemetry.empty())
    }

    pub(super) fn telemetry(&self) -> Option<&Telemetry> {
        self.telemetry.as_deref()
    }

    pub(super) fn telemetry_mut(&mut self) -> Option<&mut Telemetry> {
        self.telemetry.as_deref_mut()
    }

    pub(super) fn iter_used(&self) -> impl Iterator<Item = &FrameRecord> {
        self.records.iter_used()
    }

    pub(super) fn len(&self) -> usize {
        self.records.len()
    }
}
