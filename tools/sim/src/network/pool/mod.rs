//! Frames in flight: hosts' frames as records, control frames as bytes.

mod telemetry;

use weir_core::{Bytes, Instant, Priority};

use crate::transport::telemetry::Hop;

pub(super) use telemetry::Telemetry;

/// A list whose entries keep their place until they are returned.
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

    /// Frees `index`; its entry stays until the place is reused.
    pub(super) fn give_back(&mut self, index: u32) {
        self.free.push(index);
    }

    /// Takes an entry and frees its place.
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

/// Role of a host's frame in its flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FrameKind {
    /// From the sender to the receiver.
    Data,
    /// From the receiver back to the sender: a notification or an acknowledgement.
    Answer,
}

/// Further properties of a frame.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Flags(u8);

impl Flags {
    pub(super) const NONE: Self = Self(0);
    /// Data: switches add telemetry.
    pub(super) const TRACED: Self = Self(1);
    /// Answer: something before the answered frame is missing.
    pub(super) const NACK: Self = Self(2);
    /// Answer: a notification of congestion that acknowledges nothing.
    pub(super) const NOTIFICATION: Self = Self(4);
    /// Answer: the answered frame was marked.
    pub(super) const ECHO: Self = Self(8);

    pub(super) const fn has(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    pub(super) const fn with(self, other: Self, is_so: bool) -> Self {
        if is_so {
            Self(self.0 | other.0)
        } else {
            self
        }
    }
}

/// A host's frame.
#[derive(Clone, Copy, Debug)]
pub(super) struct FrameRecord {
    pub(super) flow: u32,
    /// Data: number of the flow's frames sent before it, including repetitions.
    pub(super) sequence: u32,
    /// Data: index of the frame in the flow. Acknowledgement: the first missing frame; its `sequence` names the answered
    /// frame.
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
    /// Time at which it, or in an answer the answered frame, was sent.
    pub(super) sent: Instant,
}

impl FrameRecord {
    pub(super) const fn length(&self) -> Bytes {
        Bytes::new(self.length_bytes as u64)
    }
}

/// There are millions of records, and each is read at every hop.
const _: () = assert!(size_of::<FrameRecord>() <= 40);

/// Frames in flight and their telemetry.
#[derive(Debug)]
pub(super) struct Frames {
    records: Pool<FrameRecord>,
    /// `None` if no flow uses it.
    telemetry: Option<Box<Telemetry>>,
}

impl Frames {
    pub(super) const fn new(telemetry: Option<Box<Telemetry>>) -> Self {
        Self {
            records: Pool::new(),
            telemetry,
        }
    }

    /// Adds a frame that has met `hops`.
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

    /// Frees `place`.
    pub(super) fn give_back(&mut self, place: u32) {
        self.records.give_back(place);
    }

    pub(super) fn take(&mut self, place: u32) -> (FrameRecord, Vec<Hop>) {
        let record = *self.records.get(place);
        self.records.give_back(place);
        (record, self.take_hops(place))
    }

    /// Takes only the hops; also of a freed place that is not yet reused.
    pub(super) fn take_hops(&mut self, place: u32) -> Vec<Hop> {
        let telemetry = self.telemetry.as_mut();
        telemetry.map_or_else(Vec::new, |telemetry| telemetry.take(place))
    }

    /// Hops of the frame at `place`; also of a freed place that is not yet reused.
    pub(super) fn hops(&self, place: u32) -> &[Hop] {
        let telemetry = self.telemetry.as_ref();
        telemetry.map_or(&[], |telemetry| telemetry.get(place))
    }

    /// Returns an empty list for the hops of a new frame.
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
